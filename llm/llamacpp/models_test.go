package llamacpp

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/jinja"
)

// The models of this package's tests are random, made once per run of the test
// binary and shared by all tests: small, real, and the same on every machine.
var models = struct {
	sync.Mutex
	dir  string
	made map[string]string
}{made: map[string]string{}}

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == jinja.Argument {
		os.Exit(jinja.Serve(os.Stdin, os.Stdout))
	}
	dir, err := os.MkdirTemp("", "percached-llamacpp-")
	if err != nil {
		panic(err)
	}
	models.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// randomModel is the path of a random model.
func randomModel(tb testing.TB, o gguf.RandomOptions) string {
	tb.Helper()
	models.Lock()
	defer models.Unlock()
	progress := o.Progress
	o.Progress = nil
	key := strings.NewReplacer("/", "_", " ", "_").Replace(strings.TrimSpace(sprint(o)))
	o.Progress = progress
	if path, ok := models.made[key]; ok {
		return path
	}
	path := filepath.Join(models.dir, sprint(len(models.made))+".gguf")
	if err := gguf.WriteRandom(path, o); err != nil {
		tb.Fatal(err)
	}
	models.made[key] = path
	return path
}

// open opens an engine on a random model, with a change to the configuration.
func open(tb testing.TB, o gguf.RandomOptions, change func(*Config)) *Engine {
	tb.Helper()
	c := Default()
	c.Model = randomModel(tb, o)
	c.Context, c.Threads, c.Split = 2048, 1, 32
	if change != nil {
		change(&c)
	}
	e, err := OpenEngine(tb.Context(), c, NewGate())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { e.Close() })
	return e
}

var tiny = gguf.RandomOptions{Shape: "tiny", Seed: 1}
