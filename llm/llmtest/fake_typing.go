package llmtest

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

var _ llm.Typist = (*Fake)(nil)

// Complete implements llm.Typist. The candidates depend on the notes and the text.
func (f *Fake) Complete(ctx context.Context, t percached.Typing, emit func(string) error) (percached.Typed, error) {
	const op = "llmtest.Complete"
	if err := f.begin(); err != nil {
		return percached.Typed{}, fault.Wrap(op, err)
	}
	defer f.calls.Done()
	switch {
	case t.Alternatives < 1 || t.Alternatives > percached.MaxAlternatives, t.MaxTokens < 1 || t.MaxTokens > percached.MaxTyped:
		return percached.Typed{}, fault.New(fault.Invalid, op, "%d alternatives of %d tokens", t.Alternatives, t.MaxTokens)
	case t.Before == "":
		return percached.Typed{}, fault.New(fault.Invalid, op, "there is no text before the cursor")
	case ctx.Err() != nil:
		return percached.Typed{}, fault.Wrap(op, ctx.Err())
	}
	turn, err := f.opts.Gate.enter(ctx, f.closed, percached.Foreground, f.opts.Queue, func() { f.tell(Step{Op: OpQueue}) })
	if err != nil {
		return percached.Typed{}, fault.Wrap(op, err)
	}
	defer f.opts.Gate.leave()
	tokens := plain(nil, strings.Join(t.Notes, "")+t.Before)
	f.tell(Step{Op: OpDecode, Tokens: t.MaxTokens})
	if err := f.stop(ctx, turn); err != nil {
		return percached.Typed{}, fault.Wrap(op, err)
	}
	typed := candidates(tokens, t)
	typed.Tokens.Prompt, typed.Tokens.Reused = len(tokens), min(f.keepTyped(t.Owner, tokens), len(tokens)-1)
	typed.Tokens.Computed = len(tokens) - typed.Tokens.Reused
	if emit != nil {
		err = emit(typed.Candidates[0].Text)
	}
	return typed, fault.Wrap(op, err)
}

func candidates(tokens []int32, t percached.Typing) (typed percached.Typed) {
	s := state(0)
	for _, id := range tokens {
		s = state(mix(uint64(s), uint64(id)))
	}
	first := scores(s)
	order := make([]int, len(first))
	sum := 0.0
	for i := range order {
		order[i] = i
		sum += math.Exp(float64(first[i]))
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(math.Copysign(1, float64(first[b]-first[a]))) })
	for _, w := range order[:t.Alternatives] {
		c := percached.Candidate{Text: " " + words[w], First: float64(first[w]) - math.Log(sum)}
		c.Log = c.First
		next := state(mix(uint64(s), uint64(w)))
		for range t.MaxTokens - 1 {
			n := pick(next, percached.Sampling{}, 0)
			c.Text += " " + words[n]
			c.Log -= 1
			next = state(mix(uint64(next), uint64(n)))
		}
		typed.Candidates = append(typed.Candidates, c)
		typed.Tokens.Generated += t.MaxTokens
	}
	return typed
}

// keepTyped keeps a text, and returns how much of it was kept before.
func (f *Fake) keepTyped(owner string, tokens []int32) int {
	f.typedMu.Lock()
	defer f.typedMu.Unlock()
	n, old := 0, f.typed[owner]
	for n < len(old) && n < len(tokens) && old[n] == tokens[n] {
		n++
	}
	if f.typed == nil {
		f.typed = map[string][]int32{}
	}
	f.typed[owner] = tokens
	return n
}

// ForgetTyped implements llm.Typist.
func (f *Fake) ForgetTyped() {
	f.typedMu.Lock()
	defer f.typedMu.Unlock()
	f.typed = nil
}

// TypedBytes implements llm.Typist.
func (f *Fake) TypedBytes() (n int64) {
	f.typedMu.Lock()
	defer f.typedMu.Unlock()
	for _, tokens := range f.typed {
		n += 4 * int64(len(tokens))
	}
	return n
}
