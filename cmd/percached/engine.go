package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/jinja"
	"github.com/percached/percached/llm/llamacpp"
)

// engine is an llm.Engine that can be measured.
type engine interface {
	llm.Engine
	// SuffixOnly times the last segment on a context that holds the others.
	SuffixOnly(ctx context.Context, p percached.Prompt, runs int) ([]time.Duration, error)
	// BareLoop times the same tokens without anything of ours around.
	BareLoop(ctx context.Context, tokens []int32, generate int) (prefill, decode time.Duration, err error)
}

// opener opens an engine; tests put a fake in its place.
type opener func(ctx context.Context, c llamacpp.Config) (engine, error)

func openLlama(ctx context.Context, c llamacpp.Config) (engine, error) {
	c.Render = jinja.RenderInChild
	e, err := llamacpp.OpenEngine(ctx, c, llamacpp.NewGate())
	if err != nil {
		return nil, err
	}
	return e, nil
}

// loadModel opens an engine and says how far it is.
func loadModel(ctx context.Context, open opener, c llamacpp.Config, stderr io.Writer) (engine, error) {
	fmt.Fprintf(stderr, "loading %s (K/V %s)\n", c.Model, c.KeyType)
	c.Progress = cmdline.Progress(stderr, "loaded")
	return open(ctx, c)
}

// warnIdle says that the kernels could be faster.
func warnIdle(w io.Writer) {
	if cpu := llamacpp.CPU(); len(cpu.Idle) > 0 {
		fmt.Fprintf(w, "warning: this CPU has %s, but the binary was compiled without: %s\n", strings.Join(cpu.Idle, ", "), cpu.Cure)
	}
}
