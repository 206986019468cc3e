package main

import (
	"context"

	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/static"
)

// checkModel says why a file is no model that percached can open.
func checkModel(ctx context.Context, path string) error {
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

// embeds says whether a model makes vectors and no text.
func embeds(path string) bool {
	f, err := gguf.Open(path)
	if err != nil {
		return false
	}
	causal, told := f.Bool(f.Key("attention.causal"))
	pooling, _ := f.Uint(f.Key("pooling_type"))
	return f.Architecture() == "static" || told && !causal || pooling > 0
}
