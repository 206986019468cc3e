package llamacpp

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"errors"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/llm"
)

var _ llm.Typist = (*Engine)(nil)

const (
	opComplete = "llamacpp: complete"
	// typingContext is how many tokens the context for typing holds, of all texts together.
	typingContext = 2048
	// typingIdle is how long texts are kept after the last request.
	typingIdle = 5 * time.Minute
)

// A typing is the context for texts that are being typed. Like the engine's other context
// it is used on the worker's goroutine alone.
type typing struct {
	*cache
	size    int  // in tokens
	rewinds bool // the end of a sequence can be removed
	shifts  bool // tokens can be moved to other positions
	texts   [keptTexts]typedText
	uses    int
	used    time.Time
}

// errGiveWay ends a turn early, because a request waits.
var errGiveWay = errors.New("another request waits")

// Complete continues a text. While a question waits, it computes one batch a turn.
func (e *Engine) Complete(ctx context.Context, t percached.Typing, emit func(string) error) (percached.Typed, error) {
	switch {
	case t.Alternatives < 1 || t.Alternatives > percached.MaxAlternatives:
		return percached.Typed{}, fault.New(fault.Invalid, opComplete, "alternatives must be between 1 and %d, not %d", percached.MaxAlternatives, t.Alternatives)
	case t.MaxTokens < 1 || t.MaxTokens > percached.MaxTyped:
		return percached.Typed{}, fault.New(fault.Invalid, opComplete, "max tokens must be between 1 and %d, not %d", percached.MaxTyped, t.MaxTokens)
	}
	size := min(typingContext, e.info.Context)
	tokens, healed, err := e.typedTokens(t, size)
	if err != nil {
		return percached.Typed{}, err
	}
	r := &typingRun{Typing: t, vocab: e.model.vocab, tokens: tokens, healed: healed, emit: emit, waits: e.worker.waits}
	for {
		err = e.worker.do(ctx, percached.Foreground, func(ctx context.Context) error {
			if e.forget.Load() {
				e.closeTyping()
			}
			if err := e.openTyping(size); err != nil {
				return err
			}
			defer e.usedTyping()
			return r.turn(ctx, e.typing)
		})
		if !errors.Is(err, errGiveWay) {
			return r.typed, err
		}
	}
}

// typedTokens returns the tokens of the prompt, and the text of the last one if the
// candidates may have another in its place.
func (e *Engine) typedTokens(t percached.Typing, size int) (tokens []int32, healed string, err error) {
	segs := []percached.Segment{{}}
	for _, s := range append([]string{t.Before}, t.Notes...) {
		segs = append(segs, percached.Segment{Texts: []percached.Text{{Text: s}}})
	}
	parts, err := e.Tokenize(segs)
	if err != nil {
		return nil, "", err
	}
	tokens, text := parts[0], cutTyped(parts[1], size/2)
	if len(text) == 0 {
		return nil, "", fault.New(fault.Invalid, opComplete, "there is no text before the cursor")
	}
	for _, note := range parts[2:] {
		if len(tokens)+len(note) <= size/4 {
			tokens = append(tokens, note...)
		}
	}
	tokens = append(tokens, text...)
	if t.Alternatives*t.MaxTokens > size-len(tokens) {
		return nil, "", fault.New(fault.Invalid, opComplete, "%d candidates of %d tokens do not fit the model's context of %d", t.Alternatives, t.MaxTokens, size)
	}
	if len(tokens) > 1 && len(text) > 0 {
		healed = string(e.model.vocab.piece(text[len(text)-1]))
	}
	return tokens, healed, nil
}

// cutTyped returns the end of a text of at most n tokens. It begins at the same token while
// the text grows by a quarter of that, so that what was computed fits.
func cutTyped(text []int32, n int) []int32 {
	step := max(1, n/4)
	if over := len(text) - n; over > 0 {
		return text[(over+step-1)/step*step:]
	}
	return text
}

// openTyping opens the context for typing if there is none.
func (e *Engine) openTyping(size int) error {
	if e.typing != nil {
		return nil
	}
	c := e.config
	c.Context, c.Split = size, max(c.Split, percached.MaxAlternatives)
	kv, scratch := contextBytes(e.model.file, c)
	memory := c.memory
	if memory == nil {
		memory = machine.Available
	}
	if have, want := memory(), kv+scratch; have >= 0 && want > have {
		return fault.New(fault.Unavailable, opComplete, "typing needs about %d MiB of memory and %d are free", want>>20, have>>20)
	}
	split := max(e.cache.split, percached.MaxAlternatives) // a batch has a token of each candidate
	p := e.params
	p.n_ctx, p.n_seq_max = C.uint32_t(size), typingSequences
	p.n_batch, p.n_ubatch = C.uint32_t(split), C.uint32_t(split)
	k := &cache{vocabulary: e.cache.vocabulary, split: split, pace: newPace(c.Threads, c.cores), onBatch: e.cache.onBatch}
	c.cores.during(func() { k.c = C.pc_context_new(e.model.c, p, e.model.flags, false, C.bool(e.model.fetch)) })
	if k.c == nil {
		return fault.New(fault.Unavailable, opComplete, "llama.cpp makes no context for typing: %s", takeErrors())
	}
	_, recurrent := e.model.recurrence()
	t := &typing{cache: k, size: size, rewinds: !recurrent}
	switch C.llama_model_rope_type(e.model.c) {
	case C.LLAMA_ROPE_TYPE_NORM, C.LLAMA_ROPE_TYPE_NEOX: // one axis
		t.shifts = t.rewinds && bool(C.llama_memory_can_shift(t.memory()))
	}
	e.typing = t
	e.typed.Store(kv + scratch)
	return nil
}

// usedTyping notes that somebody types.
func (e *Engine) usedTyping() {
	if e.typing != nil {
		e.typing.used = time.Now()
		e.typingEnd.Reset(typingIdle)
	}
}

// endTyping closes the context for typing if nobody used it for long, or if its texts are
// to be forgotten.
func (e *Engine) endTyping() {
	err := e.worker.do(context.Background(), percached.Background, func(context.Context) error {
		if e.forget.Load() || e.typing != nil && time.Since(e.typing.used) >= typingIdle {
			e.closeTyping()
		}
		return nil
	})
	if fault.KindOf(err) == fault.Overloaded {
		e.typingEnd.Reset(time.Second)
	}
}

// ForgetTyped makes all texts unreachable at once, and closes their context as soon as
// the worker is free.
func (e *Engine) ForgetTyped() {
	e.forget.Store(true)
	e.typingEnd.Reset(0)
}

// closeTyping wipes and frees the context for typing, if there is one.
func (e *Engine) closeTyping() {
	e.forget.Store(false)
	if t := e.typing; t != nil {
		t.clear(true)
		C.pc_context_free(t.c)
		e.typing = nil
		e.typed.Store(0)
	}
}

// TypedBytes is the memory of the context for typing.
func (e *Engine) TypedBytes() int64 { return e.typed.Load() }

func (t *typing) memory() C.llama_memory_t { return C.llama_get_memory(C.pc_llama(t.c)) }
