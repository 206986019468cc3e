package reader

import "strings"

// codeSpan is where code stands in a line: from begin to end with its marks.
type codeSpan struct{ begin, from, to, end int }

// firstCode finds the first code in a line. As many marks end it as began it.
func firstCode(l string) (codeSpan, bool) {
	for i := 0; i < len(l); {
		if l[i] != '`' {
			i++
			continue
		}
		n := marks(l[i:])
		if size := codeSize(l[i:]); size > n {
			return codeSpan{i, i + n, i + size - n, i + size}, true
		}
		i += n
	}
	return codeSpan{}, false
}

// codeSize is how long the code at the start of s is; without an end in its line
// it is but the marks.
func codeSize(s string) int {
	n := marks(s)
	for i := n; i < len(s) && s[i] != '\n'; {
		if s[i] != '`' {
			i++
			continue
		}
		end := marks(s[i:])
		if i += end; end == n {
			return i
		}
	}
	return n
}

// marks counts the marks at the start.
func marks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

// beginsFence gives the fence that a line begins code with, and what stands
// behind it. "```like this```" is code in a line.
func beginsFence(l string) (fence, info string) {
	m := mdFence.FindStringSubmatchIndex(l)
	if m == nil {
		return "", ""
	}
	fence, info = l[m[2]:m[3]], strings.TrimSpace(l[m[3]:])
	if fence[0] == '`' && strings.Contains(info, "`") {
		return "", ""
	}
	return fence, info
}
