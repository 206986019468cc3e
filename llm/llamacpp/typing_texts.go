package llamacpp

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"maps"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Sequences of the context for typing: a kept text each, one for tokens that move, and one
// for each candidate. Texts with the same beginning share its cells.
const (
	keptTexts       = 4
	movingSeq       = keptTexts
	candidateSeq    = keptTexts + 1
	typingSequences = candidateSeq + percached.MaxAlternatives
)

const (
	// mostRewound is how many tokens a text may lose at its end and still replace what it
	// was. If it loses more, it gets a sequence of its own, and the old one stays: people
	// go back to another document, or undo.
	mostRewound = 16
	// leastMoved is the least number of tokens behind an edit that are moved. Fewer are
	// computed anew in one batch. An edit of more than mostEdited tokens, and any behind
	// mostEdits others, is computed anew with all behind it, so that the error stays as
	// small as it was measured (docs/completion.md).
	leastMoved, mostEdited, mostEdits = 64, 64, 4
)

// A typedText is a sequence of computed tokens.
type typedText struct {
	owner  string
	tokens []int32
	typed  int                // tokens of the prompt; a candidate follows
	exact  int                // tokens that saw all tokens before them
	edits  int                // behind which tokens were moved
	next   map[int]*following // behind the last tokens of the prompt, by position
	used   int
}

// begin chooses the sequence for the tokens of a text. It returns how many of its first
// tokens are equal, and whether those behind an edit can be moved.
func (t *typing) begin(r *typingRun) (seq, same int, move bool) {
	from := -1
	for i := range t.texts {
		k := &t.texts[i]
		if k.owner != r.Owner || !t.rewinds {
			continue
		}
		n := common(k.tokens, r.tokens)
		if !r.Splice {
			n = min(n, k.exact)
		}
		if n > same {
			from, same = i, n
		}
	}
	seq = from
	move = from >= 0 && t.movable(r, from, same)
	if from < 0 || t.texts[from].typed-same > mostRewound && !move {
		seq = t.oldest(from)
		t.forget(seq)
		if from >= 0 {
			t.fork(from, seq, same)
			t.texts[seq] = typedText{owner: r.Owner, tokens: slices.Clone(t.texts[from].tokens[:same]), exact: min(same, t.texts[from].exact)}
			if t.texts[seq].exact < same {
				t.texts[seq].edits = t.texts[from].edits
			}
		}
	}
	t.uses++
	t.texts[seq].owner, t.texts[seq].used = r.Owner, t.uses
	t.makeRoom(seq, len(r.tokens)+r.Alternatives*r.MaxTokens)
	return seq, same, move
}

// common is the number of equal tokens at the start.
func common(a, b []int32) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// oldest returns the sequence used longest ago, not one that is needed.
func (t *typing) oldest(needed int) int {
	best := -1
	for i := range t.texts {
		if i != needed && (best < 0 || t.texts[i].used < t.texts[best].used) {
			best = i
		}
	}
	return best
}

// makeRoom forgets the oldest texts until one of n tokens has room. Shared cells count
// for each of their texts.
func (t *typing) makeRoom(seq, n int) {
	for range t.texts {
		all := n
		for i := range t.texts {
			if i != seq {
				all += len(t.texts[i].tokens)
			}
		}
		if all <= t.size {
			return
		}
		old := -1
		for i := range t.texts {
			if i != seq && len(t.texts[i].tokens) > 0 && (old < 0 || t.texts[i].used < t.texts[old].used) {
				old = i
			}
		}
		t.forget(old)
	}
}

// forget removes a text.
func (t *typing) forget(seq int) {
	t.drop(seq)
	t.texts[seq] = typedText{}
}

// rewind removes the tokens of a text from n on.
func (t *typing) rewind(seq, n int) {
	k := &t.texts[seq]
	if n < len(k.tokens) {
		t.cut(seq, n)
		k.tokens = k.tokens[:n]
	}
	k.typed, k.exact = min(k.typed, n), min(k.exact, n)
	if k.exact == n {
		k.edits = 0
	}
	maps.DeleteFunc(k.next, func(pos int, _ *following) bool { return pos >= n })
}

// edit is a change in a text: tokens [at, old) of the sequence are replaced with tokens
// [at, end) of the new text, and moved tokens follow.
type edit struct{ at, old, end, moved int }

// editOf finds what changed in a text whose first same tokens are equal.
func editOf(k *typedText, tokens []int32, same int) edit {
	old := k.tokens[:k.typed]
	n := 0
	for n < len(old)-same && n < len(tokens)-same && old[len(old)-1-n] == tokens[len(tokens)-1-n] {
		n++
	}
	return edit{same, len(old) - n, len(tokens) - n, n}
}

// movable reports whether the tokens behind an edit can be moved: no other text shares
// their cells.
func (t *typing) movable(r *typingRun, seq, same int) bool {
	if !r.Splice || !t.shifts {
		return false
	}
	k := &t.texts[seq]
	e := editOf(k, r.tokens, same)
	if e.moved < leastMoved || max(e.old, e.end)-e.at > mostEdited || k.edits == mostEdits {
		return false
	}
	for i := range t.texts {
		if o := &t.texts[i]; i != seq && o.owner == k.owner && common(o.tokens, k.tokens) > e.old {
			return false
		}
	}
	return true
}

// splice computes the inserted tokens of an edit and moves those behind it, and returns how
// many tokens of the text are computed then. They are moved by way of another sequence,
// since llama.cpp computes only at the end of one. If the positions are not consecutive
// afterwards, only those before the edit are kept.
func (t *typing) splice(ctx context.Context, r *typingRun, seq, same int) (computed int, err error) {
	k := &t.texts[seq]
	e := editOf(k, r.tokens, same)
	t.rewind(seq, k.typed) // without the candidate
	mem, to := t.memory(), C.llama_seq_id(seq)
	C.llama_memory_seq_cp(mem, to, movingSeq, C.llama_pos(e.old), -1)
	defer t.drop(movingSeq)
	moved, edits := slices.Clone(k.tokens[e.old:]), k.edits
	t.rewind(seq, e.at)
	if e.end != e.old {
		C.llama_memory_seq_add(mem, movingSeq, C.llama_pos(e.old), -1, C.llama_pos(e.end-e.old))
	}
	if err := t.extend(ctx, r, seq, e.at, e.end, 0); err != nil {
		return 0, err
	}
	C.llama_memory_seq_cp(mem, movingSeq, to, -1, -1)
	n := e.end + len(moved)
	if C.llama_memory_seq_pos_min(mem, to) != 0 || int(C.llama_memory_seq_pos_max(mem, to)) != n-1 {
		t.cut(seq, e.end)
		return e.end, nil
	}
	k.tokens, k.edits = append(k.tokens, moved...), edits+1
	r.typed.Tokens.Spliced = len(moved)
	return n, nil
}

// extend computes tokens [from, to) of a text, with scores behind the last few. It ends a
// turn before its last batch if another request waits.
func (t *typing) extend(ctx context.Context, r *typingRun, seq, from, to, scored int) error {
	k := &t.texts[seq]
	exact := k.exact == from
	for from < to {
		end := min(from+t.split, to)
		if end < to && to-end < scored { // the scored tokens are in one batch
			end = to - scored
		}
		if err := t.each(ctx, r.tokens[from:end], seq, from, scored*boolInt(end == to)); err != nil {
			t.cut(seq, from)
			return err
		}
		k.tokens = append(k.tokens[:from], r.tokens[from:end]...)
		if exact {
			k.exact = end
		}
		r.typed.Tokens.Computed += end - from
		if from = end; from < to && r.waits() {
			return errGiveWay
		}
	}
	return nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// each computes tokens at the end of a sequence.
func (t *typing) each(ctx context.Context, tokens []int32, seq, pos, scored int) error {
	at, seqs := make([]int32, len(tokens)), make([]int32, len(tokens))
	for i := range tokens {
		at[i], seqs[i] = int32(pos+i), int32(seq)
	}
	return t.decodeEach(ctx, tokens, at, seqs, scored)
}

// decodeEach computes one batch of tokens of any sequences.
func (t *typing) decodeEach(ctx context.Context, tokens, at, seqs []int32, scored int) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if t.onBatch != nil {
		t.onBatch()
	}
	t.pace.set(t.c)
	rc := C.pc_decode_each(t.c, (*C.llama_token)(&tokens[0]), (*C.llama_pos)(&at[0]), (*C.llama_seq_id)(&seqs[0]), C.int32_t(len(tokens)), C.int32_t(scored))
	return t.batchError(ctx, int(rc), len(tokens), int(at[0]))
}

// scored is a token with the logarithm of its probability.
type scored struct {
	token int32
	log   float32
}

// following is what may come behind a token.
type following struct {
	scores []float32
	best   []scored // the followingKept best; among them those that extend a token are looked for
	norm   float32
}

const followingKept = 256

// first returns at most n of the best.
func (f *following) first(n int) []scored { return f.best[:min(n, len(f.best))] }

// following takes the scores behind the last tokens of the last batch, -1 for the last.
func (t *typing) following(i int) (*following, error) {
	f := &following{scores: t.cache.scores(i)}
	var err error
	f.best, f.norm, err = t.top(f.scores, followingKept)
	return f, err
}

// top returns the n best tokens by their scores, and the norm of the scores.
func (t *typing) top(scores []float32, n int) ([]scored, float32, error) {
	if len(scores) == 0 {
		return nil, 0, fault.New(fault.Internal, opComplete, "there are no scores: %s", takeErrors())
	}
	best, logs := make([]int32, n), make([]float32, n)
	var norm C.float
	got := int(C.pc_best((*C.float)(&scores[0]), C.int32_t(len(scores)), (*C.llama_token)(&best[0]), (*C.float)(&logs[0]), C.int32_t(n), &norm))
	switch {
	case got == C.PC_NOT_FINITE:
		return nil, 0, fault.New(fault.Internal, opComplete, "%w", llm.ErrNotFinite)
	case got < 0:
		return nil, 0, fault.New(fault.Internal, opComplete, "%s", takeErrors())
	}
	out := make([]scored, got)
	for i := range out {
		out[i] = scored{best[i], logs[i]}
	}
	return out, float32(norm), nil
}
