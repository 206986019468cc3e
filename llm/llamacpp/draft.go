package llamacpp

import (
	"slices"
	"time"

	"github.com/percached/percached"
)

const (
	// Bounds of a batch of an answer: tokens of a draft that it checks, at first and at most.
	leastAhead, firstAhead, mostAhead = 2, 8, 16
	// A stored answer that agreed so far is checked in larger batches, as it often agrees to
	// its end.
	mostStored = 32
	// A draft is found by as many of the latest tokens, at most and at least.
	longestMatch, shortestMatch = 4, 2
	// fewTokens is from how many agreeing tokens on a share of accepted tokens counts.
	fewTokens = 16
)

// text is a text that an answer may repeat.
type text struct {
	source percached.DraftSource
	tokens []int32
}

// drafter proposes how an answer goes on.
type drafter struct {
	whole  [][]int32 // forms of the stored answer that the answer may equal as a whole
	texts  []text    // the best first
	answer []int32   // so far
	ahead  int
	uses   []percached.DraftUse
}

// newDrafter makes the drafter of a plan. A stored answer is also tried with a space before
// it, as models begin.
func newDrafter(p percached.Prompt, steps []step, v *vocabulary) (*drafter, error) {
	d := &drafter{ahead: firstAhead}
	for i, draft := range p.Drafts {
		tokens, err := v.append(nil, percached.Text{Text: draft.Text})
		if err != nil {
			return nil, err
		}
		d.texts = append(d.texts, text{draft.Source, tokens})
		if i > 0 || draft.Source != percached.DraftStored {
			continue
		}
		spaced, err := v.append(nil, percached.Text{Text: " " + draft.Text})
		if err != nil {
			return nil, err
		}
		d.whole = [][]int32{tokens, spaced}
	}
	for i := len(steps) - 1; i >= 0; i-- { // the question last in the prompt, first here
		if steps[i].kind == percached.KindChunk {
			d.texts = append(d.texts, text{percached.DraftPrompt, steps[i].tokens})
		}
	}
	return d, nil
}

// propose returns at most n tokens that may come next, and their source.
func (d *drafter) propose(n int) ([]int32, percached.DraftSource) {
	for _, w := range d.whole {
		if at := len(d.answer); at < len(w) && slices.Equal(w[:at], d.answer) {
			return w[at:min(len(w), at+min(n, mostStored))], percached.DraftStored
		}
	}
	n = min(n, d.ahead)
	for length := min(longestMatch, len(d.answer)); length >= shortestMatch; length-- {
		end := d.answer[len(d.answer)-length:]
		for _, t := range d.texts {
			if at := find(t.tokens, end); at >= 0 {
				return t.tokens[at:min(len(t.tokens), at+n)], t.source
			}
		}
	}
	return nil, ""
}

// find returns where tokens go on behind the last place at which end stands and is followed
// by something; negative: nowhere.
func find(tokens, end []int32) int {
	for at := len(tokens) - 1; at >= len(end); at-- {
		if slices.Equal(tokens[at-len(end):at], end) {
			return at
		}
	}
	return -1
}

// checked takes note of how many proposed tokens the model would have chosen.
func (d *drafter) checked(source percached.DraftSource, proposed, accepted int) {
	i := slices.IndexFunc(d.uses, func(u percached.DraftUse) bool { return u.Source == source })
	if i < 0 {
		i = len(d.uses)
		d.uses = append(d.uses, percached.DraftUse{Source: source})
	}
	u := &d.uses[i]
	u.Batches, u.Proposed, u.Accepted = u.Batches+1, u.Proposed+proposed, u.Accepted+accepted
	switch share := float64(accepted) / float64(proposed); {
	case share > 0.8:
		d.ahead = min(2*d.ahead, mostAhead)
	case share < 0.5:
		d.ahead = max(d.ahead/2, leastAhead)
	}
}

// verified reports whether the whole answer is the stored one.
func (d *drafter) verified() bool {
	return slices.ContainsFunc(d.whole, func(w []int32) bool { return slices.Equal(w, d.answer) })
}

// tempo is what batches of answers take on this machine, and how often drafts agree.
type tempo struct {
	token, more float64 // seconds of a batch of one, and of each further token
	share       map[percached.DraftSource]float64
}

// took takes note of the time of a batch of n tokens.
func (t *tempo) took(n int, d time.Duration) {
	s := d.Seconds()
	if n == 1 {
		t.token = smooth(t.token, s)
	} else if t.token > 0 {
		t.more = smooth(t.more, max(s-t.token, 1e-9)/float64(n-1))
	}
}

func smooth(old, now float64) float64 {
	if old == 0 {
		return now
	}
	return 0.9*old + 0.1*now
}

// agreed takes note of how many proposed tokens of a source were accepted.
func (t *tempo) agreed(source percached.DraftSource, proposed, accepted int) {
	if t.share == nil {
		t.share = map[percached.DraftSource]float64{}
	}
	old, known := t.share[source]
	if !known {
		old = 0.5
	}
	// One token behind the accepted ones was refused, unless all were accepted.
	seen := min(proposed, accepted+1)
	weight := float64(seen) / float64(seen+fewTokens)
	t.share[source] = (1-weight)*old + weight*float64(accepted)/float64(seen)
}

// pays reports whether a batch with n proposed tokens is expected to take less time than
// computing the tokens one by one.
func (t *tempo) pays(source percached.DraftSource, n int) bool {
	p, known := t.share[source]
	if !known || t.token == 0 || t.more == 0 {
		return true // to be measured
	}
	saved, chance := 0.0, 1.0
	for range n {
		chance *= p
		saved += chance
	}
	return saved*t.token > 1.1*float64(n)*t.more
}
