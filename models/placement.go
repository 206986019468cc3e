package models

import (
	"strings"

	"github.com/percached/percached"
)

// family is a group of models whose answers were compared in both placements.
type family struct {
	architecture string
	name         string // prefix of the model's own name; empty: any
	placement    percached.Placement
}

// families are the measured ones, with their prompt: token F1 against the right answer,
// parallel against sequential. SmolLM2: 0.139 against 0.153 (294 questions, 9 % less),
// Gemma 3: 0.197 against 0.184 (144 questions). docs/measurements.md has more.
func families() []family {
	return []family{
		{"llama", "smollm2", percached.Parallel},
		{"gemma3", "", percached.Parallel},
	}
}

// Placement is the placement of a model of which only the file is known, and whether its
// family was measured. The default is sequential, for which every model is trained.
func Placement(m percached.ModelInfo) (p percached.Placement, measured bool) {
	for _, f := range families() {
		if m.NoSlices == "" && m.NoParallel == "" && m.Architecture == f.architecture && strings.HasPrefix(strings.ToLower(m.Name), f.name) {
			return f.placement, true
		}
	}
	return percached.Sequential, false
}
