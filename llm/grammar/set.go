package grammar

import "unicode/utf8"

// span is a range of characters, both ends included.
type span struct{ low, high rune }

// A set is a set of characters.
type set struct {
	spans []span
	not   bool
	ascii [2]uint64 // the members below 128
}

func newSet(spans []span, not bool) *set {
	s := &set{spans: spans, not: not}
	for r := rune(0); r < utf8.RuneSelf; r++ {
		if s.search(r) {
			s.ascii[r>>6] |= 1 << (r & 63)
		}
	}
	return s
}

func (s *set) search(r rune) bool {
	for _, sp := range s.spans {
		if sp.low <= r && r <= sp.high {
			return !s.not
		}
	}
	return s.not
}

func (s *set) has(r rune) bool {
	if r < utf8.RuneSelf {
		return s.ascii[r>>6]>>(r&63)&1 == 1
	}
	return s.search(r)
}

// meets reports whether a character of a range is a member. Where all members are asked
// for that the set leaves out, it may say yes for a range that is left out in parts.
func (s *set) meets(low, high rune) bool {
	for _, sp := range s.spans {
		switch {
		case s.not && sp.low <= low && high <= sp.high:
			return false
		case !s.not && sp.low <= high && low <= sp.high:
			return true
		}
	}
	return s.not
}

// completions returns the first and the last character that a valid but incomplete UTF-8
// sequence can become.
func completions(part []byte) (low, high rune) {
	var first, last [utf8.UTFMax]byte
	n := copy(first[:], part)
	copy(last[:], part)
	size := 2
	switch {
	case part[0] >= 0xF0:
		size = 4
	case part[0] >= 0xE0:
		size = 3
	}
	for i := n; i < size; i++ {
		first[i], last[i] = 0x80, 0xBF
		if i > 1 {
			continue
		}
		switch part[0] { // which second bytes are valid depends on the first
		case 0xE0:
			first[i] = 0xA0
		case 0xED:
			last[i] = 0x9F
		case 0xF0:
			first[i] = 0x90
		case 0xF4:
			last[i] = 0x8F
		}
	}
	low, _ = utf8.DecodeRune(first[:size])
	high, _ = utf8.DecodeRune(last[:size])
	return low, high
}
