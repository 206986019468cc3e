package llamacpp

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached"
)

// A stream turns the bytes of tokens into pieces of whole UTF-8 and finds stop
// strings, which may begin in one token and end in another, and loops.
type stream struct {
	emit    func(string) error
	stop    []string
	loop    *loopWatch // nil: loops go on
	cut     thoughtCutter
	pending []byte // not emitted yet
	watched int    // of pending: what the watch has seen
	text    strings.Builder
}

// write takes the bytes of one token, and says why the text ends, if it does. Of a
// control token only marks of thoughts are looked at.
func (s *stream) write(b []byte, control bool) (ended percached.Finish, err error) {
	return s.add(s.cut.write(b, control))
}

// add takes what is no thought.
func (s *stream) add(b []byte) (ended percached.Finish, err error) {
	s.pending = append(s.pending, b...)
	whole := wholeRunes(s.pending)
	text := string(s.pending[:whole])
	end, stopped := len(text), false
	for _, stop := range s.stop {
		if i := strings.Index(text, stop); stop != "" && i >= 0 {
			end, stopped = min(end, i), true
		}
	}
	if stopped {
		s.pending = nil
		return percached.FinishStop, s.send(text[:end])
	}
	// What may be the head of a stop string waits for the rest of it.
	hold := heldBack(text, s.stop)
	if s.loop != nil {
		s.loop.add(text[s.watched:])
		if n := s.loop.looped(); n > 0 {
			s.pending = nil
			return percached.FinishLoop, s.send(text[:max(0, len(text)-n)])
		}
		hold = runeHead(text, max(hold, min(s.loop.hold(), len(text))))
		s.watched = hold
	}
	s.pending = append([]byte(text[len(text)-hold:]), s.pending[whole:]...)
	return "", s.send(text[:len(text)-hold])
}

// runeHead makes an end of a text longer until it begins with a whole rune.
func runeHead(text string, n int) int {
	for n < len(text) && n > 0 && !utf8.RuneStart(text[len(text)-n]) {
		n++
	}
	return n
}

// end emits what is left when the model has ended, or its budget. It gives the reason:
// another one, if that came within a thought.
func (s *stream) end(why percached.Finish) (percached.Finish, error) {
	thinking := s.cut.thought != nil
	if ended, err := s.add(s.cut.rest()); ended != "" || err != nil {
		return ended, err
	}
	if thinking {
		why = percached.FinishThought
	}
	return why, s.flush()
}

// flush emits what is left; bytes that never became UTF-8 are replaced.
func (s *stream) flush() error {
	text := strings.ToValidUTF8(string(s.pending), string(utf8.RuneError))
	s.pending = nil
	return s.send(text)
}

func (s *stream) send(text string) error {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if text == "" {
		return nil
	}
	s.text.WriteString(text)
	if s.emit == nil {
		return nil
	}
	return s.emit(text)
}

// wholeRunes is the length of b without a rune cut short at its end.
func wholeRunes(b []byte) int {
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

// heldBack is the length of the longest tail of text that begins a stop string.
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

// A mark is how models of one family write where a thought begins and ends.
type mark struct {
	open, end string
	// empty ends a thought that has just begun, in a prompt.
	empty string
}

// knownMarks are those of the families that percached knows. None is part of another, so
// that a text is cut in one way only.
func knownMarks() []mark {
	return []mark{
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

// finalChannel is where gpt-oss writes what the user is to read.
const finalChannel = "<|channel|>final<|message|>"

// thoughtMarks are those that a model may write: its template names them, or the
// beginning is a token of its vocabulary.
func thoughtMarks(template string, tokens []string) []mark {
	var known []mark
	for _, m := range knownMarks() {
		if strings.Contains(template, m.open) || strings.Contains(template, m.end) || slices.Contains(tokens, m.open) {
			known = append(known, m)
		}
	}
	return known
}

// withoutThought ends a thought that the opening of an answer has begun, so that the
// model answers at once.
func withoutThought(opening string, known []mark) string {
	if strings.HasSuffix(opening, "<|start|>assistant") && slices.ContainsFunc(known, func(m mark) bool { return m.end == finalChannel }) {
		return opening + finalChannel
	}
	for _, m := range known {
		at := strings.LastIndex(opening, m.open)
		if at < 0 || strings.Contains(opening[at:], m.end) {
			continue
		}
		if m.end == "<|content|>" && strings.HasSuffix(opening, "<|begin|>assistant") {
			return opening + m.end // the template has ended the thought, and not begun the answer
		}
		if strings.HasSuffix(m.open, "\n") || !strings.HasSuffix(opening, "\n") {
			return opening + m.empty
		}
		return strings.TrimSuffix(opening, "\n") + "\n" + m.empty
	}
	return opening
}

// A thoughtCutter takes thoughts out of a text that comes in pieces. However the text
// is cut into pieces, the same is left of it.
type thoughtCutter struct {
	marks   []mark
	held    []byte // may become a mark
	hidden  []bool // of held: a control token's text, which nobody reads
	thought *mark  // the one that is going on
	begun   bool   // something was there to read
	trim    bool   // nothing was, and a thought has ended
}

// write takes the next piece and gives what of the text is ready to be read.
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
		if c.thought == nil && m.open != "" {
			c.thought = m
		} else {
			c.thought, c.trim = nil, !c.begun
		}
	}
	return c.take(ready, len(c.held)-c.hold())
}

// find looks for the next mark: where it is and how long. Outside of a thought an end
// without a beginning is one, too.
func (c *thoughtCutter) find() (at, n int, m *mark) {
	at = len(c.held)
	see := func(text string, of *mark) {
		if i := bytes.Index(c.held, []byte(text)); i >= 0 && i < at {
			at, n, m = i, len(text), of
		}
	}
	if c.thought != nil {
		see(c.thought.end, c.thought)
		return at, n, m
	}
	for i := range c.marks {
		see(c.marks[i].open, &c.marks[i])
		see(c.marks[i].end, &mark{})
	}
	return at, n, m
}

// hold is how much of the end may be the beginning of a mark.
func (c *thoughtCutter) hold() int {
	if c.thought != nil {
		return heldBack(string(c.held), []string{c.thought.end})
	}
	var texts []string
	for _, m := range c.marks {
		texts = append(texts, m.open, m.end)
	}
	return heldBack(string(c.held), texts)
}

// take moves n bytes from what is held to what is ready, unless they are thought. The
// space before the answer goes, too, if a thought came there.
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

// rest is what was held back when the text has ended.
func (c *thoughtCutter) rest() []byte { return c.take(nil, len(c.held)) }

const (
	// loopPeriod is the longest text, in bytes, whose repetition counts.
	loopPeriod = 600
	// A text of loopOnce bytes or more is a loop when it came twice in a row. A
	// shorter one may rightly come twice: it must fill loopSpan bytes again.
	loopOnce = 40
	loopSpan = 80
	// loopHold bytes that repeat are held back, as a loop may begin with them.
	loopHold = 16

	marks = ".!?\n " // between sentences
)

// A loopWatch notices that a text has begun to repeat itself.
type loopWatch struct {
	text   []byte
	repeat [loopPeriod + 1]int // by period: how many bytes at the end equal those a period before
}

// add takes the next bytes of the text.
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

// looped gives the length of the end that is a repetition; 0 if the text is none.
func (w *loopWatch) looped() int {
	for p := 1; p <= min(loopPeriod, len(w.text)-1); p++ {
		need := p
		if p < loopOnce {
			need = loopSpan
		}
		if n := w.repeat[p]; n >= need {
			// The mark that ends the sentence before is no part of it.
			for strings.IndexByte(marks, w.text[len(w.text)-n]) >= 0 && n > 1 {
				n--
			}
			return n
		}
	}
	return 0
}

// hold gives the length of the end that may be the beginning of a repetition: a
// sentence that begins as the one before it, or any longer text that comes again.
func (w *loopWatch) hold() int {
	longest := 0
	for p := 1; p <= min(loopPeriod, len(w.text)-1); p++ {
		if n := w.repeat[p]; n > longest && (n >= loopHold || w.begins(len(w.text)-n) && w.begins(len(w.text)-n-p)) {
			longest = n
		}
	}
	return longest
}

// begins says that a sentence or a line begins at a place, or behind the marks that
// stand there.
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
