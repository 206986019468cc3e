package llamacpp

/*
#include "bridge.h"
*/
import "C"

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"unsafe"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/reply"
)

// A typingRun takes one text through the context for typing, in one turn or several.
type typingRun struct {
	percached.Typing
	vocab  *vocabulary
	tokens []int32
	healed string // text of the last token; see options
	emit   func(string) error
	waits  func() bool
	begun  bool
	typed  percached.Typed
}

const (
	// mostAfter is how many bytes behind the cursor end a candidate, and leastAfter how many
	// of them at its end are taken for their beginning.
	mostAfter, leastAfter = 24, 4
)

// An option is a candidate that is being computed.
type option struct {
	first  scored
	at     int   // position of the first token
	strip  int   // bytes of its first token that are typed already
	next   int32 // token that is not computed yet
	tokens []int32
	out    *reply.Writer
	log    float64
	done   bool
}

// turn computes the text, then the candidates.
func (r *typingRun) turn(ctx context.Context, t *typing) error {
	seq, options, err := r.read(ctx, t)
	if errors.Is(err, llm.ErrNotFinite) {
		// The cells of another text may be the cause, even masked.
		others := r.typed.Tokens.Computed < len(r.tokens) || t.uses > 1
		t.wipe()
		if others {
			seq, options, err = r.read(ctx, t)
		}
	}
	if err == nil {
		err = r.write(ctx, t, seq, options)
	}
	if errors.Is(err, llm.ErrNotFinite) {
		t.wipe()
	}
	return err
}

// wipe forgets all texts and overwrites what was computed.
func (t *typing) wipe() {
	t.clear(true)
	t.texts = [keptTexts]typedText{}
}

// read computes the tokens of the text that are not computed yet, and returns the first
// tokens of the candidates.
func (r *typingRun) read(ctx context.Context, t *typing) (seq int, options []option, err error) {
	n, open := len(r.tokens), 1 // tokens whose successors are needed
	if r.healed != "" && t.rewinds {
		open = 2
	}
	seq, from, move := t.begin(r)
	reused := from
	if move {
		if from, err = t.splice(ctx, r, seq, from); err != nil {
			return seq, nil, err
		}
	}
	k := &t.texts[seq]
	t.rewind(seq, from)
	for pos := n - open; pos < n; pos++ { // often known from the key before
		if k.next[pos] == nil {
			from = min(from, pos)
		}
	}
	t.rewind(seq, from)
	if !r.begun {
		r.begun, r.typed.Tokens.Prompt, r.typed.Tokens.Reused = true, n, min(reused, from)
	}
	open = min(open, n-from)
	if err := t.extend(ctx, r, seq, from, n, open); err != nil {
		return seq, nil, err
	}
	k.typed = n
	maps.DeleteFunc(k.next, func(pos int, _ *following) bool { return pos < n-2 })
	for i := range open {
		if k.next == nil {
			k.next = map[int]*following{}
		}
		if k.next[n-open+i], err = t.following(i - open); err != nil {
			return seq, nil, err
		}
	}
	return seq, r.options(k), nil
}

// options returns the first tokens of the candidates, the most probable first.
//
// Where the cursor stands in the middle of a word, or behind a space, the tokens up to it
// are seldom those that the model would use for the whole: it writes " ferry" as one token,
// not as " fer" and "ry". So tokens that extend the last one may stand in its place. All
// probabilities are conditional on what was typed.
func (r *typingRun) options(k *typedText) []option {
	n := len(r.tokens)
	var all []option
	shift, mass := 0.0, 1.0
	if before := k.next[n-2]; before != nil && r.healed != "" {
		last := r.tokens[n-1]
		shift = float64(before.scores[last] - before.norm)
		mass = math.Exp(shift)
		for _, s := range before.best {
			if piece := r.vocab.piece(s.token); s.token != last && len(piece) > len(r.healed) && bytes.HasPrefix(piece, []byte(r.healed)) {
				mass += math.Exp(float64(s.log))
				all = r.addOption(all, option{first: s, at: n - 1, strip: len(r.healed), log: float64(s.log)})
			}
		}
	}
	for _, s := range k.next[n-1].first(r.Alternatives + leastSpare) {
		all = r.addOption(all, option{first: s, at: n, log: float64(s.log) + shift})
	}
	slices.SortStableFunc(all, func(a, b option) int { return cmp.Compare(b.log, a.log) })
	all = all[:min(len(all), r.Alternatives)]
	for len(all) > 1 && all[len(all)-1].log-math.Log(mass) < leastLog {
		all = all[:len(all)-1]
	}
	for i := range all {
		all[i].log -= math.Log(mass)
		if i == 0 {
			all[i].out.Emit = r.emit
		}
	}
	return all
}

// leastSpare is how many more first tokens are looked at than candidates wanted: some are
// left out.
const leastSpare = 8

// leastLog is the logarithm of the least probability of a first token, a thousandth. What
// is less probable helps nobody.
const leastLog = -6.9

// addOption adds an option unless it ends the text or the line at once.
func (r *typingRun) addOption(all []option, o option) []option {
	piece := r.vocab.piece(o.first.token)
	if r.vocab.ends(o.first.token) || len(piece) <= o.strip || piece[o.strip] == '\n' {
		return all
	}
	o.next, o.out = o.first.token, reply.New(nil, []string{"\n", r.after()}, false, nil)
	return append(all, o)
}

// after is the text behind the cursor that ends a candidate.
func (r *typingRun) after() string {
	line, _, _ := strings.Cut(r.After, "\n")
	line = line[:reply.WholeRunes([]byte(line[:min(len(line), mostAfter)]))]
	if len(strings.TrimSpace(line)) < leastAfter {
		return ""
	}
	return line
}

// write computes the candidates side by side, each in a sequence of its own.
func (r *typingRun) write(ctx context.Context, t *typing, seq int, options []option) error {
	for i := range options {
		o := &options[i]
		defer t.drop(candidateSeq + i)
		t.fork(seq, candidateSeq+i, o.at)
		r.typed.Candidates = append(r.typed.Candidates, percached.Candidate{First: o.log})
	}
	for step := 1; ; step++ {
		var tokens, at, seqs []int32
		var open []*option
		for i := range options {
			o := &options[i]
			if err := r.say(o, step); err != nil {
				return err
			}
			if !o.done {
				tokens, at, seqs = append(tokens, o.next), append(at, int32(o.at+step-1)), append(seqs, int32(candidateSeq+i))
				open = append(open, o)
			}
		}
		if len(open) == 0 {
			break
		}
		if err := t.decodeEach(ctx, tokens, at, seqs, len(tokens)); err != nil {
			return err
		}
		for i, o := range open {
			best, _, err := t.top(t.lent(i), 1)
			if err != nil {
				return err
			}
			o.tokens = append(o.tokens, o.next)
			o.next = best[0].token
			if o.done = r.vocab.ends(o.next); !o.done {
				o.log += float64(best[0].log)
			}
		}
	}
	r.keep(t, seq, options)
	return r.end(options)
}

// say adds the next token to the text of an option, which may end with it. It ends early if
// another request waits.
func (r *typingRun) say(o *option, step int) error {
	if o.done {
		return nil
	}
	r.typed.Tokens.Generated++
	piece := r.vocab.piece(o.next)
	if step == 1 {
		piece = piece[o.strip:]
	}
	ended, err := o.out.Write(piece, false)
	o.done = ended != "" || step == r.MaxTokens || r.waits()
	return err
}

// keep lets the text's sequence go on with the first candidate, which may be typed next.
func (r *typingRun) keep(t *typing, seq int, options []option) {
	if len(options) == 0 || !t.rewinds || options[0].at < len(r.tokens) {
		return
	}
	o, k := options[0], &t.texts[seq]
	if n := len(o.tokens); n > 0 {
		C.llama_memory_seq_cp(t.memory(), candidateSeq, C.llama_seq_id(seq), C.llama_pos(o.at), C.llama_pos(o.at+n))
		exact := k.exact == len(k.tokens)
		if k.tokens = append(k.tokens, o.tokens...); exact {
			k.exact = len(k.tokens)
		}
	}
}

// end completes the texts of the candidates, and leaves out those without text.
func (r *typingRun) end(options []option) error {
	all := r.typed.Candidates
	for i := range options {
		o := &options[i]
		rest := o.out.Pending()
		if len(rest) < leastAfter || !strings.HasPrefix(r.after(), rest) {
			if err := o.out.Send(rest); err != nil {
				return err
			}
		}
		all[i].Text, all[i].Log = o.out.Text(), o.log
	}
	r.typed.Candidates = slices.DeleteFunc(all, func(c percached.Candidate) bool { return strings.TrimSpace(c.Text) == "" })
	return nil
}

// lent are the scores behind the i-th token of the last batch, in C's memory.
func (t *typing) lent(i int) []float32 {
	p := C.llama_get_logits_ith(C.pc_llama(t.c), C.int32_t(i))
	if p == nil {
		return nil
	}
	return unsafe.Slice((*float32)(p), t.vocabulary)
}
