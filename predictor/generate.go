package predictor

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// Usage is what the engine spent.
type Usage struct {
	Computed, Generated int // tokens
	Took                time.Duration
}

func usage(r *percached.Result) Usage {
	t := &r.Times
	// FirstToken is not there when the run ended before.
	begun := max(t.FirstToken, t.Tokenize+t.Restore+t.Prefill+t.Capture)
	return Usage{Computed: r.Usage.Computed, Generated: r.Usage.Generated, Took: begun + t.Decode}
}

// say asks the model, in a turn of its own. A prompt that is too long for the
// model's context is made anew of half as many things, down to least; n is of
// how many it was made.
func (p *Predictor) say(ctx context.Context, tokens, things, least int, prompt func(n int) string) (res percached.Result, n int, err error) {
	for n = things; ; n /= 2 {
		res, err = p.o.Engine.Generate(ctx, percached.Prompt{
			Segments: p.o.Engine.Info().Chat.Turn(prompt(n)), Priority: percached.Background, MaxTokens: tokens, EndLoops: true,
		}, nil)
		if fault.KindOf(err) != fault.Invalid || n/2 < least {
			return res, n, err
		}
	}
}

// summary makes one line of what the model printed: without what is no text,
// without what it said before, and cut at a word if it is too long.
func summary(text string) string {
	text = strings.ReplaceAll(tidy(text), "\n", " ")
	var kept []string
	said := map[string]bool{}
	for _, s := range clauses(strings.Join(strings.Fields(text), " ")) {
		// The last one of a loop is cut anywhere.
		if n := normalise(s); !said[n] && !begins(kept, s) {
			said[n] = true
			kept = append(kept, strings.TrimSpace(s))
		}
	}
	text = strings.Trim(strings.Join(kept, " "), `"'“”*# `)
	if !strings.ContainsFunc(text, isWordRune) {
		return ""
	}
	return shorten(text, maxSummary)
}

// clauses cuts a line behind full stops and semicolons.
func clauses(line string) (out []string) {
	for s := range strings.SplitAfterSeq(line, ". ") {
		out = append(out, strings.SplitAfter(s, "; ")...)
	}
	return out
}

// begins says that one of the sentences begins with s.
func begins(sentences []string, s string) bool {
	for _, k := range sentences {
		if strings.HasPrefix(k, strings.TrimSpace(s)) {
			return true
		}
	}
	return false
}

// shorten cuts a line to so many bytes, at a space if there is one.
func shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	at := most
	for at > 0 && !utf8.RuneStart(s[at]) {
		at--
	}
	s = s[:at]
	if space := strings.LastIndexByte(s, ' '); space > most/2 {
		s = s[:space]
	}
	return strings.TrimRight(s, " ")
}
