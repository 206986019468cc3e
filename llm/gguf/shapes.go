package gguf

import (
	"fmt"
	"slices"
	"strings"
)

// shape is the measures of a model.
type shape struct {
	name           string
	arch           string // empty: any
	layers         int
	width          int
	heads, kv      int
	ff             int
	vocab, context int
	base           float32 // of the rotation frequencies
	window         int     // of sliding attention; 0 = none
}

func shapes() []shape {
	return []shape{
		{name: "tiny", layers: 4, width: 128, heads: 4, kv: 2, ff: 256, vocab: 1024, context: 2048, base: 10000},
		{name: "135m", arch: "llama", layers: 30, width: 576, heads: 9, kv: 3, ff: 1536, vocab: 49152, context: 8192, base: 100000},
		{name: "0.5b", arch: "qwen2", layers: 24, width: 896, heads: 14, kv: 2, ff: 4864, vocab: 151936, context: 32768, base: 1000000},
		{name: "1b", arch: "llama", layers: 16, width: 2048, heads: 32, kv: 8, ff: 8192, vocab: 128256, context: 131072, base: 500000},
		{name: "3b", arch: "llama", layers: 28, width: 3072, heads: 24, kv: 8, ff: 8192, vocab: 128256, context: 131072, base: 500000},
	}
}

// Shapes are the names that RandomOptions.Shape may have.
func Shapes() []string {
	var names []string
	for _, s := range shapes() {
		names = append(names, s.name)
	}
	return names
}

// Architectures are the names that RandomOptions.Architecture may have.
func Architectures() []string { return []string{"llama", "qwen2", "qwen3", "gemma3", "bert"} }

// shapeFor finds the measures for name and architecture.
func shapeFor(name, arch string) (shape, error) {
	if name == "" {
		name = "tiny"
	}
	for _, s := range shapes() {
		if s.name != name {
			continue
		}
		if arch == "" {
			arch = s.arch
		}
		if arch == "" {
			arch = "llama"
		}
		if !slices.Contains(Architectures(), arch) {
			return shape{}, fmt.Errorf("architecture %q cannot be made: there are %s", arch, strings.Join(Architectures(), ", "))
		}
		if s.arch != "" && s.arch != arch {
			return shape{}, fmt.Errorf("shape %s is of architecture %s, not %s", name, s.arch, arch)
		}
		s.arch = arch
		switch arch {
		case "gemma3":
			// Every sixth layer sees all, the others a window: with fewer than
			// six there would be none that sees all.
			s.layers, s.window, s.base = 6, 256, 1000000
		case "bert":
			s.context, s.kv = 512, s.heads
		}
		return s, nil
	}
	return shape{}, fmt.Errorf("shape %q is not known: there are %s", name, strings.Join(Shapes(), ", "))
}
