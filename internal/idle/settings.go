package idle

import (
	"errors"
	"fmt"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/scheduler"
)

// Config says which idle work to do; spaces may override parts of it.
type Config struct {
	Prediction percached.Prediction
	Stride     int
	Adaptive   bool
	Conversion bool
	// Policy decides about populating and conversion.
	Policy scheduler.Config
	// Quiet periods of documents and questions before anything is predicted from them.
	QuietDocuments time.Duration
	QuietQuestions time.Duration
	// Floor is the minimum similarity between a question and its best chunk for the
	// documents to answer it.
	Floor float64
}

// Default returns the defaults.
func Default() Config {
	return Config{
		Prediction: percached.PredictBoth, Stride: 5, Adaptive: true, Conversion: true, Policy: scheduler.Default(),
		QuietDocuments: 2 * time.Minute, QuietQuestions: 2 * time.Minute, Floor: 0.3,
	}
}

const maxStride = 50

// Validate reports all faults together.
func (c Config) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(!c.Prediction.Known(), "prediction: %q is not one of off, answers, both", c.Prediction)
	bad(c.Stride < 1 || c.Stride > maxStride, "stride: %d is not between 1 and %d", c.Stride, maxStride)
	bad(c.QuietDocuments < 0, "quiet_documents: %v is negative", c.QuietDocuments)
	bad(c.QuietQuestions < 0, "quiet_questions: %v is negative", c.QuietQuestions)
	bad(!(c.Floor >= -1 && c.Floor <= 1), "floor: %v is not between -1 and 1", c.Floor)
	return errors.Join(append(errs, c.Policy.Validate())...)
}

// With applies a space's overrides, which may be invalid.
func (c Config) With(w percached.Settings) (Config, error) {
	override(&c.Prediction, w.Prediction)
	override(&c.Stride, w.Stride)
	override(&c.Adaptive, w.Adaptive)
	override(&c.Conversion, w.Conversion)
	if err := c.Validate(); err != nil {
		return c, fault.New(fault.Invalid, "idle.Settings", "settings: %w", err)
	}
	return c, nil
}

func override[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// rules apply in a space.
type rules struct {
	Config
	answer.Settings
	mark string // of the entries made under them
	// warms says that a server keeps the prompts that idle work prefills.
	warms bool
}

func (w *Worker) rules(space string) (rules, error) {
	sp, err := w.Knowledge.Space(space)
	if err != nil {
		return rules{}, err
	}
	var r rules
	if r.Config, err = w.config.Load().With(sp.Settings); err != nil {
		return r, err
	}
	r.Settings, err = w.Asker.Settings(space)
	r.mark = w.Asker.Mark(r.Settings)
	info := w.Engine.Info()
	r.Tensors, r.warms = r.Tensors && info.NoSlices == "", info.PrefixCache
	return r, err
}

// prefills reports whether predicted questions are only prefilled, because an answer
// would seldom be served or would not be kept.
func (r rules) prefills() bool {
	return !r.Bank || r.Policy.Population(r.Threshold, r.Adaptive) == scheduler.PrefillOnly
}

// decodes reports whether prefilled predictions get answers.
func (r rules) decodes() bool { return r.Bank && r.Policy.Decodes(r.Threshold, r.Conversion) }

// predicts reports whether questions are predicted and anything about them is kept.
func (r rules) predicts() bool {
	answers, tensors := r.Bank && !r.prefills(), (r.Tensors || r.warms) && r.Prediction == percached.PredictBoth
	return r.Prediction != percached.PredictNothing && (answers || tensors)
}
