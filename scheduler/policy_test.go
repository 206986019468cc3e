package scheduler

import (
	"encoding/json"
	"testing"
)

// The space's threshold decides how predicted questions are prepared and whether entries
// without an answer are decoded.
func TestPolicy(t *testing.T) {
	c := Default()
	for _, tt := range []struct {
		threshold            float64
		adaptive, conversion bool
		population           Population
		decodes              bool
	}{
		{0.85, true, true, Full, true},
		{0.88, true, true, Full, true}, // the cutoff itself still decodes
		{0.881, true, true, PrefillOnly, false},
		{0.90, true, true, PrefillOnly, false},
		{0.90, false, true, Full, false},
		{0.90, false, false, Full, false},
		{0.85, true, false, Full, false},
	} {
		if got := c.Population(tt.threshold, tt.adaptive); got != tt.population {
			t.Errorf("threshold %v, adaptive %v: population is %v, want %v", tt.threshold, tt.adaptive, got, tt.population)
		}
		if got := c.Decodes(tt.threshold, tt.conversion); got != tt.decodes {
			t.Errorf("threshold %v, conversion %v: decodes is %v, want %v", tt.threshold, tt.conversion, got, tt.decodes)
		}
	}
}

func TestPopulationNames(t *testing.T) {
	b, err := json.Marshal([]Population{Full, PrefillOnly, 7})
	if want := `["full","prefill_only","7"]`; err != nil || string(b) != want {
		t.Errorf("written as %s, %v, want %s", b, err, want)
	}
}
