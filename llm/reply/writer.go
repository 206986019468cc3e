package reply

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached"
)

// A Writer turns the bytes of tokens into pieces of complete UTF-8. It removes thoughts, and
// finds stop strings, which may span tokens, and loops.
type Writer struct {
	Emit    func(string) error // may be nil
	stop    []string
	loop    *loopWatch // nil: loops go on
	cut     thoughtCutter
	pending []byte // not emitted yet
	watched int    // of pending: already seen by the watch
	text    strings.Builder
}

// New returns a writer of one answer. emit may be nil; endLoops ends the answer when it
// repeats itself.
func New(emit func(piece string) error, stop []string, endLoops bool, marks []Mark) *Writer {
	w := &Writer{Emit: emit, stop: stop, cut: thoughtCutter{marks: marks}}
	if endLoops {
		w.loop = &loopWatch{}
	}
	return w
}

// Text returns what was emitted.
func (w *Writer) Text() string { return w.text.String() }

// Pending returns the whole runes that are held back, because a stop or a loop may begin with
// them.
func (w *Writer) Pending() string { return string(w.pending[:WholeRunes(w.pending)]) }

// Write adds the bytes of one token, and returns why the text ends, if it does. In a
// control token it looks only for marks of thoughts.
func (w *Writer) Write(b []byte, control bool) (ended percached.Finish, err error) {
	return w.add(w.cut.write(b, control))
}

// add adds text outside of thoughts.
func (w *Writer) add(b []byte) (ended percached.Finish, err error) {
	w.pending = append(w.pending, b...)
	whole := WholeRunes(w.pending)
	text := string(w.pending[:whole])
	end, stopped := len(text), false
	for _, stop := range w.stop {
		if i := strings.Index(text, stop); stop != "" && i >= 0 {
			end, stopped = min(end, i), true
		}
	}
	if stopped {
		w.pending = nil
		return percached.FinishStop, w.Send(text[:end])
	}
	// A possible start of a stop string waits for the rest.
	hold := heldBack(text, w.stop)
	if w.loop != nil {
		w.loop.add(text[w.watched:])
		if n := w.loop.looped(); n > 0 {
			w.pending = nil
			return percached.FinishLoop, w.Send(text[:max(0, len(text)-n)])
		}
		hold = runeHead(text, max(hold, min(w.loop.hold(), len(text))))
		w.watched = hold
	}
	w.pending = append([]byte(text[len(text)-hold:]), w.pending[whole:]...)
	return "", w.Send(text[:len(text)-hold])
}

// runeHead extends a suffix of a text until it begins with a complete rune.
func runeHead(text string, n int) int {
	for n < len(text) && n > 0 && !utf8.RuneStart(text[len(text)-n]) {
		n++
	}
	return n
}

// End emits the rest when the model or its budget has ended. It returns the reason, a
// different one within a thought.
func (w *Writer) End(why percached.Finish) (percached.Finish, error) {
	thinking := w.cut.thought != nil
	if ended, err := w.add(w.cut.rest()); ended != "" || err != nil {
		return ended, err
	}
	if thinking {
		why = percached.FinishThought
	}
	return why, w.flush()
}

// flush emits the rest and replaces incomplete UTF-8.
func (w *Writer) flush() error {
	text := strings.ToValidUTF8(string(w.pending), string(utf8.RuneError))
	w.pending = nil
	return w.Send(text)
}

// Send emits a text as it is.
func (w *Writer) Send(text string) error {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if text == "" {
		return nil
	}
	w.text.WriteString(text)
	if w.Emit == nil {
		return nil
	}
	return w.Emit(text)
}

// WholeRunes is the length of b without an incomplete rune at its end.
func WholeRunes(b []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		i := len(b) - back
		if !utf8.RuneStart(b[i]) {
			continue
		}
		if !utf8.FullRune(b[i:]) {
			return i
		}
		break
	}
	return len(b)
}

// heldBack is the length of the longest suffix of text that begins a stop string.
func heldBack(text string, stops []string) int {
	longest := 0
	for _, stop := range stops {
		for n := min(len(stop)-1, len(text)); n > longest; n-- {
			if strings.HasSuffix(text, stop[:n]) {
				longest = n
			}
		}
	}
	return longest
}

// A Mark is how models of one family write the begin and end of a thought.
type Mark struct {
	Open, End string
	// empty ends a thought that has just begun, in a prompt.
	empty string
}

// KnownMarks are the marks of known families. None is part of another, so a text can be
// cut in only one way.
func KnownMarks() []Mark {
	return []Mark{
		{"<think>", "</think>", "\n</think>\n\n"},                                                // Qwen3, DeepSeek-R1, GLM, SmolLM3 and most others
		{"<thought>", "</thought>", "\n</thought>\n\n"},                                          // EXAONE
		{"<seed:think>", "</seed:think>", "</seed:think>"},                                       // Seed-OSS
		{"<mm:think>", "</mm:think>", "</mm:think>"},                                             // MiniMax-M3
		{"<think:opensource>", "</think:opensource>", "</think:opensource>"},                     // Hunyuan
		{"[THINK]", "[/THINK]", "[/THINK]"},                                                      // Mistral
		{"<|START_THINKING|>", "<|END_THINKING|>", "<|END_THINKING|>"},                           // Command
		{"<|inner_prefix|>", "<|inner_suffix|>", "<|inner_suffix|>"},                             // Apertus
		{"<|channel>thought", "<channel|>", "\n<channel|>"},                                      // Gemma 4
		{"<|channel|>analysis", finalChannel, ""},                                                // gpt-oss
		{"<|channel|>commentary", finalChannel, ""},                                              // gpt-oss
		{"<|think|>", "<|content|>", "<|end|><|begin|>assistant<|content|>"},                     // Solar
		{"Here are my reasoning steps:\n", "[BEGIN FINAL RESPONSE]", "[BEGIN FINAL RESPONSE]\n"}, // Apriel
	}
}

// finalChannel is where gpt-oss writes its answer.
const finalChannel = "<|channel|>final<|message|>"

// MarksOf are the marks that a model may write: its template contains them, or the
// begin is a token of its vocabulary.
func MarksOf(template string, tokens []string) []Mark {
	var known []Mark
	for _, m := range KnownMarks() {
		if strings.Contains(template, m.Open) || strings.Contains(template, m.End) || slices.Contains(tokens, m.Open) {
			known = append(known, m)
		}
	}
	return known
}

// WithoutThought ends a thought that the prompt begins, so that the model answers at
// once.
func WithoutThought(opening string, known []Mark) string {
	if strings.HasSuffix(opening, "<|start|>assistant") && slices.ContainsFunc(known, func(m Mark) bool { return m.End == finalChannel }) {
		return opening + finalChannel
	}
	for _, m := range known {
		at := strings.LastIndex(opening, m.Open)
		if at < 0 || strings.Contains(opening[at:], m.End) {
			continue
		}
		if m.End == "<|content|>" && strings.HasSuffix(opening, "<|begin|>assistant") {
			return opening + m.End // the template has ended the thought, but not begun the answer
		}
		if strings.HasSuffix(m.Open, "\n") || !strings.HasSuffix(opening, "\n") {
			return opening + m.empty
		}
		return strings.TrimSuffix(opening, "\n") + "\n" + m.empty
	}
	return opening
}

// A thoughtCutter removes thoughts from a text that arrives in pieces. The result does
// not depend on the pieces.
type thoughtCutter struct {
	marks   []Mark
	held    []byte // may become a mark
	hidden  []bool // of held: text of a control token, not part of the answer
	thought *Mark  // the one that is going on
	begun   bool   // text outside of thoughts was returned
	trim    bool   // only thoughts came so far
}

// write adds a piece and returns the text that is ready.
func (c *thoughtCutter) write(piece []byte, hidden bool) []byte {
	if len(c.marks) == 0 {
		if hidden {
			return nil
		}
		return piece
	}
	for range piece {
		c.hidden = append(c.hidden, hidden)
	}
	c.held = append(c.held, piece...)
	var ready []byte
	for {
		at, n, m := c.find()
		if n == 0 {
			break
		}
		ready = c.take(ready, at)
		c.drop(n)
		if c.thought == nil && m.Open != "" {
			c.thought = m
		} else {
			c.thought, c.trim = nil, !c.begun
		}
	}
	return c.take(ready, len(c.held)-c.hold())
}

// find returns the position and length of the next mark. Outside of a thought, an end
// mark alone counts too.
func (c *thoughtCutter) find() (at, n int, m *Mark) {
	at = len(c.held)
	see := func(text string, of *Mark) {
		if i := bytes.Index(c.held, []byte(text)); i >= 0 && i < at {
			at, n, m = i, len(text), of
		}
	}
	if c.thought != nil {
		see(c.thought.End, c.thought)
		return at, n, m
	}
	for i := range c.marks {
		see(c.marks[i].Open, &c.marks[i])
		see(c.marks[i].End, &Mark{})
	}
	return at, n, m
}

// hold is the length of the suffix that may begin a mark.
func (c *thoughtCutter) hold() int {
	if c.thought != nil {
		return heldBack(string(c.held), []string{c.thought.End})
	}
	var texts []string
	for _, m := range c.marks {
		texts = append(texts, m.Open, m.End)
	}
	return heldBack(string(c.held), texts)
}

// take moves n bytes from held to ready, unless they are part of a thought. It drops the
// space after an initial thought.
func (c *thoughtCutter) take(ready []byte, n int) []byte {
	for i := range n {
		b := c.held[i]
		space := strings.IndexByte(" \t\r\n", b) >= 0
		if c.thought != nil || c.hidden[i] || space && c.trim {
			continue
		}
		c.begun, c.trim = c.begun || !space, false
		ready = append(ready, b)
	}
	c.drop(n)
	return ready
}

func (c *thoughtCutter) drop(n int) { c.held, c.hidden = c.held[n:], c.hidden[n:] }

// rest is the held text after the end.
func (c *thoughtCutter) rest() []byte { return c.take(nil, len(c.held)) }

const (
	// loopPeriod is the maximum length in bytes of a repeated text that counts as a loop.
	loopPeriod = 600
	// A text of loopOnce bytes or more is a loop when it occurs twice in a row. A shorter
	// one may legitimately repeat; its repetitions must fill loopSpan bytes.
	loopOnce = 40
	loopSpan = 80
	// loopHold is how many repeated bytes are held back, because a loop may begin with
	// them.
	loopHold = 16

	marks = ".!?\n " // between sentences
)

// A loopWatch detects that a text repeats itself.
type loopWatch struct {
	text   []byte
	repeat [loopPeriod + 1]int // by period: number of bytes at the end that equal those one period before
}

// add adds the next bytes of the text.
func (w *loopWatch) add(text string) {
	for _, c := range []byte(text) {
		n := len(w.text)
		for p := 1; p <= min(loopPeriod, n); p++ {
			if w.text[n-p] == c {
				w.repeat[p]++
			} else {
				w.repeat[p] = 0
			}
		}
		w.text = append(w.text, c)
	}
}

// looped is the length of the repetition at the end, or 0.
func (w *loopWatch) looped() int {
	for p := 1; p <= min(loopPeriod, len(w.text)-1); p++ {
		need := p
		if p < loopOnce {
			need = loopSpan
		}
		if n := w.repeat[p]; n >= need {
			// The mark that ends the previous sentence is not part of it.
			for strings.IndexByte(marks, w.text[len(w.text)-n]) >= 0 && n > 1 {
				n--
			}
			return n
		}
	}
	return 0
}

// hold is the length of the end that may begin a repetition: a sentence that begins like
// the previous one, or any longer text that repeats.
func (w *loopWatch) hold() int {
	longest := 0
	for p := 1; p <= min(loopPeriod, len(w.text)-1); p++ {
		if n := w.repeat[p]; n > longest && (n >= loopHold || w.begins(len(w.text)-n) && w.begins(len(w.text)-n-p)) {
			longest = n
		}
	}
	return longest
}

// begins reports whether a sentence or line begins at this position or after the marks
// there.
func (w *loopWatch) begins(at int) bool {
	for at < len(w.text) && strings.IndexByte(marks, w.text[at]) >= 0 {
		at++
	}
	if at == len(w.text) {
		return false
	}
	for at > 0 && w.text[at-1] == ' ' {
		at--
	}
	return at == 0 || strings.IndexByte(marks, w.text[at-1]) >= 0
}
