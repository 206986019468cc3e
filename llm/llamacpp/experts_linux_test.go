package llamacpp

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/llm/gguf"
)

const (
	groupVariable = "PERCACHED_TEST_GROUP" // the control group that the child enters
	fileVariable  = "PERCACHED_TEST_MODEL"
	groupLimit    = 320 << 20
)

// A mixture of experts larger than the memory answers, and the system ends nothing.
func TestMixtureLargerThanMemory(t *testing.T) {
	if group := os.Getenv(groupVariable); group != "" {
		answerWithin(t, group, os.Getenv(fileVariable))
		return
	}
	if testing.Short() {
		t.Skip("it writes a model of 525 MiB")
	}
	group := memoryGroup(t)
	path := filepath.Join(t.TempDir(), "moe.gguf")
	if err := gguf.WriteRandom(path, gguf.RandomOptions{Shape: "moe", Type: "q4_0", Seed: 1}); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	// What is in memory already counts for the group of this process.
	const dontNeed = 4 // POSIX_FADV_DONTNEED
	syscall.Syscall6(syscall.SYS_FADVISE64, f.Fd(), 0, 0, dontNeed, 0, 0)
	cmd := exec.Command(os.Args[0], "-test.run=^TestMixtureLargerThanMemory$", "-test.v")
	cmd.Env = append(os.Environ(), groupVariable+"="+group, fileVariable+"="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"memory.oom_control", "memory.events"} {
		if b, err := os.ReadFile(filepath.Join(group, name)); err == nil && !bytes.Contains(b, []byte("oom_kill 0")) {
			t.Errorf("the group ran out of memory: %s", b)
		}
	}
}

// memoryGroup makes a control group with a limit, in either version of the interface.
func memoryGroup(t *testing.T) string {
	t.Helper()
	for root, limit := range map[string]string{"/sys/fs/cgroup/memory": "memory.limit_in_bytes", "/sys/fs/cgroup": "memory.max"} {
		dir := filepath.Join(root, "percached-test-"+strconv.Itoa(os.Getpid()))
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		if writeNumber(filepath.Join(dir, limit), groupLimit) == nil {
			return dir
		}
	}
	t.Skip("NOT TESTED WITH LITTLE MEMORY: this process may not make a control group with a limit; run the test as root")
	return ""
}

// writeNumber writes to a file that exists: where the control groups of a version are not, there is none.
func writeNumber(path string, n int) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(strconv.Itoa(n))
	return err
}

// answerWithin generates a few tokens in a control group.
func answerWithin(t *testing.T, group, path string) {
	if err := writeNumber(filepath.Join(group, "cgroup.procs"), os.Getpid()); err != nil {
		t.Fatal(err)
	}
	c := Default()
	c.Model, c.Context, c.Threads, c.Split = path, 512, 2, 32
	e, err := OpenEngine(t.Context(), c, NewGate())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if !e.model.fetch {
		t.Error("the engine takes the memory to hold all experts")
	}
	p := newNumbers(1).prompt(percached.Sequential, 20, 20)
	p.MaxTokens = 8
	if r := generate(t, e, p); r.Usage.Generated == 0 {
		t.Error("no token was generated")
	}
	all, _ := expertBytes(e.model.file)
	n, ok := machine.Cached(path, expertParts(e.model.file))
	if !ok || n == 0 || n >= groupLimit {
		t.Errorf("%d of %d bytes of experts are in memory (%v), within a limit of %d", n, all, ok, groupLimit)
	}
}
