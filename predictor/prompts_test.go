package predictor

import (
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// The prompts equal those on which the built-in model was trained, word for word.
func TestPromptsAreThoseOfTheTraining(t *testing.T) {
	b, err := os.ReadFile("../models/train/prompts.py")
	if err != nil {
		t.Fatal(err)
	}
	for name, ours := range map[string]string{"ABSTRACT": abstractPrompt, "FROM_KNOWLEDGE": knowledgePrompt, "FROM_HISTORY": historyPrompt} {
		m := regexp.MustCompile(`(?m)^` + name + ` = \(\n((?:    ".*"\n)+)\)`).FindStringSubmatch(string(b))
		if m == nil {
			t.Fatalf("%s: not found", name)
		}
		var theirs strings.Builder
		for l := range strings.Lines(m[1]) {
			s, err := strconv.Unquote(strings.TrimSpace(l))
			if err != nil {
				t.Fatal(err)
			}
			theirs.WriteString(s)
		}
		if d := cmp.Diff(theirs.String()+"\n", ours); d != "" {
			t.Errorf("%s (-theirs +ours):\n%s", name, d)
		}
	}
	for kind, name := range map[string]string{"emails": "personal emails", "dialog": "daily dialog", "meetings": "meeting record", "notes": "notes", "": "notes"} {
		if got := kindName(kind); got != name || !strings.Contains(string(b), strconv.Quote(name)) {
			t.Errorf("%q is called %q", kind, got)
		}
	}
}

func TestWording(t *testing.T) {
	broken := errors.New("broken")
	texts := map[string]string{"own": "Of {kind}: {text} {count} {text}\n", "without": "Say something."}
	p := &Predictor{o: Options{Prompts: func(space, name string) (string, bool, error) {
		if space == "broken" {
			return "", false, broken
		}
		text, ok := texts[space]
		return text, ok && name == "abstract", nil
	}}}
	w, err := p.loadPrompt("own", "abstract", abstractPrompt)
	if got := w.fill("{count} {kind}", "emails", 3); got != "Of personal emails: {count} {kind} 3 {count} {kind}" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if w, err := p.loadPrompt("own", "knowledge", knowledgePrompt); !strings.HasPrefix(w.text, "You are") || err != nil {
		t.Errorf("%q, %v", w.text, err)
	}
	if _, err := p.loadPrompt("without", "abstract", abstractPrompt); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a prompt without its slot: %v", err)
	}
	if _, err := p.loadPrompt("broken", "abstract", abstractPrompt); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestAbout(t *testing.T) {
	for _, tt := range []struct{ title, head, want string }{
		{"Rent", "### Rent (mail from Ana, Mon 3 February 2025)", "Rent: The rent."},
		{"Rent (3B)", "### Rent (3B) (mail)", "Rent (3B): The rent."},
		{"Rent (3B)", "### Rent (3B)", "Rent (3B): The rent."},
		{"", "### Rent (mail)", "Rent: The rent."},
		{"Other", "### Rent", "Rent: The rent."},
	} {
		if got := describeChunk(tt.title, &percached.Chunk{Head: tt.head, Body: " The rent.\n"}); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.head, got, tt.want)
		}
	}
}

func TestSummary(t *testing.T) {
	for text, want := range map[string]string{
		" The rent rises.\nIt is due. ":           "The rent rises. It is due.",
		"\"The rent rises.\"":                     "The rent rises.",
		"**The rent** rises.<|im_end|> Never.":    "The rent rises.",
		"I go. I go. I go. I g":                   "I go.",
		"The witness; the other; the other; th":   "The witness; the other;",
		"...":                                     "",
		"<think>What is it?</think>\n":            "",
		strings.Repeat("word ", 100):              strings.TrimSpace(strings.Repeat("word ", 80)),
		strings.Repeat("é", 300):                  strings.Repeat("é", 200),
		"Dr. Farrow saw Mr. Yan at 4 p.m. today.": "Dr. Farrow saw Mr. Yan at 4 p.m. today.",
	} {
		if got := summary(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNormalise(t *testing.T) {
	same := []string{"Who came?", " who  CAME ", "\"Who came?\"", "¿who came", "Who came..."}
	for _, s := range same {
		if NewID("mail", s) != NewID("mail", same[0]) {
			t.Errorf("%q is another question", s)
		}
	}
	for _, s := range []string{"Who come?", "Whocame?", ""} {
		if NewID("mail", s) == NewID("mail", same[0]) {
			t.Errorf("%q is the same question", s)
		}
	}
	if NewID("mail", "?") == NewID("mail", "!") || NewID("mail", "Who?") == NewID("other", "Who?") {
		t.Error("two questions with one ID")
	}
}
