package kv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What is taken from the insides of other modules is still there, in the versions
// that are used.
func TestInsidesOfOtherModules(t *testing.T) {
	for _, tc := range []struct{ module, file, has string }{
		{"golang.org/x/sys", "unix/syscall_unix.go", `type mmapper struct {
	sync.Mutex
	active map[*byte][]byte // active mappings; key is last byte in mapping
	mmap   func(addr, length uintptr, prot, flags, fd int, offset int64) (uintptr, error)
`},
		{"golang.org/x/sys", "unix/mremap.go", "type mremapMmapper struct {\n\tmmapper\n"},
		{"golang.org/x/sys", "unix/mremap.go", "var mapper = &mremapMmapper{"},
		{"github.com/dgraph-io/ristretto/v2", "z/mmap_linux.go", "unix.Mmap("},
		{"github.com/dgraph-io/badger/v4", "db.go", `opt.Errorf("` + flushFails},
		{"github.com/dgraph-io/badger/v4", "discard.go", "z.OpenMmapFile(fname, os.O_CREATE|os.O_RDWR, 1<<20)"},
		{"github.com/dgraph-io/badger/v4", "value.go", "writableLogOffset atomic.Uint32"},
	} {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", tc.module).Output()
		if err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), tc.file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(b), tc.has) {
			t.Errorf("%s of %s has no %q: look at allocate.go and space.go again", tc.file, tc.module, tc.has)
		}
	}
}

// The files that badger writes to have their blocks.
func TestFilesHaveBlocks(t *testing.T) {
	o := Default()
	o.MemTableSize, o.ValueLogFileSize, o.MinFree = 4<<20, 4<<20, 0
	dir := t.TempDir()
	db, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for pattern, want := range map[string]int64{"*.mem": db.files.Load().memBytes, "*.vlog": db.files.Load().logBytes, "DISCARD": countsBytes} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		if len(found) != 1 {
			t.Fatalf("%s: %q", pattern, found)
		}
		info, err := os.Stat(found[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := AllocatedBytes(info); got < want {
			t.Errorf("%s has %d bytes of the disk, want %d", pattern, got, want)
		}
	}
}
