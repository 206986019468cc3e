package node

import (
	"errors"
	"strconv"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/internal/remotebackup"
	"github.com/percached/percached/llm/openai"
	"github.com/percached/percached/models"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/scheduler"
)

// Options are the options of Open.
type Options struct {
	config.Config
	Dependencies
}

// Default returns the options of a command that stores no tensors.
func Default() Options { return Options{Config: config.Default()} }

// CheckConfig reports what the layers find wrong with a configuration.
func CheckConfig(c config.Config) error {
	errs := []error{IdleConfig(c).Validate()}
	for key, address := range map[string]string{"engine-url": c.EngineURL, "embed-url": c.EmbedURL} {
		if address == "" {
			continue
		}
		if err := openai.CheckURL(address, c.PlainEngine); err != nil {
			errs = append(errs, &config.KeyError{Key: key, Err: err})
		}
	}
	if c.Backup.To != "" {
		if _, err := remotebackup.Parse(c.Backup.To); err != nil {
			errs = append(errs, &config.KeyError{Key: "backup-to", Err: err})
		}
	}
	return errors.Join(errs...)
}

// IdleConfig returns the rules of idle work without the cut-off, which depends on the model.
func IdleConfig(c config.Config) idle.Config {
	r, in := idle.Default(), c.Idle
	r.Prediction, r.Stride, r.Adaptive, r.Conversion, r.Floor = percached.Prediction(in.Prediction), in.Stride, in.Adaptive, in.Conversion, in.Floor
	r.QuietDocuments, r.QuietQuestions = in.Quiet, in.Quiet
	p := &r.Policy
	p.IdleAfter, p.Zone, p.Budget.Compute, p.Budget.Questions = in.After, in.Zone, in.Compute, in.Questions
	p.Device.ChargingOnly, p.Device.MinBattery = in.Charging, in.MinBattery
	p.Windows = nil
	for _, w := range in.Windows {
		p.Windows = append(p.Windows, scheduler.Window(w))
	}
	p.Pay.Horizon, p.Pay.Trial, p.Pay.Worth = in.PayHorizon, in.PayTrial, in.PayWorth
	return r
}

// Settings returns the settings of a configuration. Spaces may override them.
func (n *Node) Settings(c config.Config) (answer.Settings, error) {
	set := answer.Default()
	set.K, set.Order, set.Guard, set.MaxWrong, set.MaxTokens, set.Memory, set.Trajectories = c.K, percached.Order(c.Order), c.Guard, c.MaxWrong, c.MaxTokens, c.Memory, c.Trajectories
	set.Retrieval = c.Fusion
	if c.EngineKind == config.OpenAI { // its prefix cache hits most if equal chunks stand in one order
		set.Order = percached.Canonical
	}
	if !c.BuiltIn() { // the built-in model knows its own prompts
		set.Task = answer.DefaultTask
	}
	if n.Engine != nil { // half of the context is for documents and question
		switch room := n.Engine.Info().Context / 2; {
		case set.MaxTokens <= room:
		case set.MaxTokens == config.Default().MaxTokens, n.shortOfMemory():
			set.MaxTokens = room
		default:
			return set, fault.New(fault.Invalid, "percached", "max-tokens: %d does not fit into the model's context of %d tokens; the maximum is %d", set.MaxTokens, 2*room, room)
		}
	}
	set.Threshold = n.ownThreshold()
	if c.Threshold >= 0 {
		set.Threshold, set.Strict = c.Threshold, true
	}
	set.MaxChanged = c.MaxChanged
	switch {
	case c.Placement != "":
		var p percached.Placement
		if err := p.UnmarshalText([]byte(c.Placement)); err != nil {
			return set, err
		}
		set.Placement, set.Fixed = p, true
	case c.BuiltIn():
		set.Placement, set.Fixed = models.NanoPlacement, true
	case n.Engine != nil:
		set.Placement, _ = models.Placement(n.Engine.Info())
	}
	return set, nil
}

// ownThreshold is the threshold that was measured for the embedder.
func (n *Node) ownThreshold() float64 {
	if t, ok := n.Embedder.(interface{ Threshold() (float32, bool) }); ok {
		if v, ok := t.Threshold(); ok {
			// The shortest decimal: 0.88, not 0.8799999952316284.
			own, _ := strconv.ParseFloat(strconv.FormatFloat(float64(v), 'g', -1, 32), 64)
			return own
		}
	}
	return answer.Default().Threshold
}

// IdleRules returns the rules of idle work. The default cut-off is above the threshold,
// because predicted questions below the threshold would never be answered.
func (n *Node) IdleRules(c config.Config) (idle.Config, error) {
	set, err := n.Settings(c)
	rules := IdleConfig(c)
	if rules.Policy.Cutoff = c.Idle.Cutoff; c.Idle.Cutoff < 0 {
		rules.Policy.Cutoff = scheduler.CutoffAbove(set.Threshold)
	}
	return rules, err
}

// Observers observe a node. Each may be nil or empty.
type Observers struct {
	Lost              func(layer string, err error) // a record was lost
	BankObserver      qabank.Observer
	TreeObserver      qkvtree.Observer
	SchedulerObserver scheduler.Observer
	Asked             func(space, question string) func(answer.Answer, error)
	Completed         func(answer.Completed)
	Checked           func(space string, right bool)
	Changed           func(space string, entry qabank.ID) // idle work changed a user's answer
	Stopped           func()
	Restarted         func()                               // the model failed and was loaded again
	Expired           func(slices int)                     // of conversations
	Outlived          func(space string, r ingest.Receipt) // deleted because it was kept long enough
}

// observeDamage observes lost records of one layer.
func (o Observers) observeDamage(layer string) func(error) {
	if o.Lost == nil {
		return nil
	}
	return func(err error) { o.Lost(layer, err) }
}

// withAsked combines the observer of questions with another one.
func (o Observers) withAsked(other func(space, question string) func(answer.Answer, error)) func(space, question string) func(answer.Answer, error) {
	if o.Asked == nil {
		return other
	}
	return func(space, question string) func(answer.Answer, error) {
		first, second := other(space, question), o.Asked(space, question)
		return func(a answer.Answer, err error) {
			first(a, err)
			second(a, err)
		}
	}
}
