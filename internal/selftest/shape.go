package selftest

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

// Source is where a command's model comes from.
type Source struct {
	Model string // a file
	Shape string // or a random model of this shape
	Quant string
	cache string // folder of random models
	both  func() bool
}

// Flags gives a command the flags that choose a model.
func (s *Source) Flags(cmd *cobra.Command, shape string) {
	f := cmd.Flags()
	f.StringVar(&s.Model, "model", "", "GGUF file to use")
	f.StringVar(&s.Shape, "shape", shape, "use a model with random weights instead: "+strings.Join(gguf.Shapes(), ", "))
	f.StringVar(&s.Quant, "quant", "q4_0", "type of the random weights: f32, f16, q8_0, q4_0")
	f.StringVar(&s.cache, "cache", "", "folder that keeps random models (default: percached/shapes in the user's cache)")
	s.both = func() bool { return f.Changed("model") && (f.Changed("shape") || f.Changed("quant")) }
}

// Check says what is wrong with the flags.
func (s *Source) Check() error {
	switch {
	case s.both != nil && s.both():
		return cmdline.Misusef("--model takes neither --shape nor --quant: they make a random model")
	case s.Model != "":
		return nil
	case !slices.Contains(gguf.Shapes(), s.Shape):
		return cmdline.Misusef("--shape must be one of %s, not %q", strings.Join(gguf.Shapes(), ", "), s.Shape)
	case !slices.Contains([]string{"f32", "f16", "q8_0", "q4_0"}, s.Quant):
		return cmdline.Misusef("--quant must be f32, f16, q8_0 or q4_0, not %q", s.Quant)
	}
	return nil
}

// File is the model's path; a random model is written if it is not there yet.
func (s *Source) File(ctx context.Context, stderr io.Writer) (string, error) {
	const op = "percached: shape"
	if s.Model != "" {
		return s.Model, nil
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
	told := cmdline.Progress(stderr, "written")
	tmp := filepath.Join(part, "model.gguf")
	err = gguf.WriteRandom(tmp, gguf.RandomOptions{
		Shape: s.Shape, Type: s.Quant, Seed: 1,
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
