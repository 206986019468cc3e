package figure

import (
	"testing"

	"github.com/percached/percached/eval/systems"
)

// Each system has its own colour, and a variant has its system's.
func TestColours(t *testing.T) {
	names, _ := systems.Names()
	seen := map[uint32]string{}
	for _, name := range names {
		hex, ok := systemColours[name]
		if !ok || seen[hex] != "" {
			t.Errorf("%s has no colour of its own: %q", name, seen[hex])
		}
		seen[hex] = name
	}
	if colour("percache@threshold=0.6", 3) != colour("percache", 1) || colour("percache (1 of 2)", 2) != colour("percache", 1) {
		t.Error("a variant has another colour")
	}
}
