package predictor

import (
	"regexp"
	"strings"
	"unicode"
)

var (
	// What a model thinks aloud is no list; it may be cut off.
	thinking = regexp.MustCompile(`(?is)<think(?:ing)?>.*?(?:</think(?:ing)?>|$)`)
	// Control tokens that were printed as text. Behind those that end a turn
	// another one begins, which nobody asked for.
	turnEnd = regexp.MustCompile(`(?i)<\|(?:im_end|im_start|endoftext|eot_id|end|end_of_text|start_header_id)\|>|</s>|<(?:end|start)_of_turn>|<eos>`)
	control = regexp.MustCompile(`(?i)<\|[\w-]{1,30}\|>|</?s>|<[be]os>|<unk>|<pad>|\[/?INST\]`)
	// The role that follows the opening of a turn.
	role = regexp.MustCompile(`(?i)^\s*(?:assistant|user|system|model)?\s*\n`)
	tag  = regexp.MustCompile(`(?i)</?(?:ol|ul|li|p|br|b|i|em|strong|div|h[1-6]|question|questions|q)(?:\s[^<>]*)?/?>`)
)

// tidy makes plain lines of what a model printed: no control characters or
// tokens, no frames of markdown or HTML.
func tidy(text string) string {
	text = strings.ToValidUTF8(text, "")
	text = strings.Map(plain, strings.ReplaceAll(text, "\r\n", "\n"))
	text = thinking.ReplaceAllString(text, "\n")
	for {
		at := turnEnd.FindStringIndex(text)
		if at == nil {
			break
		}
		if strings.ContainsFunc(text[:at[0]], isWordRune) {
			text = text[:at[0]]
			break
		}
		text = role.ReplaceAllString(text[at[1]:], "")
	}
	text = control.ReplaceAllString(text, "\n")
	text = tag.ReplaceAllString(text, "\n")
	text = strings.NewReplacer("**", "", "__", "", "`", "").Replace(unfence(text))
	return text
}

// unfence takes out the lines that open and close blocks of code, and makes
// rows of tables lines of their cells.
func unfence(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		l = strings.TrimSpace(l)
		switch {
		case strings.HasPrefix(l, "```"), strings.HasPrefix(l, "~~~"):
			lines[i] = ""
		case strings.HasPrefix(l, "|"):
			lines[i] = strings.ReplaceAll(l, "|", "\n")
		}
	}
	return strings.Join(lines, "\n")
}

// plain gives one form to spaces and ends of lines, and drops what is
// invisible.
func plain(r rune) rune {
	switch {
	case r == '\n', r == '\r', r == '\v', r == '\f', r == 0x85, r == 0x2028, r == 0x2029:
		return '\n'
	case unicode.IsSpace(r):
		return ' '
	case r == unicode.ReplacementChar, unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return -1
	}
	return r
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
