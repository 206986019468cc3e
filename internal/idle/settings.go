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

// Config says what idle work there is; spaces may want some of it otherwise.
type Config struct {
	Prediction percached.Prediction
	Stride     int
	Adaptive   bool
	Conversion bool
	// Policy is what populating and converting go by.
	Policy scheduler.Config
	// Documents and questions must have been quiet for so long before anything is
	// predicted from them.
	QuietDocuments time.Duration
	QuietQuestions time.Duration
	// Floor is the likeness of a question to its best chunk below which it cannot
	// be answered from the documents.
	Floor float64
}

// Default is what DESIGN says.
func Default() Config {
	return Config{
		Prediction: percached.PredictBoth, Stride: 5, Adaptive: true, Conversion: true, Policy: scheduler.Default(),
		QuietDocuments: 2 * time.Minute, QuietQuestions: 2 * time.Minute, Floor: 0.3,
	}
}

const maxStride = 50

// Validate joins all that is wrong.
func (c Config) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(!c.Prediction.Known(), "prediction: %q is neither off, answers nor both", c.Prediction)
	bad(c.Stride < 1 || c.Stride > maxStride, "stride: %d is not between 1 and %d", c.Stride, maxStride)
	bad(c.QuietDocuments < 0, "quiet_documents: %v is negative", c.QuietDocuments)
	bad(c.QuietQuestions < 0, "quiet_questions: %v is negative", c.QuietQuestions)
	bad(!(c.Floor >= -1 && c.Floor <= 1), "floor: %v is not between -1 and 1", c.Floor)
	return errors.Join(append(errs, c.Policy.Validate())...)
}

// With lays over c what a space wants otherwise, which may be wrong.
func (c Config) With(w percached.Settings) (Config, error) {
	over(&c.Prediction, w.Prediction)
	over(&c.Stride, w.Stride)
	over(&c.Adaptive, w.Adaptive)
	over(&c.Conversion, w.Conversion)
	if err := c.Validate(); err != nil {
		return c, fault.New(fault.Invalid, "idle.Settings", "settings: %w", err)
	}
	return c, nil
}

func over[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// rules are what holds in a space.
type rules struct {
	Config
	answer.Settings
	mark string // of the entries that are made under them
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
	r.Tensors = r.Tensors && w.Engine.Info().NoSlices == ""
	return r, err
}

// prefills says that predicted questions are prefilled and not answered now: an
// answer would seldom be served, or not be kept.
func (r rules) prefills() bool {
	return !r.Bank || r.Policy.Population(r.Threshold, r.Adaptive) == scheduler.PrefillOnly
}

// decodes says that predicted questions which were prefilled get their answers.
func (r rules) decodes() bool { return r.Bank && r.Policy.Decodes(r.Threshold, r.Conversion) }

// predicts says that questions are predicted, and something is kept of them.
func (r rules) predicts() bool {
	answers, tensors := r.Bank && !r.prefills(), r.Tensors && r.Prediction == percached.PredictBoth
	return r.Prediction != percached.PredictNothing && (answers || tensors)
}
