package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/percached/percached/internal/config"
)

// The limit of stored tensors counts the disk space that they use already, as that of an open node
// does.
func TestPlanTensors(t *testing.T) {
	const free, step = 8<<30 - 1, 64 << 20 // a byte more, and the limit is a step higher
	c := Default().Config
	c.Data, c.TensorLimit = t.TempDir(), config.Auto
	if got := PlanTensors(c, free).Limit; got != 2<<30-step {
		t.Errorf("without a store: %d", got)
	}
	if err := os.MkdirAll(filepath.Join(c.Data, "tensors"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Data, "tensors", "1.vlog"), make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := PlanTensors(c, free).Limit; got != 2<<30 {
		t.Errorf("with a store: %d", got)
	}
	c.TensorLimit = 5
	if got := PlanTensors(c, free).Limit; got != 5 {
		t.Errorf("set: %d", got)
	}
}
