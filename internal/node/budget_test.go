package node

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/machine"
)

// Experts in memory are not counted for each request of the status.
func TestCachedExperts(t *testing.T) {
	now := time.Unix(100, 0)
	n := &Node{Dependencies: Dependencies{Now: func() time.Time { return now }}}
	if got := n.cachedExperts(Experts{}); got != -1 {
		t.Errorf("no experts: %d", got)
	}
	e := Experts{File: filepath.Join(t.TempDir(), "f"), Parts: []machine.Part{{Size: 5000}}}
	if err := os.WriteFile(e.File, make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	first := n.cachedExperts(e)
	if first < 0 {
		t.Skip("this system does not count")
	}
	if err := os.Remove(e.File); err != nil {
		t.Fatal(err)
	}
	if got := n.cachedExperts(e); got != first {
		t.Errorf("counted again at once: %d, before %d", got, first)
	}
	now = now.Add(recount)
	if got := n.cachedExperts(e); got != -1 {
		t.Errorf("never counted again: %d", got)
	}
}
