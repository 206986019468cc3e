package llamacpp

import (
	"strings"
	"unicode/utf8"
)

// A stream turns the bytes of tokens into pieces of whole UTF-8 and finds stop
// strings, which may begin in one token and end in another.
type stream struct {
	emit    func(string) error
	stop    []string
	pending []byte // not emitted yet
	text    strings.Builder
}

// write takes the bytes of one token; stopped says that a stop string came.
func (s *stream) write(b []byte) (stopped bool, err error) {
	s.pending = append(s.pending, b...)
	whole := wholeRunes(s.pending)
	text := string(s.pending[:whole])
	end := len(text)
	for _, stop := range s.stop {
		if i := strings.Index(text, stop); stop != "" && i >= 0 {
			end, stopped = min(end, i), true
		}
	}
	if stopped {
		s.pending = nil
		return true, s.send(text[:end])
	}
	// What may be the head of a stop string waits for the rest of it.
	hold := heldBack(text, s.stop)
	s.pending = append([]byte(text[len(text)-hold:]), s.pending[whole:]...)
	return false, s.send(text[:len(text)-hold])
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
