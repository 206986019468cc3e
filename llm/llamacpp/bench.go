package llamacpp

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"time"
	"unsafe"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// SuffixOnly measures the minimum of a warm run: it computes only the prompt's last
// segment, several times, on a context that already holds all others.
func (e *Engine) SuffixOnly(ctx context.Context, p percached.Prompt, runs int) ([]time.Duration, error) {
	if err := checkShape(p, false); err != nil {
		return nil, err
	}
	if _, recurrent := e.model.recurrence(); recurrent {
		return nil, fault.New(fault.Unsupported, opPrompt, "a recurrent model cannot forget the last segment alone")
	}
	tokens, err := e.Tokenize(p.Segments)
	if err != nil {
		return nil, err
	}
	pl, err := newPlan(p, tokens, e.info.Context)
	if err != nil {
		return nil, err
	}
	last := pl.steps[len(pl.steps)-1]
	branch := p.Placement == percached.Parallel && pl.question() == nil
	if len(pl.steps) < 2 || len(last.tokens) == 0 || branch {
		return nil, invalid("it must end in a segment with tokens behind all others")
	}
	if err := pl.checkSlices(&e.checker); err != nil {
		return nil, err
	}
	var took []time.Duration
	err = e.worker.do(ctx, p.Priority, func(ctx context.Context) error {
		r := &run{cache: e.cache, vocab: e.model.vocab, fingerprint: e.info.Fingerprint, begin: time.Now()}
		before := *pl
		before.steps = pl.steps[:len(pl.steps)-1]
		r.plan, r.result.Slices = &before, make([]*percached.Slice, len(p.Segments))
		e.cache.clear(false)
		if err := r.prefill(ctx); err != nil {
			return err
		}
		for range runs {
			begin := time.Now()
			if err := e.cache.compute(ctx, &last, mainSeq, true, nil); err != nil {
				return err
			}
			e.cache.best()
			took = append(took, time.Since(begin))
			e.cache.cut(mainSeq, last.start)
		}
		return nil
	})
	return took, err
}

// BareLoop measures llama.cpp without this package: it prefills tokens in batches of the
// engine's split and decodes greedily, on a separate context with the engine's settings
// but without callbacks.
func (e *Engine) BareLoop(ctx context.Context, tokens []int32, generate int) (prefill, decode time.Duration, err error) {
	if len(tokens) == 0 || len(tokens)+generate > e.info.Context {
		return 0, 0, invalid("%d tokens and %d generated do not fit the context of %d", len(tokens), generate, e.info.Context)
	}
	var t C.pc_bare_times
	err = e.worker.do(ctx, percached.Foreground, func(context.Context) error {
		rc := C.pc_bare(e.model.c, e.params, (*C.llama_token)(unsafe.SliceData(tokens)), C.int32_t(len(tokens)), C.int32_t(generate), &t)
		if rc != 0 {
			return fault.New(fault.Internal, opDecode, "llama.cpp returned %d: %s", int(rc), takeErrors())
		}
		return nil
	})
	return time.Duration(t.prefill_ns), time.Duration(t.decode_ns), err
}
