package llamacpp

import (
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
