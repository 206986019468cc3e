package predictor

import (
	"context"
	_ "embed"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// The prompts are those of the paper's figures 26 to 28. The built-in model was trained
// on these exact words (models/train/prompts.py); a test compares them.

//go:embed prompts/abstract.txt
var abstractPrompt string

//go:embed prompts/knowledge.txt
var knowledgePrompt string

//go:embed prompts/history.txt
var historyPrompt string

// promptTemplate is a prompt with empty slots.
type promptTemplate struct {
	text, slot string
	own        bool // the space's own
}

// Slot is the slot that the prompt of this name must contain; without it the prompt would
// be the same for every text. It is empty for an unknown name.
func Slot(prompt string) string {
	switch prompt {
	case "abstract":
		return "{text}"
	case "knowledge":
		return "{abstract}"
	case "history":
		return "{history}"
	}
	return ""
}

// loadPrompt returns the space's own prompt, or the built-in one.
func (p *Predictor) loadPrompt(space, name, ours string) (promptTemplate, error) {
	const op = "predictor: prompt"
	w := promptTemplate{text: ours, slot: Slot(name)}
	if p.o.Prompts != nil {
		text, ok, err := p.o.Prompts(space, name)
		if err != nil {
			return w, fault.Wrap(op, err)
		}
		if ok {
			w.text, w.own = text, true
		}
	}
	if !strings.Contains(w.text, w.slot) {
		// A parked job shows only the operations of its error, so the operation contains
		// the whole message.
		return w, fault.New(fault.Invalid, op+" "+name+".txt has no "+w.slot, "the prompt %q has no %s", name, w.slot)
	}
	w.text = strings.TrimRight(w.text, "\r\n")
	return w, nil
}

// fill replaces the slots. Text of a document never counts as a slot.
func (w promptTemplate) fill(about, kind string, count int) string {
	return strings.NewReplacer(w.slot, about, "{kind}", kindName(kind), "{count}", strconv.Itoa(count)).Replace(w.text)
}

// follows reports whether the model can be expected to follow a prompt.
func (p *Predictor) follows(w promptTemplate) bool { return w.own || p.o.FollowsPrompts }

// kindName is the name of a space's kind in prompts.
func kindName(kind string) string {
	switch kind {
	case "emails":
		return "personal emails"
	case "dialog":
		return "daily dialog"
	case "meetings":
		return "meeting record"
	}
	return "notes"
}

// describeChunk is a chunk as the summary prompt shows it: "title: text".
func describeChunk(title string, c *percached.Chunk) string {
	const mark = "### "
	head := strings.TrimPrefix(c.Head, mark)
	switch {
	case title != "" && strings.HasPrefix(head, title):
		head = title
	case strings.HasSuffix(head, ")"): // source and date
		if at := strings.LastIndex(head, " ("); at > 0 {
			head = head[:at]
		}
	}
	return head + ": " + strings.TrimSpace(c.Body)
}

// Usage is the cost of engine calls.
type Usage struct {
	Computed, Generated int // tokens
	Took                time.Duration
}

func usage(r *percached.Result) Usage {
	t := &r.Times
	// FirstToken is missing if the run ended earlier.
	begun := max(t.FirstToken, t.Tokenize+t.Restore+t.Prefill+t.Capture)
	return Usage{Computed: r.Usage.Computed, Generated: r.Usage.Generated, Took: begun + t.Decode}
}

// generate asks the model in a request of its own. If the prompt exceeds the model's
// context it retries with half as many things, down to least. It returns how many things
// the final prompt contained.
func (p *Predictor) generate(ctx context.Context, tokens, things, least int, prompt func(n int) string) (res percached.Result, n int, err error) {
	for n = things; ; n /= 2 {
		res, err = p.o.Engine.Generate(ctx, percached.Prompt{
			Segments: p.o.Engine.Info().Chat.Turn(prompt(n)), Priority: percached.Background, MaxTokens: tokens, EndLoops: true,
		}, nil)
		if fault.KindOf(err) != fault.Invalid || n/2 < least {
			return res, n, err
		}
	}
}

// summary turns the model's output into one line: without markup and repetitions, and cut
// at a word if too long.
func summary(text string) string {
	text = strings.ReplaceAll(cleanText(text), "\n", " ")
	var kept []string
	said := map[string]bool{}
	for _, s := range splitClauses(strings.Join(strings.Fields(text), " ")) {
		// The last sentence of a loop may be cut anywhere.
		if n := normalise(s); !said[n] && !hasPrefixOf(kept, s) {
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

// splitClauses splits a line after full stops and semicolons.
func splitClauses(line string) (out []string) {
	for s := range strings.SplitAfterSeq(line, ". ") {
		out = append(out, strings.SplitAfter(s, "; ")...)
	}
	return out
}

// hasPrefixOf reports whether one of the sentences begins with s.
func hasPrefixOf(sentences []string, s string) bool {
	for _, k := range sentences {
		if strings.HasPrefix(k, strings.TrimSpace(s)) {
			return true
		}
	}
	return false
}

// shorten cuts a line to at most this many bytes, at a space if possible.
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
