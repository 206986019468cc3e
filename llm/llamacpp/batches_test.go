package llamacpp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/llm/gguf"
)

// Whether a batch changes bits is measured once for a model file and a number of threads; a file
// that says something else is not believed.
func TestBatchesAreKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.gguf")
	if err := gguf.WriteRandom(path, gguf.RandomOptions{Shape: "tiny", Seed: 1}); err != nil {
		t.Fatal(err)
	}
	open := func(threads int) (drafts bool, kept string) {
		t.Helper()
		c := Default()
		c.Model, c.Context, c.Threads = path, 512, threads
		e, err := OpenEngine(t.Context(), c, NewGate())
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		b, err := os.ReadFile(batchesFile(path))
		if err != nil {
			t.Fatal(err)
		}
		return e.Info().NoDrafts == "", string(b)
	}
	measured, kept := open(1)
	of, result, _ := strings.Cut(strings.TrimSpace(kept), " ")
	if want := map[bool]string{true: "even", false: "uneven"}[measured]; result != want {
		t.Fatalf("%q is kept, want %q", result, want)
	}
	other := map[bool]string{true: "uneven", false: "even"}[measured]
	write(t, batchesFile(path), of+" "+other+"\n")
	if again, _ := open(1); again == measured {
		t.Error("what is kept was measured again")
	}
	if _, forTwo := open(2); strings.HasPrefix(forTwo, of) {
		t.Error("the result for one thread is used for two")
	}
	for name, text := range map[string]string{"empty": "", "cut": kept[:20], "no result": of, "another result": of + " perhaps\n", "of another model": "0" + of + " " + other + "\n"} {
		write(t, batchesFile(path), text)
		if again, now := open(1); again != measured || now != kept {
			t.Errorf("%s: drafts %v, want %v; %q is kept", name, again, measured, now)
		}
	}
}
