package llamacpp

import (
	"slices"
	"time"

	"github.com/percached/percached"
)

const (
	// How many tokens of a draft a batch checks at most. A stored answer may be longer: it
	// often agrees to its end.
	mostAhead, mostStored = 16, 32
	// A draft is found by as many of the latest tokens, at most and at least.
	longestMatch, shortestMatch = 6, 2
)

// text is a text that an answer may repeat.
type text struct {
	source percached.DraftSource
	tokens []int32
}

// drafter proposes how an answer goes on.
type drafter struct {
	whole  [][]int32 // forms of the stored answer that the answer may equal as a whole
	texts  []text
	answer []int32 // so far
	uses   []percached.DraftUse
}

// proposal is how an answer may go on.
type proposal struct {
	source percached.DraftSource
	tokens []int32
	match  int // how many of the latest tokens agree with its text, up to longestMatch
}

// newDrafter makes the drafter of a plan. A stored answer is also tried with a space before
// it, as models begin.
func newDrafter(p percached.Prompt, steps []step, v *vocabulary) (*drafter, error) {
	d := &drafter{}
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

// propose returns the tokens that save most time if they are checked with the next one; at
// most n. None are proposed where no draft is expected to save time.
func (d *drafter) propose(n int, t *tempo) proposal {
	var best proposal
	var most float64
	consider := func(p proposal, bound int) {
		p.tokens = p.tokens[:min(len(p.tokens), n, bound)]
		ahead, saved := t.worth(p)
		if saved > most {
			p.tokens = p.tokens[:ahead]
			best, most = p, saved
		}
	}
	at := len(d.answer)
	for _, w := range d.whole {
		if at < len(w) && slices.Equal(w[:at], d.answer) {
			consider(proposal{percached.DraftStored, w[at:], min(at, longestMatch)}, mostStored)
			break
		}
	}
	for _, x := range d.texts {
		for length := min(longestMatch, at); length >= shortestMatch; length-- {
			if i := find(x.tokens, d.answer[at-length:]); i >= 0 {
				consider(proposal{x.source, x.tokens[i:], length}, mostAhead)
				break
			}
		}
	}
	return best
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
func (d *drafter) checked(p proposal, accepted int) {
	i := slices.IndexFunc(d.uses, func(u percached.DraftUse) bool { return u.Source == p.source })
	if i < 0 {
		i = len(d.uses)
		d.uses = append(d.uses, percached.DraftUse{Source: p.source})
	}
	u := &d.uses[i]
	u.Batches, u.Proposed, u.Accepted = u.Batches+1, u.Proposed+len(p.tokens), u.Accepted+accepted
}

// verified reports whether the whole answer is the stored one.
func (d *drafter) verified() bool {
	return slices.ContainsFunc(d.whole, func(w []int32) bool { return slices.Equal(w, d.answer) })
}

// tempo is what batches of answers take on this machine, and how often drafts agree.
type tempo struct {
	token, more float64 // seconds of a batch of one, and of each further token; 0: unknown
	agree       map[percached.DraftSource]*[longestMatch + 1]tally
	all         bool // check all of a draft, at any cost; for tests
}

// tally counts how often the next token of a draft agreed, by how many tokens before it did.
type tally struct{ hits, seen float64 }

const (
	// What a further token costs, in tokens: until it is measured, and at least.
	moreAtFirst, leastMore = 0.4, 0.02
	// A draft is checked if it is expected to save this many times its cost.
	leastGain = 1.2
	// expectedWeight is how many observations the expected shares count for, and
	// mostObserved how many are remembered.
	expectedWeight, mostObserved = 8, 64
	// A tally fades by this factor when its draft is not worth checking, so that the draft
	// is tried again after some hundred tokens: the documents may have changed.
	fading = 0.99
)

// expectedShare is how often the next token of a draft agrees after so many that did.
// Measured on answers of Gemma-3-270M and SmolLM2 to questions of LoCoMo. The first is that
// of a stored answer's first token.
var expectedShare = [longestMatch + 1]float64{0.5, 0.5, 0.35, 0.5, 0.6, 0.65, 0.75}

// took takes note of the time of a batch of n tokens. A program that takes the processor
// for a moment must not stop drafts for long.
func (t *tempo) took(n int, d time.Duration) {
	s := d.Seconds()
	if n == 1 {
		t.token = smooth(t.token, s)
	} else if t.token > 0 {
		t.more = smooth(t.more, max((s-t.token)/float64(n-1), leastMore*t.token))
	}
}

func smooth(old, now float64) float64 {
	if old == 0 {
		return now
	}
	return 0.9*old + 0.1*min(now, 2*old)
}

func (t *tempo) tally(source percached.DraftSource, match int) *tally {
	if t.agree == nil {
		t.agree = map[percached.DraftSource]*[longestMatch + 1]tally{}
	}
	if t.agree[source] == nil {
		t.agree[source] = new([longestMatch + 1]tally)
	}
	return &t.agree[source][min(match, longestMatch)]
}

func (t *tempo) share(source percached.DraftSource, match int) float64 {
	c := t.tally(source, match)
	return (expectedShare[min(match, longestMatch)]*expectedWeight + c.hits) / (expectedWeight + c.seen)
}

// agreed takes note of how many tokens of a proposal were accepted.
func (t *tempo) agreed(p proposal, accepted int) {
	for i := range min(len(p.tokens), accepted+1) { // behind a refused token nothing was tried
		c := t.tally(p.source, p.match+i)
		c.seen++
		if i < accepted {
			c.hits++
		}
		if c.seen > mostObserved {
			c.hits, c.seen = c.hits/2, c.seen/2
		}
	}
}

// worth returns how many tokens of a proposal to check, and how many seconds that is
// expected to save.
func (t *tempo) worth(p proposal) (ahead int, saved float64) {
	if t.all {
		return len(p.tokens), float64(len(p.tokens))
	}
	token, more := t.token, t.more
	if token == 0 {
		token = 1
	}
	if more == 0 {
		more = moreAtFirst * token
	}
	chance, sum := 1.0, 0.0
	for i := range p.tokens {
		chance *= t.share(p.source, p.match+i)
		sum += chance*token - leastGain*more
		if sum > saved {
			ahead, saved = i+1, sum
		}
	}
	if ahead == 0 && len(p.tokens) > 0 {
		c := t.tally(p.source, p.match)
		c.hits, c.seen = fading*c.hits, fading*c.seen
	}
	return ahead, saved
}
