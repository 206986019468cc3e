package persona_test

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/llm/llmtest"
)

// prompts are the texts that models are trained on, by name.
func prompts(t *testing.T) map[string]string {
	t.Helper()
	b, err := os.ReadFile("../../../models/train/prompts.py")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?ms)^([A-Z_]+) = \(\n(.*?)^\)`).FindAllStringSubmatch(string(b), -1) {
		for l := range strings.Lines(m[2]) {
			part, err := strconv.Unquote(strings.TrimSpace(l))
			if err != nil {
				t.Fatalf("%s: %s: %v", m[1], l, err)
			}
			out[m[1]] += part
		}
	}
	for _, name := range []string{"ABSTRACT", "FROM_KNOWLEDGE", "FROM_HISTORY"} {
		if out[name] == "" {
			t.Fatalf("no prompt %s", name)
		}
	}
	return out
}

// model is a month's model with the prompts of the product.
type model struct {
	t       *testing.T
	prompts map[string]string
	script  llmtest.Script
}

func newModel(t *testing.T, m *persona.Month) model {
	return model{t, prompts(t), m.Script()}
}

func (m model) ask(prompt string, chunks ...string) string {
	m.t.Helper()
	f := percached.ChatFormat{System: "<s>", Question: "<q>", Answer: "<a>", Lone: "<l>"}
	p := percached.Prompt{Segments: f.Turn(prompt)}
	if len(chunks) > 0 {
		p.Segments = f.Ask("Answer.", chunks, prompt)
	}
	a, ok := m.script(p, prompt)
	if b, _ := m.script(p, prompt); !ok || a != b {
		m.t.Errorf("%q: %v, %q and %q", prompt, ok, a, b)
	}
	return a
}

func (m model) summary(s *knowledgebank.Source) string {
	var bodies []string
	for _, b := range s.Blocks {
		if b.Speaker != "" {
			b.Text = b.Speaker + ": " + b.Text
		}
		bodies = append(bodies, b.Text)
	}
	return m.ask(strings.ReplaceAll(m.prompts["ABSTRACT"], "{text}", strings.TrimSuffix(s.Title+": "+strings.Join(bodies, "\n"), ".")))
}

func (m model) guess(name, text string, count int) string {
	return m.ask(strings.NewReplacer("{kind}", "personal emails", "{abstract}", text, "{history}", text, "{count}", strconv.Itoa(count)).Replace(m.prompts[name]))
}

var (
	mark  = regexp.MustCompile(`^\s*(-|\d+\.)?\s*`)
	parts = regexp.MustCompile(`; |\n`)
)

// questions takes the questions out of a list.
func questions(list string) []string {
	var out []string
	for _, q := range parts.Split(list, -1) {
		if q = mark.ReplaceAllString(q, ""); strings.HasSuffix(q, "?") {
			out = append(out, q)
		}
	}
	return out
}

// A summary holds what the text tells and is one line.
func TestSummary(t *testing.T) {
	month := persona.New(find(t, "typical"), 7, start)
	m := newModel(t, month)
	documents, told := 0, 0
	for _, e := range month.Events() {
		if e.Kind != persona.Arrives {
			continue
		}
		s := m.summary(e.Source)
		documents++
		if strings.TrimSpace(s) == "" || strings.Contains(s, "\n") || len(strings.Fields(s)) > 60 {
			t.Fatalf("%s: %q", e.Key, s)
		}
		var all strings.Builder
		for _, b := range e.Source.Blocks {
			all.WriteString(b.Text + " ")
		}
		for part := range strings.SplitSeq(strings.TrimRight(strings.TrimPrefix(s, "Here is a summary: "), ".!?"), "; ") {
			if !strings.Contains(all.String(), part) {
				t.Errorf("%s does not say %q", e.Key, part)
			}
		}
		if len(questions(m.guess("FROM_KNOWLEDGE", strings.TrimSuffix(s, "."), 5))) > 0 {
			told++
		}
	}
	if share := float64(told) / float64(documents); share < 0.4 || share > 0.7 {
		t.Errorf("questions are guessed from %.2f of the documents", share)
	}
}

// Lists are most often as they were asked for, and now and then not.
func TestLists(t *testing.T) {
	month := persona.New(find(t, "busy"), 8, start)
	m := newModel(t, month)
	var parts, asked []string
	forms := map[string]int{}
	for _, e := range month.Events() {
		switch e.Kind {
		case persona.Arrives:
			if parts = append(parts, strings.TrimSuffix(m.summary(e.Source), ".")); len(parts) > 4 {
				parts = parts[1:]
			}
		case persona.Asked:
			if asked = append(asked, e.Question); len(asked) > 8 {
				asked = asked[1:]
			}
		}
		if e.Kind != persona.Asked {
			continue
		}
		for name, text := range map[string]string{"FROM_KNOWLEDGE": strings.Join(parts, "; "), "FROM_HISTORY": strings.Join(asked, " ")} {
			list := m.guess(name, text, 5)
			got := questions(list)
			forms[name]++
			count := func(what string, is bool) {
				if is {
					forms[what]++
				}
			}
			count("empty", list == "")
			count("none", len(got) == 0)
			count("as told", strings.HasPrefix(list, "1. ") && !strings.Contains(list, "\n"))
			count("repeats", len(got) > len(slices.Compact(slices.Sorted(slices.Values(got)))))
			count("more or fewer", len(got) != 5)
			count("chatter", strings.HasPrefix(list, "Sure!"))
		}
	}
	t.Log(forms)
	if n := forms["FROM_KNOWLEDGE"] + forms["FROM_HISTORY"]; forms["as told"] < n/2 || forms["none"] > n/4 {
		t.Error("too few lists are as they were asked for")
	}
	for _, what := range []string{"empty", "repeats", "more or fewer", "chatter"} {
		if forms[what] == 0 {
			t.Errorf("never: %s", what)
		}
	}
}

// Answers come from the chunks of the prompt, and from nowhere else.
func TestAnswers(t *testing.T) {
	month := persona.New(find(t, "busy"), 9, start)
	m := newModel(t, month)
	there := map[string]string{}
	for _, e := range month.Events() {
		switch e.Kind {
		case persona.Arrives:
			var b strings.Builder
			for _, x := range e.Source.Blocks {
				b.WriteString(x.Text + "\n")
			}
			there[e.Key] = b.String()
		case persona.Asked:
			x := e.Expect
			if got := m.ask(e.Question); got != "I don't know." {
				t.Errorf("%q is answered from nothing: %q", e.Question, got)
			}
			if x.Document == "" {
				continue
			}
			got := m.ask(e.Question, "### Something else\nThe weather was fine.\n\n", there[x.Document])
			if !strings.Contains(strings.ToLower(got), strings.ToLower(x.Answer)) || slices.ContainsFunc(x.Never, func(s string) bool { return strings.Contains(got, s) }) {
				t.Errorf("%q: %q, want %+v", e.Question, got, x)
			}
		}
	}
}

// Of what a typical person asks for the first time some was guessed before; of
// what an odd one asks nothing.
func TestGuessed(t *testing.T) {
	for _, tt := range []struct {
		profile     string
		least, most float64 // share of questions
	}{{"typical", 0.05, 0.6}, {"busy", 0.05, 0.6}, {"meetings", 0.03, 0.6}, {"unpredictable", 0, 0}} {
		t.Run(tt.profile, func(t *testing.T) {
			month := persona.New(find(t, tt.profile), 10, start)
			m, g := newModel(t, month), newGate(t)
			var parts, guessed []string
			exact, near, n := 0, 0, 0
			for _, e := range month.Events() {
				switch {
				case e.Kind == persona.Arrives:
					parts = append(parts, strings.TrimSuffix(m.summary(e.Source), "."))
				case e.Kind == persona.Posted && e.At.Hour() == 3 && e.At.Minute() == 0: // idle
					for few := range slices.Chunk(parts, 5) {
						guessed = append(guessed, questions(m.guess("FROM_KNOWLEDGE", strings.Join(few, "; "), 5))...)
					}
					parts = nil
				case e.Kind == persona.Asked && (e.Expect.Relation == persona.First || e.Expect.Relation == persona.Odd):
					n++
					switch is := func(q string) bool { return g.same(q, e.Question) }; {
					case slices.ContainsFunc(guessed, is):
						exact++
					case slices.ContainsFunc(guessed, func(q string) bool { return g.near(t, q, e.Question, 0.85) }):
						near++
					}
				}
			}
			t.Logf("of %d first questions %d were guessed and %d nearly, among %d guesses", n, exact, near, len(guessed))
			if share := float64(exact+near) / float64(n); n == 0 || len(guessed) < 20 || share < tt.least || share > tt.most {
				t.Errorf("%.3f of the questions were guessed, want %v to %v", share, tt.least, tt.most)
			}
		})
	}
}
