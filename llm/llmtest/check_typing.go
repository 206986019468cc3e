package llmtest

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

func typingChecks() []check {
	return []check{
		{name: "typing/candidates", run: typist(checkCandidates)},
		{name: "typing/again", run: typist(checkTypedAgain)},
		{name: "typing/owners", run: typist(checkOwners)},
		{name: "typing/forget", run: typist(checkForgetTyped)},
		{name: "typing/wrong", run: typist(checkWrongTyping)},
		{name: "typing/cancel", run: typist(checkTypingCancel)},
		{name: "typing/close", run: typist(checkTypingClose)},
	}
}

// typist runs a check with an engine of its own, if that completes texts.
func typist(run func(*probe, llm.Typist)) func(*probe) {
	return func(p *probe) {
		p.fresh(func(e llm.Engine) {
			if t, ok := e.(llm.Typist); ok {
				run(p, t)
			}
		})
	}
}

func typing() percached.Typing {
	return percached.Typing{
		Owner: "a", Notes: []string{"### Ferry\nThe ferry leaves at ten.\n\n"}, Before: "We take the ferry, and it", After: " on Friday.",
		Alternatives: 4, MaxTokens: 5,
	}
}

func (p *probe) complete(e llm.Typist, t percached.Typing) percached.Typed {
	var pieces strings.Builder
	got, err := e.Complete(p.context(), t, func(s string) error {
		if s == "" || !utf8.ValidString(s) {
			p.fatalf("a piece is %q", s)
		}
		pieces.WriteString(s)
		return nil
	})
	p.must(err, "Complete %q", t.Before)
	if len(got.Candidates) > 0 && got.Candidates[0].Text != pieces.String() {
		p.fatalf("emitted %q, and the first candidate is %q", pieces.String(), got.Candidates[0].Text)
	}
	return got
}

func (p *probe) sameTyped(what string, a, b percached.Typed) {
	same := len(a.Candidates) == len(b.Candidates)
	for i := 0; same && i < len(a.Candidates); i++ {
		same = a.Candidates[i].Text == b.Candidates[i].Text
	}
	if !same {
		p.fatalf("%s: %+v and %+v", what, a.Candidates, b.Candidates)
	}
}

// No more candidates than asked for, the most probable first, each on one line.
func checkCandidates(p *probe, e llm.Typist) {
	for _, n := range []int{1, 3, percached.MaxAlternatives} {
		t := typing()
		t.Alternatives = n
		got := p.complete(e, t)
		if len(got.Candidates) > n || got.Tokens.Prompt == 0 || got.Tokens.Generated == 0 {
			p.fatalf("%d alternatives: %+v", n, got)
		}
		for i, c := range got.Candidates {
			if strings.TrimSpace(c.Text) == "" || strings.Contains(c.Text, "\n") || !utf8.ValidString(c.Text) || !(c.First <= 1e-4 && c.Log <= c.First) {
				p.fatalf("candidate %d of %d: %+v", i, n, c)
			}
			if i > 0 && c.First > got.Candidates[i-1].First {
				p.fatalf("candidate %d is more probable than the one before: %+v", i, got.Candidates)
			}
		}
	}
}

// What was computed before changes no candidate.
func checkTypedAgain(p *probe, e llm.Typist) {
	t := typing()
	first := p.complete(e, t)
	p.sameTyped("the same text twice", first, p.complete(e, t))
	for _, more := range []string{" is", " is late", " was", ""} {
		longer := t
		longer.Before += more
		p.complete(e, longer)
	}
	p.sameTyped("the same text later", first, p.complete(e, t))
	t.Notes = nil
	if other := p.complete(e, t); len(other.Candidates) > 0 && len(first.Candidates) > 0 && other.Candidates[0] == first.Candidates[0] {
		p.fatalf("the notes change nothing: %+v", other.Candidates[0])
	}
}

// What was computed for one owner is not reused for another.
func checkOwners(p *probe, e llm.Typist) {
	t := typing()
	p.complete(e, t)
	t.Owner = "b"
	if got := p.complete(e, t); got.Tokens.Reused != 0 || got.Tokens.Spliced != 0 {
		p.fatalf("reused another owner's text: %+v", got.Tokens)
	}
}

func checkForgetTyped(p *probe, e llm.Typist) {
	t := typing()
	first := p.complete(e, t)
	if e.TypedBytes() <= 0 {
		p.fatalf("a kept text takes no memory")
	}
	e.ForgetTyped()
	again := p.complete(e, t)
	if again.Tokens.Reused != 0 || again.Tokens.Spliced != 0 {
		p.fatalf("reused a text that was to be forgotten: %+v", again.Tokens)
	}
	p.sameTyped("after ForgetTyped", first, again)
}

func checkWrongTyping(p *probe, e llm.Typist) {
	for name, change := range map[string]func(*percached.Typing){
		"no alternatives":       func(t *percached.Typing) { t.Alternatives = 0 },
		"too many alternatives": func(t *percached.Typing) { t.Alternatives = percached.MaxAlternatives + 1 },
		"no tokens":             func(t *percached.Typing) { t.MaxTokens = 0 },
		"too many tokens":       func(t *percached.Typing) { t.MaxTokens = percached.MaxTyped + 1 },
		"no text":               func(t *percached.Typing) { t.Before = "" },
	} {
		t := typing()
		change(&t)
		if _, err := e.Complete(p.context(), t, nil); fault.KindOf(err) != fault.Invalid {
			p.fatalf("%s: %v, want invalid", name, err)
		}
	}
}

// An error of emit, and a cancelled context, end the run, and the engine goes on.
func checkTypingCancel(p *probe, e llm.Typist) {
	t := typing()
	first := p.complete(e, t)
	ctx, cancel := context.WithCancel(p.context())
	cancel()
	if _, err := e.Complete(ctx, t, nil); !errors.Is(err, context.Canceled) {
		p.fatalf("with a cancelled context: %v", err)
	}
	gone := errors.New("nobody listens")
	if _, err := e.Complete(p.context(), t, func(string) error { return gone }); !errors.Is(err, gone) {
		p.fatalf("emit failed: %v", err)
	}
	p.sameTyped("after a cancelled run", first, p.complete(e, t))
}

func checkTypingClose(p *probe, e llm.Typist) {
	p.complete(e, typing())
	p.must(e.(llm.Engine).Close(), "Close")
	if _, err := e.Complete(p.context(), typing(), nil); !errors.Is(err, llm.ErrClosed) {
		p.fatalf("Complete after Close: %v, want ErrClosed", err)
	}
	e.ForgetTyped()
}
