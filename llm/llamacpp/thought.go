package llamacpp

import (
	"bytes"
	"slices"
	"strings"
)

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
