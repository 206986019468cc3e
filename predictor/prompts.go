package predictor

import (
	_ "embed"
	"strconv"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// The prompts are those of the paper's figures 26 to 28. The built-in model was
// trained on these very words (models/train/prompts.py); a test compares them.

//go:embed prompts/abstract.txt
var abstractPrompt string

//go:embed prompts/knowledge.txt
var knowledgePrompt string

//go:embed prompts/history.txt
var historyPrompt string

// wording is a prompt before its slots are filled.
type wording struct {
	text, slot string
}

// Slot is what must stand in a prompt of this name, for what it is about: without
// it the prompt would be the same for all. Empty: there is no such prompt.
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

// wording finds a prompt, a space's own before ours.
func (p *Predictor) wording(space, name, ours string) (wording, error) {
	const op = "predictor: prompt"
	w := wording{ours, Slot(name)}
	if p.o.Prompts != nil {
		text, ok, err := p.o.Prompts(space, name)
		if err != nil {
			return w, fault.Wrap(op, err)
		}
		if ok {
			w.text = text
		}
	}
	if !strings.Contains(w.text, w.slot) {
		// Of a parked job the operations alone are shown: this one is to say it all.
		return w, fault.New(fault.Invalid, op+" "+name+".txt has no "+w.slot, "the prompt %q has no %s", name, w.slot)
	}
	w.text = strings.TrimRight(w.text, "\r\n")
	return w, nil
}

// fill puts texts into the slots. What a document says is never a slot.
func (w wording) fill(about, kind string, count int) string {
	return strings.NewReplacer(w.slot, about, "{kind}", kindName(kind), "{count}", strconv.Itoa(count)).Replace(w.text)
}

// kindName is a kind of space as prompts call it.
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

// about is a chunk as the model is asked to sum it up: "title: text".
func about(title string, c *percached.Chunk) string {
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
