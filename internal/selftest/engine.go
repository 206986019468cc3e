package selftest

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

// Engine is an llm.Engine that can be measured.
type Engine interface {
	llm.Engine
	// SuffixOnly times the last segment on a context that holds the others.
	SuffixOnly(ctx context.Context, p percached.Prompt, runs int) ([]time.Duration, error)
	// BareLoop times the same tokens without anything of ours around.
	BareLoop(ctx context.Context, tokens []int32, generate int) (prefill, decode time.Duration, err error)
}

// Opener opens an engine; tests put a fake in its place.
type Opener func(ctx context.Context, c llamacpp.Config) (Engine, error)

// OpenLlama opens llama.cpp.
func OpenLlama(ctx context.Context, c llamacpp.Config) (Engine, error) {
	c.Render = jinja.RenderInChild
	e, err := llamacpp.OpenEngine(ctx, c, llamacpp.NewGate())
	if err != nil {
		return nil, err
	}
	return e, nil
}

// Load opens an engine and says how far it is.
func Load(ctx context.Context, open Opener, c llamacpp.Config, stderr io.Writer) (Engine, error) {
	fmt.Fprintf(stderr, "loading %s (K/V %s)\n", c.Model, c.KeyType)
	c.Progress = cmdline.Progress(stderr, "loaded")
	return open(ctx, c)
}

// WarnSlow says that the kernels could be faster.
func WarnSlow(w io.Writer) {
	if cpu := llamacpp.CPU(); len(cpu.Idle) > 0 {
		fmt.Fprintf(w, "warning: this CPU has %s, but the binary was compiled without: %s\n", strings.Join(cpu.Idle, ", "), cpu.Cure)
	}
}
