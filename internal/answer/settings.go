package answer

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

//go:embed prompts/instructions.txt
var instructions string

//go:embed prompts/refusal.txt
var refusal string

// wholeParallel is why whole and parallel contradict each other.
const wholeParallel = "parallel chunks are not one text: set placement to sequential, or leave it out"

// Settings say how questions of a space are answered.
type Settings struct {
	Threshold float64 // minimum similarity at which a stored answer may be served
	Guard     bool    // the whole gate; without it similarity alone decides, and a hit retrieves nothing
	// MaxWrong is the highest share of wrong answers among those that are served for a
	// question in other words; 0: only what is proven is served.
	MaxWrong  float64
	Bank      bool // use and store answers
	Tensors   bool // use and store tensors
	Drafts    bool // check tokens of stored answers and of the prompt in batches
	K         int  // chunks of a prompt
	KRefresh  int  // a new chunk among this many best of a stored question makes its answer stale
	Order     percached.Order
	Placement percached.Placement
	Planes    percached.Planes
	Memory    bool // questions use facts about the user only if they need them
	// Trajectories says that the history also keeps answers and decisions.
	Trajectories bool
	Whole        bool // tokenize instructions and chunks as one text: no tensors, sequential only
	MaxTokens    int  // of an answer
	// Retrieval names the search method. Answers over chunks that another method found
	// are not served.
	Retrieval string
	// Instructions begin the prompt.
	Instructions string
	// Task, unless empty, is repeated right before the question: small models lose sight
	// of instructions that stand before all chunks.
	Task string
	// Strict says that somebody chose the threshold, so that the gate considers no stored
	// question below it.
	Strict bool
	// MaxChanged is the highest share of answers that packed tensors may change; 0: only
	// exact tensors are used. Form is the least exact form that keeps to it, as it was
	// measured for the model.
	MaxChanged float64
	Form       percached.Form
	// Fixed says that somebody chose the placement, so that no measured one replaces it.
	Fixed bool
}

// DefaultTask is for models that were not trained on percached's own prompts.
const DefaultTask = "Using only the texts above, answer in one sentence."

// freeTask replaces it beside instructions that are not percached's own.
const freeTask = "Using only the texts above, answer the question."

// belowThreshold is how far below the embedder's own threshold a stored question may be,
// as similarity is only a part of what the gate compares.
const belowThreshold = 0.3

// promptVersion counts changes of the prompt's layout. What was measured with another
// layout is measured again.
const promptVersion = 2

// Default is for models that were not trained for one placement. The threshold depends on
// the embedder: this one was measured with all-MiniLM-L6-v2, and is for embedders that
// name none.
func Default() Settings {
	return Settings{
		Threshold: 0.85, Guard: true, MaxWrong: 0.01, MaxChanged: 0.02, Bank: true, Tensors: true, Drafts: true, K: 3, KRefresh: 3,
		Order: percached.Relevance, MaxTokens: 256, Memory: true, Instructions: instructions,
	}
}

// Validate joins everything that is wrong.
func (s Settings) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(!(s.Threshold >= 0 && s.Threshold <= 1), "threshold: %v is not between 0 and 1", s.Threshold)
	bad(!(s.MaxWrong >= 0 && s.MaxWrong <= 1), "max_wrong: %v is not between 0 and 1", s.MaxWrong)
	bad(!(s.MaxChanged >= 0 && s.MaxChanged <= 1), "max-changed: %v is not between 0 and 1", s.MaxChanged)
	bad(s.K < 1 || s.K > 64, "k: %d is not between 1 and 64", s.K)
	bad(s.KRefresh < 1 || s.KRefresh > 64, "k_refresh: %d is not between 1 and 64", s.KRefresh)
	bad(s.MaxTokens < 1, "max_tokens: %d is not positive", s.MaxTokens)
	bad(s.Placement > percached.Parallel, "placement: %d is unknown", s.Placement)
	bad(s.Planes > percached.QKV, "planes: %d are unknown", s.Planes)
	bad(s.Whole && s.Tensors, "whole: tensors of one text cannot be stored; set tensors to false")
	bad(s.Whole && s.Placement == percached.Parallel, "whole: %s", wholeParallel)
	bad(!s.Order.Known(), "order: %q is neither relevance nor canonical", s.Order)
	return errors.Join(errs...)
}

// With replaces settings by those of a space or a question, and validates the result.
// Whole switches tensors off and makes the placement sequential, whatever the service has.
// A space or question that asks for both whole and parallel is refused.
func (s Settings) With(w percached.Settings) (Settings, error) {
	replace(&s.Threshold, w.Threshold)
	s.Strict = s.Strict || w.Threshold != nil
	replace(&s.Guard, w.Guard)
	replace(&s.MaxWrong, w.MaxWrong)
	replace(&s.Bank, w.Bank)
	replace(&s.Tensors, w.Tensors)
	replace(&s.Drafts, w.Drafts)
	replace(&s.K, w.K)
	replace(&s.Order, w.Order)
	replace(&s.Placement, w.Placement)
	s.Fixed = s.Fixed || w.Placement != nil
	replace(&s.Planes, w.Planes)
	replace(&s.Whole, w.Whole)
	if s.Whole {
		s.Tensors = false
		if w.Placement == nil {
			s.Placement = percached.Sequential
		}
	}
	err := s.Validate()
	if l := w.TensorLimit; l != nil && *l < 0 { // the tree applies it
		err = errors.Join(err, fmt.Errorf("tensor_limit: %d is negative", *l))
	}
	if d := w.KeepDays; d != nil && (*d < 0 || *d > maxKeepDays) { // the node applies it
		err = errors.Join(err, fmt.Errorf("keep_days: %d is not between 0 and %d", *d, maxKeepDays))
	}
	if err != nil {
		return s, fault.New(fault.Invalid, "answer.Settings", "settings: %w", err)
	}
	return s, nil
}

// maxKeepDays is about a hundred years.
const maxKeepDays = 36500

// least is the similarity from which the gate considers a stored question.
func (s Settings) least() float64 {
	if s.Guard && !s.Strict {
		return s.Threshold - belowThreshold
	}
	return s.Threshold
}

func replace[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Settings returns the settings of a space.
func (a *Asker) Settings(space string) (Settings, error) {
	sp, err := a.Knowledge.Space(space)
	if err != nil {
		return Settings{}, err
	}
	set, err := a.settings.Load().With(sp.Settings)
	if err != nil {
		return set, err
	}
	if a.Instructions != nil {
		text, ok, err := a.Instructions(space)
		if err != nil {
			return set, err
		}
		if ok {
			set.Instructions = strings.ReplaceAll(text, "{kind}", sp.Kind)
		}
	}
	if a.Placement != nil && !set.Fixed && !set.Whole {
		if p, ok := a.Placement(sp.Kind, set); ok {
			set.Placement = p
		}
	}
	if a.Engine != nil && a.Engine.Info().NoParallel != "" { // a question that asks for parallel itself is refused
		set.Placement = percached.Sequential
	}
	return a.withForm(set, sp.Kind), nil
}

// withForm sets the least exact form that was measured for these settings.
func (a *Asker) withForm(set Settings, kind string) Settings {
	if a.Form != nil && set.MaxChanged > 0 {
		set.Form = a.Form(kind, set)
	}
	return set
}

// settingsOf returns the settings of a question.
func (a *Asker) settingsOf(q Question) (Settings, error) {
	ofSpace, err := a.Settings(q.Space)
	if err != nil {
		return ofSpace, err
	}
	set, err := ofSpace.With(q.Settings)
	if err != nil || set.Placement == ofSpace.Placement {
		return set, err
	}
	sp, err := a.Knowledge.Space(q.Space)
	return a.withForm(set, sp.Kind), err
}

// Prompt identifies the text around chunks and question, whatever the placement.
func (s Settings) Prompt() string {
	return digest(promptVersion, s.Instructions, s.Task)
}

// Mark identifies everything that shapes an answer except its documents, as entries of
// the bank carry it. Stored answers with another mark are not served.
func (a *Asker) Mark(s Settings) string {
	return s.mark(a.Engine.Info().Fingerprint, a.Embedder.Info().Fingerprint)
}

func (s Settings) mark(model, embedder string) string {
	shapes := []any{model, embedder, s.Instructions, s.Retrieval, s.K, s.Order, s.Placement, s.MaxTokens}
	if s.Task != "" {
		shapes = append(shapes, s.Task)
		if s.Placement == percached.Parallel {
			shapes = append(shapes, "quoted")
		}
	}
	if s.Whole { // appended only if set, so that older marks stay valid
		shapes = append(shapes, "whole")
	}
	return digest(shapes...)
}

func digest(values ...any) string {
	b, _ := json.Marshal(values) // plain values always marshal
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
