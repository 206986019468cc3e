package selftest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/jinja"
	"github.com/percached/percached/llm/llamacpp"
)

// Engine is an llm.Engine that can be measured.
type Engine interface {
	llm.Engine
	// SuffixOnly times the last segment on a context that holds the others.
	SuffixOnly(ctx context.Context, p percached.Prompt, runs int) ([]time.Duration, error)
	// BareLoop times the same tokens in llama.cpp alone.
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

// Load opens an engine and shows the progress.
func Load(ctx context.Context, open Opener, c llamacpp.Config, stderr io.Writer) (Engine, error) {
	fmt.Fprintf(stderr, "loading %s (keys and values %s)\n", c.Model, c.KeyType)
	c.Progress = cmdline.Progress(stderr, "loaded")
	return open(ctx, c)
}

// WarnSlow warns if the binary does not use all features of the CPU.
func WarnSlow(w io.Writer) {
	if cpu := llamacpp.CPU(); len(cpu.Idle) > 0 {
		fmt.Fprintf(w, "warning: the binary does not use %s of this CPU: %s\n", strings.Join(cpu.Idle, ", "), cpu.Cure)
	}
}

// Source says which model a command uses.
type Source struct {
	Model    string // a file
	Shape    string // or a random model of this shape
	Quant    string
	cache    string // folder of random models
	conflict func() bool
}

// Flags gives a command the flags that choose a model.
func (s *Source) Flags(cmd *cobra.Command, shape string) {
	f := cmd.Flags()
	f.StringVar(&s.Model, "model", "", "GGUF file of the model (default: the built-in model)")
	f.StringVar(&s.Shape, "shape", shape, "Shape of a model with random weights: "+strings.Join(gguf.Shapes(), ", "))
	f.StringVar(&s.Quant, "quant", "q4_0", "Type of the random weights: f32, f16, q8_0 or q4_0")
	f.StringVar(&s.cache, "cache", "", "Folder for random models (default: percached/shapes in the user's cache folder)")
	s.conflict = func() bool { return f.Changed("model") && (f.Changed("shape") || f.Changed("quant")) }
}

// Check returns an error if the flags are wrong.
func (s *Source) Check() error {
	switch {
	case s.conflict != nil && s.conflict():
		return cmdline.Misusef("--model cannot be used with --shape or --quant, which select a random model")
	case s.Model != "":
		return nil
	case !slices.Contains(gguf.Shapes(), s.Shape):
		return cmdline.Misusef("--shape must be one of %s, not %q", strings.Join(gguf.Shapes(), ", "), s.Shape)
	case !slices.Contains([]string{"f32", "f16", "q8_0", "q4_0"}, s.Quant):
		return cmdline.Misusef("--quant must be f32, f16, q8_0 or q4_0, not %q", s.Quant)
	}
	return nil
}

// File returns the path of the model. It writes a random model if it does not exist.
func (s *Source) File(ctx context.Context, stderr io.Writer) (string, error) {
	const op = "percached: shape"
	if s.Model != "" {
		return s.Model, nil
	}
	dir := s.cache
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fault.New(fault.Unavailable, op, "there is no cache folder; use --cache: %w", err)
		}
		dir = filepath.Join(user, "percached", "shapes")
	}
	// Increase the number when gguf writes other weights for the same shape.
	path := filepath.Join(dir, fmt.Sprintf("%s-%s.1.gguf", s.Shape, s.Quant))
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fault.New(fault.Unavailable, op, "%w", err)
	}
	part, err := os.MkdirTemp(dir, "part-")
	if err != nil {
		return "", fault.New(fault.Unavailable, op, "%w", err)
	}
	defer os.RemoveAll(part)
	fmt.Fprintf(stderr, "writing a random %s model in %s to %s\n", s.Shape, s.Quant, path)
	progress := cmdline.Progress(stderr, "written")
	tmp := filepath.Join(part, "model.gguf")
	err = gguf.WriteRandom(tmp, gguf.RandomOptions{
		Shape: s.Shape, Type: s.Quant, Seed: 1,
		Progress: func(done, total int64) { progress(float64(done) / float64(total)) },
	})
	if err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", fault.New(fault.Unavailable, op, "%w", err)
	}
	return path, nil
}
