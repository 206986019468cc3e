package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strconv"

	"github.com/percached/percached/internal/supervise"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/llm/static"
	"github.com/percached/percached/models"
	"github.com/percached/percached/scheduler"
)

// setup is what a service is opened with.
type setup struct {
	config.Config
	ground
}

func defaultSetup() setup { return setup{Config: config.Default()} }

// checkConfig reports what the layers find wrong with a configuration.
func checkConfig(c config.Config) error {
	names := api.Default() // only the names can be wrong
	names.Authorize, names.Ready, names.Hub = func(string) (g api.Grant, ok bool) { return }, func() (r api.Ready) { return }, &api.Hub{}
	var errs []error
	for _, of := range []struct {
		key            string
		hosts, origins []string
	}{{"hosts", c.Serving.Hosts, nil}, {"origins", nil, c.Serving.Origins}} {
		names.Hosts, names.Origins = of.hosts, of.origins
		if err := names.Validate(); err != nil {
			errs = append(errs, &config.KeyError{Key: of.key, Err: errors.New(cmdline.Sentence(err))})
		}
	}
	return errors.Join(append(errs, idleConfig(c).Validate())...)
}

// idleConfig are the rules of idle work, but for the cut-off that depends on the model.
func idleConfig(c config.Config) idle.Config {
	r, in := idle.Default(), c.Idle
	r.Prediction, r.Stride, r.Adaptive, r.Conversion, r.Floor = percached.Prediction(in.Prediction), in.Stride, in.Adaptive, in.Conversion, in.Floor
	r.QuietDocuments, r.QuietQuestions = in.Quiet, in.Quiet
	p := &r.Policy
	p.IdleAfter, p.Zone, p.Budget.Compute, p.Budget.Questions, p.Device.MinBattery = in.After, in.Zone, in.Compute, in.Questions, in.MinBattery
	p.Windows = nil
	for _, w := range in.Windows {
		p.Windows = append(p.Windows, scheduler.Window(w))
	}
	p.Pay.Horizon, p.Pay.Trial, p.Pay.Worth = in.PayHorizon, in.PayTrial, in.PayWorth
	return r
}

// settings are the service's own; spaces may want others.
func (s *service) settings(c config.Config) (answer.Settings, error) {
	set := answer.Default()
	set.K, set.Order, set.Guard, set.MaxTokens = c.K, percached.Order(c.Order), c.Guard, c.MaxTokens
	set.Retrieval = c.Fusion
	if c.Model != "" { // the built-in model knows its own prompts
		set.Task = answer.DefaultTask
	}
	if s.engine != nil { // documents and question want the other half
		switch room := s.engine.Info().Context / 2; {
		case set.MaxTokens <= room:
		case set.MaxTokens == config.Default().MaxTokens:
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
	if c.Threshold >= 0 {
		set.Threshold = c.Threshold
	}
	switch {
	case c.Placement != "":
		var p percached.Placement
		if err := p.UnmarshalText([]byte(c.Placement)); err != nil {
			return set, err
		}
		set.Placement, set.Fixed = p, true
	case c.Model == "":
		set.Placement, set.Fixed = models.NanoPlacement, true
	case s.engine != nil:
		set.Placement, _ = models.Placement(s.engine.Info())
	}
	return set, nil
}

// idleRules say what idle work there is. The cut-off, unless somebody says
// otherwise, lies above the service's own threshold: below it no predicted question
// would ever be answered.
func (s *service) idleRules(c config.Config) (idle.Config, error) {
	set, err := s.settings(c)
	rules := idleConfig(c)
	if rules.Policy.Cutoff = c.Idle.Cutoff; c.Idle.Cutoff < 0 {
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
	if c.EmbedModel, err = pulled(s.home.Path("models"), c.EmbedModel); err != nil {
		return err
	}
	arch, err := architecture(c.EmbedModel)
	switch {
	case err != nil:
	case c.EmbedModel == "":
		s.embedder, err = static.Parse(ctx, "nano-embed", models.NanoEmbed())
	case arch == "static":
		s.embedder, err = static.Open(ctx, c.EmbedModel)
	default:
		l := llamacpp.DefaultEmbedder()
		l.Model, l.Threads, l.Context, l.GPULayers = c.EmbedModel, c.Threads, c.EmbedContext, c.GPULayers
		l.QueryPrefix, l.DocumentPrefix = c.QueryPrefix, c.DocPrefix
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
	if c.Model, err = pulled(s.home.Path("models"), c.Model); err != nil {
		return err
	}
	l := llamacpp.Default()
	l.Model, l.KeyType, l.ValueType, l.Threads, l.Context = c.Model, c.KV, c.KV, c.Threads, c.Context
	l.Queue, l.Render = max(l.Queue, c.MaxWaiting), renderTemplate
	l.GPULayers = c.GPULayers
	if s.builtIn = c.Model == ""; s.builtIn {
		if l.Model, err = models.Nano(s.home.Path("models")); err != nil {
			return err
		}
	} else {
		l.Progress = cmdline.Progress(stderr, "loaded "+c.Model)
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
	r, err := supervise.Open(ctx, supervise.Limit{Most: c.Restarts, Within: c.RestartPeriod}, s.now, s.news.revived(log), open)
	if err != nil {
		return err
	}
	s.engine = r
	s.closers = append(s.closers, r.Close)
	return nil
}
