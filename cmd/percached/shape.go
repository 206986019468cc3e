package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

// source is where a command's model comes from.
type source struct {
	model string // a file
	shape string // or a random model of this shape
	quant string
	cache string // folder of random models
	both  func() bool
}

func (s *source) flags(cmd *cobra.Command, shape string) {
	f := cmd.Flags()
	f.StringVar(&s.model, "model", "", "GGUF file to use")
	f.StringVar(&s.shape, "shape", shape, "use a model with random weights instead: "+strings.Join(gguf.Shapes(), ", "))
	f.StringVar(&s.quant, "quant", "q4_0", "type of the random weights: f32, f16, q8_0, q4_0")
	f.StringVar(&s.cache, "cache", "", "folder that keeps random models (default: percached/shapes in the user's cache)")
	s.both = func() bool { return f.Changed("model") && (f.Changed("shape") || f.Changed("quant")) }
}

func (s *source) check() error {
	switch {
	case s.both != nil && s.both():
		return cmdline.Misusef("--model takes neither --shape nor --quant: they make a random model")
	case s.model != "":
		return nil
	case !slices.Contains(gguf.Shapes(), s.shape):
		return cmdline.Misusef("--shape must be one of %s, not %q", strings.Join(gguf.Shapes(), ", "), s.shape)
	case !slices.Contains([]string{"f32", "f16", "q8_0", "q4_0"}, s.quant):
		return cmdline.Misusef("--quant must be f32, f16, q8_0 or q4_0, not %q", s.quant)
	}
	return nil
}

// file is the model's path; a random model is written if it is not there yet.
func (s *source) file(ctx context.Context, stderr io.Writer) (string, error) {
	const op = "percached: shape"
	if s.model != "" {
		return s.model, nil
	}
	dir := s.cache
	if dir == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", fault.New(fault.Unavailable, op, "there is no cache folder, name one with --cache: %w", err)
		}
		dir = filepath.Join(user, "percached", "shapes")
	}
	// The number goes up when gguf writes other weights for the same name.
	path := filepath.Join(dir, fmt.Sprintf("%s-%s.1.gguf", s.shape, s.quant))
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
	fmt.Fprintf(stderr, "writing a random %s model in %s to %s\n", s.shape, s.quant, path)
	told := cmdline.Progress(stderr, "written")
	tmp := filepath.Join(part, "model.gguf")
	err = gguf.WriteRandom(tmp, gguf.RandomOptions{
		Shape: s.shape, Type: s.quant, Seed: 1,
		Progress: func(done, total int64) { told(float64(done) / float64(total)) },
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
