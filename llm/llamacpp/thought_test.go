package llamacpp

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/reply"
)

// An engine emits and returns no thought. What a random model writes is cut at marks that
// occur in it.
func TestEngineCutsThoughts(t *testing.T) {
	e := open(t, tiny, nil)
	p := percached.Prompt{MaxTokens: 60, Segments: []percached.Segment{{Kind: percached.KindQuestion, Texts: []percached.Text{{Text: "When does the ferry leave?"}}}}}
	ask := func() (percached.Result, string) {
		var emitted strings.Builder
		r, err := e.Generate(t.Context(), p, func(s string) error { emitted.WriteString(s); return nil })
		if err != nil {
			t.Fatal(err)
		}
		return r, emitted.String()
	}
	whole, _ := ask()
	opens, from := once(whole.Text, 10)
	ends, upTo := once(whole.Text, from+20)
	if opens == "" || ends == "" {
		t.Fatalf("the model wrote %q only", whole.Text)
	}
	before, after := whole.Text[:from], whole.Text[upTo+len(ends):]
	e.marks = []reply.Mark{{Open: opens, End: ends}}
	if r, emitted := ask(); r.Text != before+after || emitted != r.Text || r.Finish != whole.Finish || r.Usage != whole.Usage {
		t.Errorf("%q, emitted %q, %s, %+v; want %q", r.Text, emitted, r.Finish, r.Usage, before+after)
	}
	e.marks = []reply.Mark{{Open: opens, End: "never there"}}
	if r, emitted := ask(); r.Text != before || emitted != before || r.Finish != percached.FinishThought {
		t.Errorf("%q, emitted %q, %s; want %q", r.Text, emitted, r.Finish, before)
	}
}

// once is a piece of a text, from some place on, that occurs there alone.
func once(text string, from int) (piece string, at int) {
	for at := from; at+6 <= len(text); at++ {
		if p := text[at : at+6]; strings.Count(text, p) == 1 && !strings.ContainsFunc(p, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return p, at
		}
	}
	return "", len(text)
}
