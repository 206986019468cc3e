package answer

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

//go:embed prompts/instructions.txt
var instructions string

//go:embed prompts/refusal.txt
var refusal string

// together is why chunks of one text stand behind each other.
const together = "chunks side by side are not one text: set placement to sequential, or leave it out"

// Settings say how questions of a space are answered.
type Settings struct {
	Threshold float64 // similarity from which on a stored answer may be served
	Guard     bool    // the whole gate; without it similarity alone decides, and a hit does no retrieval
	Bank      bool    // stored answers are used and kept
	Tensors   bool    // stored tensors are used and kept
	K         int     // chunks of a prompt
	KRefresh  int     // a new chunk among so many best of a stored question makes its answer stale
	Order     percached.Order
	Placement percached.Placement
	Planes    percached.Planes
	Whole     bool // instructions and chunks are made tokens as one text: no tensors, nothing side by side
	MaxTokens int  // of an answer
	// Retrieval names how chunks are searched: answers over chunks that were
	// found in another way are not served.
	Retrieval string
	// Instructions begin the prompt.
	Instructions string
	// Task, when not empty, is repeated right before the question: small models
	// lose sight of instructions that stand before all chunks.
	Task string
	// Fixed says that somebody chose the placement: none that was found to serve the
	// model as well takes its place.
	Fixed bool
}

// DefaultTask is for models that were not trained on percached's own prompts.
const DefaultTask = "Using only the texts above, answer in one sentence."

// promptVersion counts changes of how a prompt is laid out: what was measured of
// another is measured again.
const promptVersion = 1

// freeTask stands in its place beside instructions that are not percached's own.
const freeTask = "Using only the texts above, answer the question."

// Default is for models that were trained for no placement in particular. The
// threshold belongs to the embedder; of one that names none, this is what was
// measured with all-MiniLM-L6-v2.
func Default() Settings {
	return Settings{
		Threshold: 0.85, Guard: true, Bank: true, Tensors: true, K: 3, KRefresh: 3,
		Order: percached.Relevance, MaxTokens: 256, Instructions: instructions,
	}
}

// Validate joins all that is wrong.
func (s Settings) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(!(s.Threshold >= 0 && s.Threshold <= 1), "threshold: %v is not between 0 and 1", s.Threshold)
	bad(s.K < 1 || s.K > 64, "k: %d is not between 1 and 64", s.K)
	bad(s.KRefresh < 1 || s.KRefresh > 64, "k_refresh: %d is not between 1 and 64", s.KRefresh)
	bad(s.MaxTokens < 1, "max_tokens: %d is not positive", s.MaxTokens)
	bad(s.Placement > percached.Parallel, "placement: %d is unknown", s.Placement)
	bad(s.Planes > percached.QKV, "planes: %d are unknown", s.Planes)
	bad(s.Whole && s.Tensors, "whole: of one text no tensors are kept")
	bad(s.Whole && s.Placement == percached.Parallel, "whole: %s", together)
	bad(!s.Order.Known(), "order: %q is neither relevance nor canonical", s.Order)
	return errors.Join(errs...)
}

// With lays over s what a space or a question wants otherwise, which may be wrong.
// In one text there are no tensors, and chunks stand behind each other, whatever the
// service has; who asks for one text and for chunks side by side contradicts himself.
func (s Settings) With(w percached.Settings) (Settings, error) {
	over(&s.Threshold, w.Threshold)
	over(&s.Guard, w.Guard)
	over(&s.Bank, w.Bank)
	over(&s.Tensors, w.Tensors)
	over(&s.K, w.K)
	over(&s.Order, w.Order)
	over(&s.Placement, w.Placement)
	s.Fixed = s.Fixed || w.Placement != nil
	over(&s.Planes, w.Planes)
	over(&s.Whole, w.Whole)
	if s.Whole {
		s.Tensors = false
		if w.Placement == nil {
			s.Placement = percached.Sequential
		}
	}
	err := s.Validate()
	if l := w.TensorLimit; l != nil && *l < 0 { // the tree keeps it
		err = errors.Join(err, fmt.Errorf("tensor_limit: %d is negative", *l))
	}
	if err != nil {
		return s, fault.New(fault.Invalid, "answer.Settings", "settings: %w", err)
	}
	return s, nil
}

func over[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}

// Prompt names what stands around chunks and questions, whatever the placement.
func (s Settings) Prompt() string {
	b, _ := json.Marshal([]any{promptVersion, s.Instructions, s.Task}) // plain values always marshal
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}

// Mark names what shapes an answer under these settings, as entries of the bank
// bear it.
func (a *Asker) Mark(s Settings) string {
	return s.mark(a.Engine.Info().Fingerprint, a.Embedder.Info().Fingerprint)
}

// mark names all that shapes an answer but its documents: stored answers of
// another mark are not served.
func (s Settings) mark(model, embedder string) string {
	shapes := []any{model, embedder, s.Instructions, s.Retrieval, s.K, s.Order, s.Placement, s.MaxTokens}
	if s.Task != "" {
		shapes = append(shapes, s.Task)
		if s.Placement == percached.Parallel {
			shapes = append(shapes, "quoted")
		}
	}
	if s.Whole { // else the mark is what it was before there was such a setting
		shapes = append(shapes, "whole")
	}
	b, _ := json.Marshal(shapes) // plain values always marshal
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16])
}
