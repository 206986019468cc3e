package selftest

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

const (
	// TestContext is the context of a model under test, in tokens.
	TestContext = 2048
	testAnswer  = 16 // tokens
)

// TypeTest is what came of one K/V type.
type TypeTest struct {
	Type        string `json:"type"`
	OK          bool   `json:"ok"`
	Tokens      int    `json:"tokens"` // compared, of all prompts and answers
	Reason      string `json:"reason,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"` // by the model or this build
	Unstored    string `json:"unstored,omitempty"`    // why there are no slices to test
	NoParallel  string `json:"no_parallel,omitempty"` // why chunks are not computed apart
}

// Run compares cold, warm and warm from disk under the placements that the model allows.
func (t *TypeTest) Run(ctx context.Context, e Engine) error {
	for _, pl := range []percached.Placement{percached.Sequential, percached.Parallel} {
		if t.NoParallel = e.Info().NoParallel; pl == percached.Parallel && t.NoParallel != "" {
			continue
		}
		if err := t.placed(ctx, e, pl); err != nil {
			return err
		}
	}
	t.OK = true
	return nil
}

func (t *TypeTest) placed(ctx context.Context, e Engine, pl percached.Placement) error {
	name := map[percached.Placement]string{percached.Sequential: "sequential", percached.Parallel: "parallel"}[pl]
	// Lengths that are no multiples of anything; words that mean nothing. Where
	// layers have a sliding window, the prompt is longer than it.
	lengths := []int{23, 41, 5}
	if window := e.Info().Window; window > 0 {
		n := min(window, e.Info().Context/2) // a word is three tokens or so
		lengths = []int{n/4 + 3, n/3 + 1, n / 5}
	}
	r := rand.New(rand.NewPCG(5, 0))
	var chunks []string
	for _, n := range lengths {
		chunks = append(chunks, words(r, n))
	}
	p := percached.Prompt{
		Segments:  e.Info().Chat.Ask(words(r, 7), chunks, words(r, 11)),
		Placement: pl, MaxTokens: testAnswer, Logits: true,
	}
	cold, err := e.Generate(ctx, p, nil)
	if err != nil {
		return err
	}
	captured, err := e.Generate(ctx, Capturing(p), nil)
	if err != nil {
		return err
	}
	t.Tokens += cold.Usage.Prompt + cold.Usage.Generated
	if err := same(cold, captured); err != nil {
		return different(name, "cold twice", err)
	}
	slices := captured.Slices[:len(captured.Slices)-1]
	for i, s := range slices {
		if s == nil {
			return fault.New(fault.Unsupported, "percached: doctor", "the engine gave no slice of segment %d", i)
		}
	}
	warm, err := e.Generate(ctx, Restoring(p, slices), nil)
	if err != nil {
		return err
	}
	if err := reused(cold, warm); err != nil {
		return different(name, "warm from memory", err)
	}
	d, err := ToDisk(e.Info().Fingerprint, pl, slices)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.View(func(lent []*percached.Slice) error {
		warm, err := e.Generate(ctx, Restoring(p, lent), nil)
		if err != nil {
			return err
		}
		if err := reused(cold, warm); err != nil {
			return different(name, "warm from disk", err)
		}
		return nil
	})
}

func different(placement, what string, err error) error {
	return fault.New(fault.Internal, "percached: doctor", "%s, %s: %w", placement, what, err)
}

// reused wants the same of less work.
func reused(cold, warm percached.Result) error {
	if warm.Usage.Reused == 0 || warm.Usage.Prompt != cold.Usage.Prompt {
		return fmt.Errorf("%d of %d tokens were reused", warm.Usage.Reused, cold.Usage.Prompt)
	}
	return same(cold, warm)
}

func same(a, b percached.Result) error {
	switch {
	case len(a.Logits) == 0:
		return fmt.Errorf("there are no logits")
	case !SameBits(a.Logits, b.Logits):
		return fmt.Errorf("the logits differ")
	case a.Text != b.Text || a.Usage.Generated != b.Usage.Generated || a.Finish != b.Finish:
		return fmt.Errorf("the answers differ")
	}
	return nil
}
