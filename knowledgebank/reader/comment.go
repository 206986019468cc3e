package reader

import "strings"

const (
	commentOpens  = "<!--"
	commentCloses = "-->"
)

// uncommented takes the comments out of Markdown. None begins in code, and one
// that never ends is text.
func uncommented(text string) string {
	var b strings.Builder
	last := strings.LastIndex(text, commentCloses)
	fence := "" // of the code that is open
	for at := 0; at < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		l := text[at:end]
		opens, _ := beginsFence(l)
		switch {
		case fence != "":
			if endsFence(l, fence) {
				fence = ""
			}
		case opens != "":
			fence = opens
		default:
			at = uncommentedLine(&b, text, at, last)
			continue
		}
		b.WriteString(l)
		at = end
	}
	return b.String()
}

// uncommentedLine copies one line, or what stands before and behind the comments
// that begin in it. It gives where the next line begins. No comment ends behind last.
func uncommentedLine(b *strings.Builder, text string, at, last int) int {
	from := at
	for {
		n := strings.IndexAny(text[at:], "`<\n")
		if n < 0 {
			b.WriteString(text[from:])
			return len(text)
		}
		switch at += n; {
		case text[at] == '\n':
			b.WriteString(text[from : at+1])
			return at + 1
		case text[at] == '`':
			at += codeSize(text[at:])
		case strings.HasPrefix(text[at:], commentOpens) && at+2 <= last:
			b.WriteString(text[from:at])
			at += 2 // the shortest of all is "<!-->"
			at += strings.Index(text[at:], commentCloses) + len(commentCloses)
			from = at
		default:
			at++
		}
	}
}

// endsFence says that a line ends the code that a fence began.
func endsFence(l, fence string) bool {
	t := strings.TrimSpace(l)
	return strings.HasPrefix(t, fence) && strings.Trim(t, fence[:1]) == ""
}
