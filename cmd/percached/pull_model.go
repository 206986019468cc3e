package main

import (
	"context"

	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/static"
)

// checkModelFile returns an error if percached cannot open the model.
func checkModelFile(ctx context.Context, path string) error {
	f, err := gguf.Open(path)
	if err != nil {
		return err
	}
	if f.Architecture() != "static" {
		return f.CheckModel()
	}
	e, err := static.Open(ctx, path)
	if err != nil {
		return err
	}
	return e.Close()
}

// isEmbedder says that a model computes vectors and no text.
func isEmbedder(path string) bool {
	f, err := gguf.Open(path)
	if err != nil {
		return false
	}
	causal, set := f.Bool(f.Key("attention.causal"))
	pooling, _ := f.Uint(f.Key("pooling_type"))
	return f.Architecture() == "static" || set && !causal || pooling > 0
}
