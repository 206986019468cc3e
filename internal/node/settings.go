package node

import (
	"strconv"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/models"
	"github.com/percached/percached/scheduler"
)

// Options is what a service is opened with.
type Options struct {
	config.Config
	Parts
}

// Default opens a data folder for a command that stores no tensors.
func Default() Options { return Options{Config: config.Default()} }

// CheckConfig reports what the layers find wrong with a configuration.
func CheckConfig(c config.Config) error { return IdleConfig(c).Validate() }

// IdleConfig are the rules of idle work, but for the cut-off that depends on the model.
func IdleConfig(c config.Config) idle.Config {
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

// Settings are the service's own; spaces may want others.
func (s *Node) Settings(c config.Config) (answer.Settings, error) {
	set := answer.Default()
	set.K, set.Order, set.Guard, set.MaxTokens = c.K, percached.Order(c.Order), c.Guard, c.MaxTokens
	set.Retrieval = c.Fusion
	if c.Model != "" { // the built-in model knows its own prompts
		set.Task = answer.DefaultTask
	}
	if s.Engine != nil { // documents and question want the other half
		switch room := s.Engine.Info().Context / 2; {
		case set.MaxTokens <= room:
		case set.MaxTokens == config.Default().MaxTokens:
			set.MaxTokens = room
		default:
			return set, fault.New(fault.Invalid, "percached", "max-tokens: %d do not fit into the model's context of %d tokens, at most %d do", set.MaxTokens, 2*room, room)
		}
	}
	if t, ok := s.Embedder.(interface{ Threshold() (float32, bool) }); ok {
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
	case s.Engine != nil:
		set.Placement, _ = models.Placement(s.Engine.Info())
	}
	return set, nil
}

// IdleRules say what idle work there is. The cut-off, unless somebody says
// otherwise, lies above the service's own threshold: below it no predicted question
// would ever be answered.
func (s *Node) IdleRules(c config.Config) (idle.Config, error) {
	set, err := s.Settings(c)
	rules := IdleConfig(c)
	if rules.Policy.Cutoff = c.Idle.Cutoff; c.Idle.Cutoff < 0 {
		rules.Policy.Cutoff = scheduler.CutoffAbove(set.Threshold)
	}
	return rules, err
}
