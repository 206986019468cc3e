package models

import (
	"testing"

	"github.com/percached/percached"
)

func TestPlacement(t *testing.T) {
	for _, c := range []struct {
		model percached.ModelInfo
		want  percached.Placement
	}{
		{percached.ModelInfo{Architecture: "llama", Name: "Smollm2 135M 8k Lc100K Mix1 Ep2"}, percached.Parallel},
		{percached.ModelInfo{Architecture: "gemma3", Name: "Gemma 3 270m"}, percached.Parallel},
		{percached.ModelInfo{Architecture: "gemma3", NoSlices: "nobody knows why"}, percached.Sequential},
		{percached.ModelInfo{Architecture: "llama", Name: "Another 135M"}, percached.Sequential},
		{percached.ModelInfo{Architecture: "qwen3", Name: "SmolLM2"}, percached.Sequential},
		{percached.ModelInfo{}, percached.Sequential},
	} {
		if got, _ := Placement(c.model); got != c.want {
			t.Errorf("%+v: %s, want %s", c.model, got, c.want)
		}
	}
}
