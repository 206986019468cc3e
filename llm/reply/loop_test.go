package reply

import (
	"strings"
	"testing"

	"github.com/percached/percached"
)

// A text ends where it begins to repeat itself, however its tokens are cut, and
// nothing of the repetition is emitted if it begins with a sentence.
func TestLoop(t *testing.T) {
	const sentence = "Tom is learning German with his sister. "
	for _, tc := range []struct{ name, text, want string }{
		{"sentence", strings.Repeat(sentence, 5), sentence},
		{"after others", "Yes. " + strings.Repeat(sentence, 3), "Yes. " + sentence},
		{"two sentences", strings.Repeat("It rains all day. "+sentence, 3), "It rains all day. " + sentence},
		{"lines", "First.\n" + strings.Repeat("- the ferry to Harwich leaves at ten\n", 9), ""},
		{"word", strings.Repeat("ha ", 100), ""},
		{"dashes", "a" + strings.Repeat("-", 300), ""},
	} {
		for _, cut := range []int{1, 3, 7} {
			var emitted strings.Builder
			s := New(func(s string) error { emitted.WriteString(s); return nil }, nil, true, nil)
			var ended percached.Finish
			for rest := tc.text; rest != "" && ended == ""; {
				n := min(cut, len(rest))
				var err error
				if ended, err = s.Write([]byte(rest[:n]), false); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			got := s.Text()
			if ended != percached.FinishLoop || got != emitted.String() || !strings.HasPrefix(tc.text, got) || len(got) > 130 || tc.want != "" && got != tc.want {
				t.Errorf("%s, %d bytes a token: %q, %q ended %q", tc.name, cut, got, emitted.String(), ended)
			}
		}
	}
}

// What is no loop comes out whole.
func TestNoLoop(t *testing.T) {
	for _, text := range []string{
		"Tom is learning German. Tom is learning French. Tom is learning Dutch.",
		"1. Milk\n2. Bread\n3. Bread rolls\n4. Milk bread\n",
		"The code is 6190 6190. The other code is 6190 6191.",
		"| a | b |\n| --- | --- |\n| 1 | 2 |\n| 1 | 3 |\n",
		"He said: no, no, no, no, no.",
		"",
	} {
		s := New(nil, nil, true, nil)
		for i := range len(text) {
			if ended, err := s.Write([]byte{text[i]}, false); ended != "" || err != nil {
				t.Fatalf("%q ended %q, %v", text[:i+1], ended, err)
			}
		}
		if err := s.flush(); err != nil || s.Text() != text {
			t.Errorf("%q became %q, %v", text, s.Text(), err)
		}
	}
}
