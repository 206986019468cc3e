package reply

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/percached/percached"
)

func TestStream(t *testing.T) {
	for _, c := range []struct {
		name    string
		stop    []string
		tokens  []string
		want    string
		stopped bool
	}{
		{"plain", nil, []string{"a", "b"}, "ab", false},
		{"a rune in pieces", nil, []string{"\xe2\x82", "\xac!"}, "€!", false},
		{"a rune never finished", nil, []string{"x\xe2\x82"}, "x\uFFFD", false},
		{"the earliest of several stops", []string{"b", "ab"}, []string{"xab"}, "x", true},
		{"the earliest, named the other way", []string{"ab", "b"}, []string{"xab"}, "x", true},
		{"a stop over three tokens", []string{"END"}, []string{"so E", "N", "D of it"}, "so ", true},
		{"what only began like a stop", []string{"END"}, []string{"so E", "N", "T"}, "so ENT", false},
		{"a stop that never came whole", []string{"END"}, []string{"so EN"}, "so EN", false},
		{"an empty stop is none", []string{""}, []string{"ab"}, "ab", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var heard strings.Builder
			s := New(func(piece string) error {
				if piece == "" || !utf8.ValidString(piece) {
					t.Errorf("piece %q", piece)
				}
				heard.WriteString(piece)
				return nil
			}, c.stop, false, nil)
			stopped := false
			for _, token := range c.tokens {
				ended, err := s.Write([]byte(token), false)
				if stopped = ended == percached.FinishStop; err != nil || stopped {
					break
				}
			}
			if !stopped {
				if err := s.flush(); err != nil {
					t.Fatal(err)
				}
			}
			if heard.String() != c.want || s.Text() != c.want || stopped != c.stopped {
				t.Errorf("heard %q, kept %q, stopped %v; want %q, %v", heard.String(), s.Text(), stopped, c.want, c.stopped)
			}
		})
	}
}
