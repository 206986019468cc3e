package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/internal/home"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/llm/static"
	"github.com/percached/percached/models"
	"github.com/percached/percached/retrieval"
)

// setup is what a service is opened with.
type setup struct {
	create     bool // a data folder is made where there is none
	data       string
	model      string // empty: the built-in one
	embedModel string // empty: the built-in one
	kv         string
	threads    int
	context    int
	limit      int64 // bytes of tensors; commands that store none set no bounds
	chunkWords int
	fusion     string
	placement  string // empty: what serves the model best
	order      string
	k          int
	threshold  float64 // negative: the embedder's
	guard      bool
	maxTokens  int
	idle       idle.Config
	ground
}

func defaultSetup() setup {
	set := answer.Default()
	return setup{
		kv: "f16", threads: runtime.NumCPU(), context: llamacpp.Default().Context, limit: math.MaxInt64, chunkWords: 100,
		fusion: string(retrieval.Default().Fusion), order: string(set.Order), k: set.K, threshold: -1, guard: set.Guard, maxTokens: set.MaxTokens, idle: idle.Default(),
	}
}

// Validate joins all that is wrong and that the parts cannot say as well.
func (c setup) Validate() error {
	var errs []error
	if c.data == "" {
		errs = append(errs, errors.New("--data: no folder is named"))
	}
	if c.limit < 0 {
		errs = append(errs, fmt.Errorf("--tensor-limit: %d is negative", c.limit))
	}
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.threshold > 1, "--threshold: %v is above 1", c.threshold)
	bad(c.k < 1 || c.k > 64, "--k: %d is not between 1 and 64", c.k)
	bad(c.threads < 1 || c.threads > 512, "--threads: %d is not between 1 and 512", c.threads)
	bad(c.context < 1 || c.context > 1<<24, "--context: %d is not between 1 and %d", c.context, 1<<24)
	bad(c.maxTokens < 1, "--max-tokens: %d is not positive", c.maxTokens)
	bad(c.chunkWords < 20 || c.chunkWords > 400, "--chunk-words: %d is not between 20 and 400", c.chunkWords)
	bad(!percached.Order(c.order).Known(), "--order: %q is neither relevance nor canonical", c.order)
	bad(c.fusion != string(retrieval.RRF) && c.fusion != string(retrieval.Weighted), "--fusion: %q is neither rrf nor weighted", c.fusion)
	return errors.Join(append(errs, c.idle.Validate())...)
}

// dataFlag is the flag that every command with a data folder has.
func (c *setup) dataFlag(cmd *cobra.Command) {
	dir, _ := home.Default() // without one, --data must be given
	cmd.Flags().StringVar(&c.data, "data", dir, "data folder")
}

// documentFlags say how documents are cut and found.
func (c *setup) documentFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.embedModel, "embed-model", "", "GGUF file of an embedding model (default: the one that is built in)")
	f.IntVar(&c.chunkWords, "chunk-words", c.chunkWords, "words of a chunk, about")
	f.StringVar(&c.fusion, "fusion", c.fusion, "how words and meaning are weighed: rrf (by rank) or weighted (by score)")
	f.IntVar(&c.threads, "threads", c.threads, "threads that compute")
}

// answerFlags say how questions are answered.
func (c *setup) answerFlags(cmd *cobra.Command) {
	c.documentFlags(cmd)
	f := cmd.Flags()
	f.Int64Var(&c.limit, "tensor-limit", 1<<30, "bytes that stored tensors may take on disk")
	f.StringVar(&c.model, "model", "", "GGUF file of a language model (default: the one that is built in)")
	f.StringVar(&c.kv, "kv", c.kv, "type of keys and values: f16, q8_0, q4_0")
	f.IntVar(&c.context, "context", c.context, "tokens of the context")
	f.StringVar(&c.placement, "placement", "", "sequential or parallel (default: parallel for the built-in model, sequential for others)")
	f.StringVar(&c.order, "order", c.order, "how chunks stand in a prompt: relevance or canonical")
	f.IntVar(&c.k, "k", c.k, "chunks of a prompt")
	f.Float64Var(&c.threshold, "threshold", c.threshold, "similarity from which on a stored answer may be served; negative: the embedding model's own")
	f.BoolVar(&c.guard, "guard", c.guard, "hold stored answers against the whole gate; without it similarity alone decides")
	f.IntVar(&c.maxTokens, "max-tokens", c.maxTokens, "tokens of an answer")
}

// wanted is what flags of this call say, which beats what the space says.
func (c *setup) wanted(cmd *cobra.Command) (w percached.Settings) {
	given := cmd.Flags().Changed
	if c.threshold >= 0 {
		w.Threshold = &c.threshold
	}
	if given("k") {
		w.K = &c.k
	}
	if given("guard") {
		w.Guard = &c.guard
	}
	if given("order") {
		o := percached.Order(c.order)
		w.Order = &o
	}
	if p, err := parsePlacement(c.placement); given("placement") && err == nil {
		w.Placement = &p
	}
	return w
}

// settings are the service's own; spaces may want others.
func (s *service) settings(c setup) (answer.Settings, error) {
	set := answer.Default()
	set.K, set.Order, set.Guard, set.MaxTokens = c.k, percached.Order(c.order), c.guard, c.maxTokens
	set.Retrieval = c.fusion
	if t, ok := s.embedder.(interface{ Threshold() (float32, bool) }); ok {
		if v, ok := t.Threshold(); ok {
			set.Threshold = float64(v)
		}
	}
	if c.threshold >= 0 {
		set.Threshold = c.threshold
	}
	switch {
	case c.placement != "":
		p, err := parsePlacement(c.placement)
		if err != nil {
			return set, err
		}
		set.Placement = p
	case c.model == "":
		set.Placement = models.NanoPlacement
	}
	return set, nil
}

// instructions are what prompts of a space begin with, if the owner of the data
// folder wants others than the built-in ones: for one space, or for all.
func (s *service) instructions(space string) (string, bool, error) {
	return s.prompt(space, "instructions")
}

// prompt is what the owner of the data folder wants in place of a built-in prompt.
func (s *service) prompt(space, name string) (string, bool, error) {
	for _, path := range []string{s.home.Path("prompts", space, name+".txt"), s.home.Path("prompts", name+".txt")} {
		b, err := os.ReadFile(path)
		switch {
		case err == nil:
			return string(b), true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", false, fault.New(fault.Unavailable, "percached: prompts", "%w", err)
		}
	}
	return "", false, nil
}

// openEmbedder opens the model that the configuration names; a table of word
// vectors or a network.
func (s *service) openEmbedder(ctx context.Context, c setup) (err error) {
	arch, err := architecture(c.embedModel)
	switch {
	case err != nil:
	case c.embedModel == "":
		s.embedder, err = static.Parse(ctx, "nano-embed", models.NanoEmbed())
	case arch == "static":
		s.embedder, err = static.Open(ctx, c.embedModel)
	default:
		l := llamacpp.DefaultEmbedder()
		l.Model, l.Threads = c.embedModel, c.threads
		s.embedder, err = llamacpp.OpenEmbedder(ctx, l, s.gate)
	}
	if err == nil {
		s.closers = append(s.closers, s.embedder.Close)
	}
	return err
}

func architecture(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := gguf.Open(path)
	if err != nil {
		return "", err
	}
	return f.Architecture(), nil
}

// openEngine opens the language model.
func (s *service) openEngine(ctx context.Context, c setup, stderr io.Writer) (err error) {
	if err := parseType(c.kv); err != nil {
		return err
	}
	l := llamacpp.Default()
	l.Model, l.KeyType, l.ValueType, l.Threads, l.Context = c.model, c.kv, c.kv, c.threads, c.context
	if c.model == "" {
		if l.Model, err = models.Nano(s.home.Path("models")); err != nil {
			return err
		}
	} else {
		l.Progress = steps(stderr, "loaded "+c.model)
	}
	s.engine, err = llamacpp.OpenEngine(ctx, l, s.gate)
	if err == nil {
		s.closers = append(s.closers, s.engine.Close)
	}
	return err
}
