package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/llm/static"
	"github.com/percached/percached/models"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/retrieval"
	"github.com/percached/percached/scheduler"
)

// tensorLimit is how many bytes of tensors are stored, unless somebody says
// otherwise.
const tensorLimit = 1 << 30

// setup is what a service is opened with, and served.
type setup struct {
	create       bool // a data folder is made where there is none
	data         string
	model        string // empty: the built-in one
	embedModel   string // empty: the built-in one
	kv           string
	threads      int
	context      int
	embedContext int                               // tokens of a text that the embedding model reads
	prefixes     struct{ query, document *string } // nil: those of the embedding model's family
	limit        int64                             // bytes of tensors; commands that store none set no bounds
	bankLimit    int64                             // bytes of stored answers
	inboxLimit   int64                             // bytes of uploads that are not in yet
	uploadMemory int64                             // bytes that documents take while they come in
	history      int                               // questions that a space remembers
	chunkWords   int
	fusion       string
	gpuLayers    int    // see llamacpp.Config
	placement    string // empty: what serves the model best
	order        string
	k            int
	threshold    float64 // negative: the embedder's
	cutoff       float64 // negative: above the service's threshold
	guard        bool
	maxTokens    int
	maxWaiting   int // questions that wait for the model
	revival      revival
	idle         idle.Config
	serving      serving
	ground
}

func defaultSetup() setup {
	set := answer.Default()
	return setup{
		kv: "f16", threads: runtime.GOMAXPROCS(0), gpuLayers: llamacpp.AllThatFit, context: llamacpp.Default().Context, embedContext: llamacpp.DefaultEmbedder().Context, limit: math.MaxInt64, chunkWords: 100,
		bankLimit: qabank.Default().Limit, inboxLimit: 8 << 30, uploadMemory: uploadMemory(machineMemory()), history: historyLimit,
		fusion: string(retrieval.Default().Fusion), order: string(set.Order), k: set.K, threshold: -1, cutoff: -1, guard: set.Guard, maxTokens: set.MaxTokens, maxWaiting: 64,
		revival: revival{most: 3, within: 10 * time.Minute}, idle: idle.Default(), serving: defaultServing(),
	}
}

// keyFault is what is wrong with the value of a key.
type keyFault struct {
	key string
	err error
}

func (f *keyFault) Error() string { return "--" + f.key + ": " + f.err.Error() }

func (f *keyFault) Unwrap() error { return f.err }

// Validate joins all that is wrong and that the parts cannot say as well.
func (c setup) Validate() error {
	var errs []error
	bad := func(wrong bool, key, format string, args ...any) {
		if wrong {
			errs = append(errs, &keyFault{key, fmt.Errorf(format, args...)})
		}
	}
	bad(c.data == "", "data", "no folder is named (without a home folder, one must be)")
	bad(c.limit < 0, "tensor-limit", "%d is negative", c.limit)
	bad(c.bankLimit < 1, "bank-limit", "%d is not positive", c.bankLimit)
	bad(c.inboxLimit < 1, "inbox-limit", "%d is not positive", c.inboxLimit)
	bad(c.uploadMemory < 1<<20, "upload-memory", "%d is less than 1MiB", c.uploadMemory)
	bad(c.history < 1, "history-limit", "%d is not positive", c.history)
	bad(c.threshold > 1, "threshold", "%v is above 1", c.threshold)
	bad(c.cutoff > 1, "cutoff", "%v is above 1", c.cutoff)
	bad(c.k < 1 || c.k > 64, "k", "%d is not between 1 and 64", c.k)
	bad(c.threads < 1 || c.threads > 512, "threads", "%d is not between 1 and 512", c.threads)
	bad(c.gpuLayers < llamacpp.AllThatFit, "gpu-layers", "%d is less than -1", c.gpuLayers)
	bad(c.context < 1 || c.context > 1<<24, "context", "%d is not between 1 and %d", c.context, 1<<24)
	bad(c.embedContext < 16 || c.embedContext > 1<<24, "embed-context", "%d is not between 16 and %d", c.embedContext, 1<<24)
	bad(c.maxTokens < 1, "max-tokens", "%d is not positive", c.maxTokens)
	bad(c.maxWaiting < 1, "max-waiting", "%d is not positive", c.maxWaiting)
	bad(c.revival.most < 0, "engine-restarts", "%d is negative", c.revival.most)
	bad(c.revival.within < 0, "engine-period", "%v is negative", c.revival.within)
	bad(c.chunkWords < 20 || c.chunkWords > 400, "chunk-words", "%d is not between 20 and 400", c.chunkWords)
	bad(parseType(c.kv) != nil, "kv", "%q is neither f16, q8_0 nor q4_0", c.kv)
	_, err := parsePlacement(c.placement)
	bad(c.placement != "" && err != nil, "placement", "%q is neither sequential nor parallel", c.placement)
	bad(!percached.Order(c.order).Known(), "order", "%q is neither relevance nor canonical", c.order)
	bad(c.fusion != string(retrieval.RRF) && c.fusion != string(retrieval.Weighted), "fusion", "%q is neither rrf nor weighted", c.fusion)
	c.serving.validate(bad)
	return errors.Join(append(errs, c.idle.Validate())...)
}

// dataFlag is the flag that every command with a data folder has.
func (c *setup) dataFlag(cmd *cobra.Command) {
	c.data = dataFolder(variables(os.Environ()))
	c.flags(cmd, "data")
}

// documentFlags say how documents are cut and found.
func (c *setup) documentFlags(cmd *cobra.Command) {
	c.flags(cmd, "embed-model", "chunk-words", "fusion", "threads", "gpu-layers")
}

// answerFlags say how questions are answered.
func (c *setup) answerFlags(cmd *cobra.Command) {
	c.documentFlags(cmd)
	c.limit = tensorLimit
	c.flags(cmd, "tensor-limit", "model", "kv", "context", "placement", "order", "k", "threshold", "guard", "max-tokens")
}

// idleFlags say how idle work is done.
func (c *setup) idleFlags(cmd *cobra.Command) {
	c.flags(cmd, "cutoff", "stride")
}

// settings are the service's own; spaces may want others.
func (s *service) settings(c setup) (answer.Settings, error) {
	set := answer.Default()
	set.K, set.Order, set.Guard, set.MaxTokens = c.k, percached.Order(c.order), c.guard, c.maxTokens
	set.Retrieval = c.fusion
	if c.model != "" { // the built-in model knows its own prompts
		set.Task = answer.DefaultTask
	}
	if s.engine != nil { // documents and question want the other half
		switch room := s.engine.Info().Context / 2; {
		case set.MaxTokens <= room:
		case set.MaxTokens == answer.Default().MaxTokens:
			set.MaxTokens = room
		default:
			return set, fault.New(fault.Invalid, "percached", "max-tokens: %d do not fit into the model's context of %d tokens, at most %d do", set.MaxTokens, 2*room, room)
		}
	}
	if t, ok := s.embedder.(interface{ Threshold() (float32, bool) }); ok {
		if v, ok := t.Threshold(); ok {
			// As it is written: 0.88, and not what a float32 of it is.
			set.Threshold, _ = strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
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
		set.Placement, set.Fixed = p, true
	case c.model == "":
		set.Placement, set.Fixed = models.NanoPlacement, true
	case s.engine != nil:
		set.Placement, _ = models.Placement(s.engine.Info())
	}
	return set, nil
}

// idleRules say what idle work there is. The cut-off, unless somebody says
// otherwise, lies above the service's own threshold: below it no predicted question
// would ever be answered.
func (s *service) idleRules(c setup) (idle.Config, error) {
	set, err := s.settings(c)
	rules := c.idle
	if rules.Policy.Cutoff = c.cutoff; c.cutoff < 0 {
		rules.Policy.Cutoff = scheduler.CutoffAbove(set.Threshold)
	}
	return rules, err
}

// instructions are what prompts of a space begin with, if the owner of the data
// folder wants others than the built-in ones: for one space, or for all.
func (s *service) instructions(space string) (string, bool, error) {
	return s.prompt(space, "instructions")
}

// prompt is what the owner of the data folder wants in place of a built-in prompt.
func (s *service) prompt(space, name string) (string, bool, error) {
	paths := []string{s.home.Path("prompts", name+".txt")}
	if own := s.prompts(space); own.plain {
		paths = append([]string{own.path(name)}, paths...)
	}
	for _, path := range paths {
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
	if c.embedModel, err = pulled(s.home.Path("models"), c.embedModel); err != nil {
		return err
	}
	arch, err := architecture(c.embedModel)
	switch {
	case err != nil:
	case c.embedModel == "":
		s.embedder, err = static.Parse(ctx, "nano-embed", models.NanoEmbed())
	case arch == "static":
		s.embedder, err = static.Open(ctx, c.embedModel)
	default:
		l := llamacpp.DefaultEmbedder()
		l.Model, l.Threads, l.Context, l.GPULayers = c.embedModel, c.threads, c.embedContext, c.gpuLayers
		l.QueryPrefix, l.DocumentPrefix = c.prefixes.query, c.prefixes.document
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

// openEngine opens the language model, and anew when it fails inside.
func (s *service) openEngine(ctx context.Context, c setup, log *slog.Logger, stderr io.Writer) (err error) {
	if err := parseType(c.kv); err != nil {
		return err
	}
	if c.model, err = pulled(s.home.Path("models"), c.model); err != nil {
		return err
	}
	l := llamacpp.Default()
	l.Model, l.KeyType, l.ValueType, l.Threads, l.Context = c.model, c.kv, c.kv, c.threads, c.context
	l.Queue, l.Render = max(l.Queue, c.maxWaiting), renderTemplate
	l.GPULayers = c.gpuLayers
	if s.builtIn = c.model == ""; s.builtIn {
		if l.Model, err = models.Nano(s.home.Path("models")); err != nil {
			return err
		}
	} else {
		l.Progress = cmdline.Progress(stderr, "loaded "+c.model)
	}
	if s.progress != nil {
		s.progress(stageLoading, 0)
		l.Progress = func(of1 float64) { s.progress(stageLoading, of1) }
	}
	open := func(ctx context.Context) (llm.Engine, error) {
		e, err := llamacpp.OpenEngine(ctx, l, s.gate)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	r, err := revive(ctx, c.revival, s.now, s.news.revived(log), open)
	if err != nil {
		return err
	}
	s.engine = r
	s.closers = append(s.closers, r.Close)
	return nil
}
