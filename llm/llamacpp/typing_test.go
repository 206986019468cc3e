package llamacpp

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
)

// words is a text of n words.
func words(seed uint64, n int) string {
	r := newNumbers(seed)
	all := make([]string, n)
	for i := range all {
		for range 1 + r.IntN(7) {
			all[i] += string(rune('a' + r.IntN(26)))
		}
	}
	return strings.Join(all, " ")
}

func complete(t *testing.T, e *Engine, text percached.Typing) percached.Typed {
	t.Helper()
	if text.Alternatives == 0 {
		text.Alternatives, text.MaxTokens = 3, 6
	}
	got, err := e.Complete(t.Context(), text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// near: the same candidates, with the same probabilities but for rounding.
func near(t *testing.T, what string, want, got percached.Typed) {
	t.Helper()
	same := len(want.Candidates) == len(got.Candidates)
	for i := 0; same && i < len(want.Candidates); i++ {
		a, b := want.Candidates[i], got.Candidates[i]
		same = a.Text == b.Text && math.Abs(a.Log-b.Log) < 0.02 && math.Abs(a.First-b.First) < 0.01
	}
	if !same {
		t.Errorf("%s: %+v, want %+v", what, got.Candidates, want.Candidates)
	}
}

// Whatever was typed before, the candidates are those of a cold engine, and only tokens
// behind the first change are computed.
func TestTypingReuses(t *testing.T) {
	base, other := words(1, 60), words(2, 60)
	note := []string{words(3, 20) + "\n\n"}
	steps := []struct {
		what string
		text percached.Typing
		most int // tokens computed
	}{
		{"first", percached.Typing{Before: base}, 1000},
		{"next key", percached.Typing{Before: base + "a"}, 3},
		{"next word", percached.Typing{Before: base + "a big"}, 8},
		{"backspace", percached.Typing{Before: base + "a"}, 3},
		{"another text", percached.Typing{Before: other}, 1000},
		{"back to the first", percached.Typing{Before: base + "a"}, 3},
		{"on with the other", percached.Typing{Before: other + " x"}, 4},
		{"an edit", percached.Typing{Before: base[:len(base)/2] + "zq" + base[len(base)/2:]}, 600},
		{"undone", percached.Typing{Before: base + "a"}, 3},
		{"with a note", percached.Typing{Before: base, Notes: note}, 1000},
		{"again with the note", percached.Typing{Before: base + "a", Notes: note}, 3},
	}
	for _, o := range []gguf.RandomOptions{{Architecture: "llama", Tokenizer: "spm"}, {Architecture: "qwen2"}, {Architecture: "gemma3"}} {
		t.Run(o.Architecture, func(t *testing.T) {
			o.Seed = 3
			e, cold := open(t, o, nil), open(t, o, nil)
			for _, s := range steps {
				got := complete(t, e, s.text)
				if n := got.Tokens; n.Computed > s.most || n.Reused+n.Computed < n.Prompt {
					t.Errorf("%s: %+v, want at most %d computed", s.what, n, s.most)
				}
				cold.ForgetTyped()
				near(t, s.what, complete(t, cold, s.text), got)
			}
		})
	}
}

// A recurrent model computes all of each text.
func TestTypingRecurrent(t *testing.T) {
	for name, file := range recurrentModels() {
		t.Run(name, func(t *testing.T) {
			e, err := openFile(t, file(t), nil)
			if err != nil {
				t.Fatal(err)
			}
			text := percached.Typing{Before: words(1, 20), Splice: true}
			first := complete(t, e, text)
			complete(t, e, percached.Typing{Before: text.Before + " more", Splice: true})
			again := complete(t, e, text)
			near(t, "again", first, again)
			if again.Tokens.Reused != 0 || again.Tokens.Spliced != 0 {
				t.Errorf("reused %+v", again.Tokens)
			}
		})
	}
}

// Tokens of a model with one layer depend on nothing before them, so that moving them is
// exact: the rotation of their keys must be right.
func TestSpliceIsExactInOneLayer(t *testing.T) {
	o := gguf.RandomOptions{Seed: 5}
	f, err := gguf.Open(randomModel(t, o))
	if err != nil {
		t.Fatal(err)
	}
	path := remade(t, o, map[string]any{"llama.block_count": uint32(1)}, func(b *gguf.Builder) {
		for _, x := range f.Tensors() {
			if strings.HasPrefix(x.Name, "blk.") && !strings.HasPrefix(x.Name, "blk.0.") {
				continue
			}
			values, err := f.Values(x.Name)
			if err != nil {
				t.Fatal(err)
			}
			b.Tensor(x.Name, gguf.F32, x.Dims, gguf.FromFloats(values))
		}
	})
	e, err := openFile(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	cold, err := openFile(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	base := words(1, 50)
	at := strings.Index(base[40:], " ") + 40
	for _, s := range []struct{ what, text string }{
		{"inserted", base[:at] + " new words" + base[at:]},
		{"replaced", base[:at] + " other words here" + base[at:]},
		{"removed", base},
	} {
		e.ForgetTyped()
		complete(t, e, percached.Typing{Before: base[:at] + " old text" + base[at:], Splice: true})
		got := complete(t, e, percached.Typing{Before: s.text, Splice: true})
		if got.Tokens.Spliced < 64 || got.Tokens.Computed > 40 {
			t.Errorf("%s: %+v", s.what, got.Tokens)
		}
		near(t, s.what, complete(t, cold, percached.Typing{Before: s.text}), got)
		// What was moved is not reused where that is not allowed.
		exact := complete(t, e, percached.Typing{Before: s.text + " x"})
		if exact.Tokens.Spliced != 0 || exact.Tokens.Reused > got.Tokens.Prompt-got.Tokens.Spliced {
			t.Errorf("%s, exactly: %+v", s.what, exact.Tokens)
		}
	}
}

// Behind some edits all is computed anew, and so it is behind a large one.
func TestSpliceIsBounded(t *testing.T) {
	e := open(t, gguf.RandomOptions{Seed: 3}, nil)
	text := []string{words(1, 5), words(2, 60)}
	typed := func() percached.TypedTokens {
		return complete(t, e, percached.Typing{Before: strings.Join(text, " "), Splice: true}).Tokens
	}
	typed()
	for i := range mostEdits {
		text[0] += " x"
		if n := typed(); n.Spliced == 0 {
			t.Fatalf("edit %d: %+v", i, n)
		}
	}
	text[0] += " x"
	if n := typed(); n.Spliced > 0 {
		t.Errorf("one edit more: %+v", n)
	}
	text[0] += " x"
	if n := typed(); n.Spliced == 0 {
		t.Errorf("behind a text that is computed anew: %+v", n)
	}
	text[0] += " " + words(4, mostEdited)
	if n := typed(); n.Spliced > 0 {
		t.Errorf("a large edit: %+v", n)
	}
}

// A long text is cut where that changes seldom, and notes without room are left out.
func TestTypingLong(t *testing.T) {
	e := open(t, gguf.RandomOptions{Seed: 3}, nil)
	text := percached.Typing{Before: words(1, 3000), Notes: []string{words(4, 2000), words(5, 10)}}
	first := complete(t, e, text)
	text.Before += " and"
	next := complete(t, e, text)
	if n := next.Tokens; n.Prompt > 1600 || n.Computed > 8 {
		t.Errorf("first %+v, next %+v", first.Tokens, n)
	}
}

// A run that is cancelled in any of its batches leaves nothing wrong behind.
func TestTypingCancelled(t *testing.T) {
	e := open(t, gguf.RandomOptions{Seed: 3}, nil)
	text := percached.Typing{Before: words(1, 60)}
	want := complete(t, e, text)
	var cancel context.CancelFunc
	batches := 0
	e.ForgetTyped()
	e.cache.onBatch = func() {
		if batches--; batches == 0 {
			cancel()
		}
	}
	for at := 1; ; at++ {
		var ctx context.Context
		ctx, cancel = context.WithCancel(t.Context())
		batches = at
		text.Alternatives, text.MaxTokens = 3, 6
		if at%2 == 0 {
			e.ForgetTyped()
		}
		got, err := e.Complete(ctx, text, nil)
		ended := ctx.Err() == nil
		cancel()
		if ended {
			near(t, fmt.Sprint(at), want, got)
			break
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("%d: %v", at, err)
		}
		batches = 0
		near(t, fmt.Sprint("after ", at), want, complete(t, e, text))
	}
}

// A question does not wait for a long text.
func TestTypingGivesWay(t *testing.T) {
	e := open(t, gguf.RandomOptions{Seed: 3}, nil)
	text := percached.Typing{Before: words(1, 300)}
	want := complete(t, e, text)
	e.ForgetTyped()
	var order []string // written on the worker's goroutine, and read after it
	p := newNumbers(9).prompt(percached.Sequential, 10, 10)
	asked, batches := make(chan error, 1), 0
	e.cache.onBatch = func() {
		if batches++; batches > 1 {
			return
		}
		go func() {
			_, err := e.Generate(t.Context(), p, func(string) error {
				order = append(order, "question")
				return nil
			})
			asked <- err
		}()
		for !e.worker.waits() { // until the question is in line
			runtime.Gosched()
		}
	}
	got, err := e.Complete(t.Context(), percached.Typing{Before: text.Before, Alternatives: 3, MaxTokens: 6}, func(string) error {
		order = append(order, "text")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	if order[0] != "question" {
		t.Errorf("the order is %v", order)
	}
	near(t, "in several turns", want, got)
}

// Values that are not numbers are not kept, and harm no other text.
func TestTypingDamaged(t *testing.T) {
	e, err := openFile(t, damagedRow(t, tiny, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	bad := percached.Typing{Before: string(e.model.vocab.piece(damagedToken)) + ", and more of it", Alternatives: 3, MaxTokens: 6}
	if tokens, _, err := e.typedTokens(bad, 2048); err != nil || !slices.Contains(tokens, damagedToken) {
		t.Fatal(tokens, err)
	}
	good := percached.Typing{Before: words(1, 40)}
	want := complete(t, e, good)
	if _, err = e.Complete(t.Context(), bad, nil); !errors.Is(err, llm.ErrNotFinite) {
		t.Fatalf("%q: %v", bad.Before, err)
	}
	near(t, "afterwards", want, complete(t, e, good))
}

// Without memory there is no context for typing, and questions go on.
func TestTypingNeedsMemory(t *testing.T) {
	free := int64(-1)
	e := open(t, gguf.RandomOptions{Seed: 3}, func(c *Config) { c.memory = func() int64 { return free } })
	free = 1 << 10
	_, err := e.Complete(t.Context(), percached.Typing{Before: "text", Alternatives: 1, MaxTokens: 1}, nil)
	if fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	free = -1
	complete(t, e, percached.Typing{Before: "text"})
	if e.endTyping(); e.typing == nil {
		t.Error("the context was closed right after its use")
	}
	e.ForgetTyped()
	if e.endTyping(); e.typing != nil {
		t.Error("the texts were not forgotten")
	}
}
