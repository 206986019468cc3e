package persona

import (
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode"

	"github.com/percached/percached"
)

// Delimiters in percached's prompts.
const (
	abstractBegin  = "key events and key concepts: "
	abstractEnd    = ". Focus only on the essential"
	knowledgeBegin = "Here is some abstract of the content: "
	knowledgeEnd   = ". Think about what questions"
	historyBegin   = "Here is their recent query history: "
	historyEnd     = ". Generate another "
	guess          = "Now guess "
	refusal        = "I don't know."
)

// reader acts as a small model that knows the facts of the month.
type reader struct {
	month *Month
	said  map[string]*fact // by plain sentence
	asks  map[string]asked // by plain question
}

// Script returns the language model of the month. It summarises, predicts questions, and
// answers from the chunks of a prompt, or refuses. Equal prompts get equal answers.
func (m *Month) Script() func(p percached.Prompt, question string) (answer string, ok bool) {
	r := &reader{month: m, said: map[string]*fact{}, asks: map[string]asked{}}
	for _, s := range m.all {
		for _, f := range s.facts {
			r.said[plain(f.sentence)] = f
		}
		for i, a := range s.tale.asks {
			for w := range a.lines {
				q := s.question(a, w)
				r.asks[plain(q)] = asked{q, s, i, w}
			}
		}
	}
	return r.answer
}

func (r *reader) answer(p percached.Prompt, question string) (string, bool) {
	h := fnv.New64a()
	_, _ = h.Write([]byte(question)) // it never fails
	g := &guesser{reader: r, rand: stream(r.month.seed, h.Sum64())}
	if text, _, ok := framed(question, abstractBegin, abstractEnd); ok {
		return g.summary(text), true
	}
	if text, rest, ok := framed(question, knowledgeBegin, knowledgeEnd); ok {
		_, n, _ := strings.Cut(rest, guess)
		return g.fromKnowledge(text, number(n)), true
	}
	if text, rest, ok := framed(question, historyBegin, historyEnd); ok {
		return g.fromHistory(text, number(rest)), true
	}
	return r.fromChunks(p, question), true
}

// framed returns the text between two delimiters, and the rest after them.
func framed(s, begin, end string) (inside, rest string, ok bool) {
	_, s, ok = strings.Cut(s, begin)
	i := strings.LastIndex(s, end)
	if !ok || i < 0 {
		return "", "", false
	}
	return s[:i], s[i+len(end):], true
}

// number parses the number at the start of a text.
func number(s string) int {
	head, _, _ := strings.Cut(s, " ")
	n, _ := strconv.Atoi(head)
	return n
}

// fromChunks answers from the chunks of the prompt.
func (r *reader) fromChunks(p percached.Prompt, question string) string {
	var b strings.Builder
	for _, s := range p.Segments {
		if s.Kind != percached.KindChunk {
			continue
		}
		for _, t := range s.Texts {
			b.WriteString(t.Text)
		}
		b.WriteByte('\n')
	}
	text := b.String()
	q, ok := r.asks[plain(question)]
	if !ok && r.month.oddities[plain(question)] {
		return r.oddly(text, question)
	}
	if !ok {
		return refusal
	}
	for i := len(q.subject.facts) - 1; i >= 0; i-- {
		if f := q.subject.facts[i]; strings.Contains(text, f.sentence) {
			return capital(f.values[q.subject.tale.asks[q.ask].slot]) + ". " + f.sentence + "."
		}
	}
	return refusal
}

// oddly returns the sentence with the most long words of the question.
func (r *reader) oddly(text, question string) string {
	best, most := refusal, 0
	words := strings.Fields(plain(question))
	for _, s := range sentences(text) {
		n := 0
		low := " " + plain(s) + " "
		for _, w := range words {
			if len(w) > 4 && strings.Contains(low, " "+w+" ") {
				n++
			}
		}
		if n > most {
			best, most = s, n
		}
	}
	return best
}

// facts returns the facts of a text in order.
func (r *reader) facts(text string) []*fact {
	var out []*fact
	for _, s := range sentences(text) {
		// A title or a speaker may precede it.
		for ok := true; ok; _, s, ok = strings.Cut(s, ": ") {
			if f := r.said[plain(s)]; f != nil {
				out = append(out, f)
				break
			}
		}
	}
	return out
}

// sentences splits a text at lines, periods and semicolons.
func sentences(text string) []string {
	var out []string
	for _, line := range strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == ';' }) {
		from := 0
		for i := range line {
			end := i+1 == len(line) || line[i+1] == ' '
			if c := line[i]; end && (c == '.' || c == '!' || c == '?') || i+1 == len(line) {
				if s := strings.TrimSpace(line[from : i+1]); s != "" {
					out = append(out, s)
				}
				from = i + 1
			}
		}
	}
	return out
}

// plain removes capitals and punctuation, so that repeats are equal.
func plain(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("'-:", r)
	}), " ")
}

// guesser is a reader with the random source of one prompt.
type guesser struct {
	*reader
	rand *rand.Rand
}
