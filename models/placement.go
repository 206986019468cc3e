package models

import (
	"strings"

	"github.com/percached/percached"
)

// family is a kind of model whose answers were compared under both placements.
type family struct {
	architecture string
	name         string // begins the model's own name; empty: any
	placement    percached.Placement
}

// families are those that were measured, with the prompt that they get: token F1
// against the right answer, parallel against sequential. SmolLM2: 0.139 against 0.153
// (294 questions, 9 % less), Gemma 3: 0.197 against 0.184 (144 questions). More of
// it stands in docs/measurements.md.
func families() []family {
	return []family{
		{"llama", "smollm2", percached.Parallel},
		{"gemma3", "", percached.Parallel},
	}
}

// Placement is the placement for a model that nothing else is known of than what its
// file says, and whether its family was measured. One that was not reads chunks in
// sequence, as any model is trained to.
func Placement(m percached.ModelInfo) (p percached.Placement, measured bool) {
	for _, f := range families() {
		if m.NoSlices == "" && m.NoParallel == "" && m.Architecture == f.architecture && strings.HasPrefix(strings.ToLower(m.Name), f.name) {
			return f.placement, true
		}
	}
	return percached.Sequential, false
}
