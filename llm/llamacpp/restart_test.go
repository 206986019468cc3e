package llamacpp

import (
	"encoding/gob"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/percached/percached"
)

// What one process hands to the next.
type handed struct{ Results []percached.Result }

// The other process finds here what to open and where to write.
const (
	restartModel = "PERCACHED_TEST_MODEL"
	restartInto  = "PERCACHED_TEST_INTO"
)

// restartCase is one way to keep tensors and one placement.
type restartCase struct {
	kv        string
	placement percached.Placement
}

func restartCases() []restartCase {
	var cases []restartCase
	for _, kv := range []string{"f16", "q8_0", "q4_0"} {
		cases = append(cases, restartCase{kv, percached.Sequential}, restartCase{kv, percached.Parallel})
	}
	return cases
}

func (c restartCase) open(t *testing.T, model string) *Engine {
	return open(t, tiny, func(cfg *Config) {
		cfg.Model, cfg.KeyType, cfg.ValueType = model, c.kv, c.kv
		cfg.piece = 30 << 10
	})
}

func (c restartCase) prompt() percached.Prompt {
	p := newNumbers(21).prompt(c.placement, 25, 33, 64, 7, 90, 14)
	p.MaxTokens = 24
	return p
}

// Slices that one process captured and wrote down are restored by another: its
// answers are the ones that the first computed, bit for bit.
func TestWarmAfterRestart(t *testing.T) {
	if into := os.Getenv(restartInto); into != "" {
		before(t, os.Getenv(restartModel), into)
		return
	}
	model := randomModel(t, tiny)
	into := filepath.Join(t.TempDir(), "slices.gob")
	cmd := exec.Command(os.Args[0], "-test.run=^TestWarmAfterRestart$")
	cmd.Env = append(os.Environ(), restartInto+"="+into, restartModel+"="+model)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("the first process: %v\n%s", err, out)
	}
	f, err := os.Open(into)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var was handed
	if err := gob.NewDecoder(f).Decode(&was); err != nil {
		t.Fatal(err)
	}
	for i, c := range restartCases() {
		t.Run(fmt.Sprintf("%s/%d", c.kv, c.placement), func(t *testing.T) {
			e := c.open(t, model)
			stored := was.Results[i].Slices
			p := c.prompt()
			for mask := 0b11111; ; mask >>= 1 { // also in part
				warm := generate(t, e, with(p, stored, mask))
				equal(t, fmt.Sprintf("stored %05b", mask), was.Results[i], warm)
				if (mask == 0) != (warm.Usage.Reused == 0) {
					t.Fatalf("stored %05b: %d tokens reused", mask, warm.Usage.Reused)
				}
				if mask == 0 {
					break
				}
			}
		})
	}
}

// before is the first process.
func before(t *testing.T, model, into string) {
	var out handed
	for _, c := range restartCases() {
		e := c.open(t, model)
		r := generate(t, e, capturing(c.prompt()))
		for i := range r.Slices {
			if r.Slices[i] == nil { // the question's; gob does not write nil
				r.Slices[i] = &percached.Slice{}
			}
		}
		out.Results = append(out.Results, r)
	}
	f, err := os.Create(into)
	if err != nil {
		t.Fatal(err)
	}
	if err := gob.NewEncoder(f).Encode(out); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}
