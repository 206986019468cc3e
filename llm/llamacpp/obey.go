package llamacpp

import (
	"context"
	"math"
	"sync"

	"github.com/percached/percached/internal/base/fault"
)

// fewTries is how many refused tokens are replaced one by one. Behind them the grammar is
// asked about every token, which takes longer but has an end.
const fewTries = 8

// noChance is the score of a token that is never chosen.
func noChance() float32 { return float32(math.Inf(-1)) }

// allowed returns a token that the grammar allows, and tells the grammar: t, or else one
// that pick chooses once the refused tokens have no chance.
func (r *run) allowed(ctx context.Context, t int32, pick func([]float32) int32) (int32, error) {
	texts := r.vocab.tokenTexts()
	if r.accept(texts, t) {
		return t, nil
	}
	logits, err := r.cache.logits()
	if err != nil {
		return 0, err
	}
	first, end := r.grammar.First(), r.grammar.MayEnd()
	for t := range logits {
		text, ends := texts.at(int32(t))
		if ends && !end || !ends && (len(text) == 0 || !first[text[0]]) {
			logits[t] = noChance()
		}
	}
	for try := 0; ; try++ {
		logits[t] = noChance()
		if try == fewTries {
			if err := r.mask(ctx, texts, logits); err != nil {
				return 0, err
			}
		}
		if t = pick(logits); t < 0 {
			break
		}
		if r.accept(texts, t) {
			return t, nil
		}
	}
	if r.grammar.Over() {
		return 0, invalid("the answer has too many readings in the grammar: its rules are ambiguous")
	}
	return 0, fault.New(fault.Unsupported, opDecode, "no token of the model continues the answer as the grammar demands")
}

// accept reports whether the grammar allows a token, and tells it.
func (r *run) accept(texts *tokenTexts, t int32) bool {
	text, ends := texts.at(t)
	if ends {
		return r.grammar.MayEnd()
	}
	return r.grammar.Accept(text)
}

// mask takes the chance of every token that the grammar does not allow. Those that end the
// answer were looked at before.
func (r *run) mask(ctx context.Context, texts *tokenTexts, logits []float32) error {
	for t, l := range logits {
		if t%16 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if text, ends := texts.at(int32(t)); l != noChance() && !ends && !r.grammar.Allows(text) {
			logits[t] = noChance()
		}
	}
	return nil
}

// tokenTexts are what the tokens of an answer write, one after another, and where each
// ends. Control tokens and those that end an answer write nothing.
type tokenTexts struct {
	once sync.Once
	all  []byte
	to   []int32
	ends []bool // of the answer
}

// tokenTexts makes the texts when a grammar first asks for them.
func (v *vocabulary) tokenTexts() *tokenTexts {
	x := &v.texts
	x.once.Do(func() {
		x.to, x.ends = make([]int32, v.size), make([]bool, v.size)
		for t := range int32(v.size) {
			x.ends[t] = v.ends(t)
			if text, control := v.written(t); !control && !x.ends[t] {
				x.all = append(x.all, text...)
			}
			x.to[t] = int32(len(x.all))
		}
	})
	return x
}

func (x *tokenTexts) at(t int32) (text []byte, ends bool) {
	from := int32(0)
	if t > 0 {
		from = x.to[t-1]
	}
	return x.all[from:x.to[t]], x.ends[t]
}
