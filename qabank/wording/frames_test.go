package wording

import (
	"slices"
	"strings"
	"testing"
)

// A frame that cannot be read would never fit, and one whose plain side lost a
// slot would let anything pass for anything.
func TestFramesAreSound(t *testing.T) {
	seen := map[string]bool{}
	n := 0
	lines("frames", func(l string) {
		n++
		asked, _, ok := strings.Cut(l, " = ")
		if !ok || seen[asked] {
			t.Errorf("%q is no frame, or there twice", l)
		}
		seen[asked] = true
		f := parseFrame(l)
		slots := func(p []part) (out []string) {
			for _, s := range p {
				if s.slot == "X" || s.slot == "Y" {
					out = append(out, s.slot)
				}
				if s.list != "" && s.list != "plural" && len(english().small[s.list]) == 0 {
					t.Errorf("%q: no list %q", l, s.list)
				}
				if strings.ContainsAny(strings.Join(s.words, ""), "()=:") {
					t.Errorf("%q: odd words %q", l, s.words)
				}
			}
			slices.Sort(out)
			return out
		}
		if a, b := slots(f.asked), slots(f.plain); !slices.Equal(a, b) || len(a) > len(slices.Compact(slices.Clone(a))) {
			t.Errorf("%q: %v become %v", l, a, b)
		}
		if slices.ContainsFunc(f.plain, func(p part) bool { return p.optional || p.list != "" || len(p.words) > 1 }) {
			t.Errorf("%q leaves open what is plain", l)
		}
	})
	if n < 150 {
		t.Errorf("%d frames", n)
	}
}

func TestPlainly(t *testing.T) {
	for _, tt := range []struct{ question, want string }{
		{"what is the venue for the wedding", "where is the wedding"},
		{"what was the venue for the wedding", "where was the wedding"},
		{"where did the wedding take place", "where was the wedding"},
		{"where did the cat take place", "where did the cat take place"},
		{"who does the bakery belong to", "who owns the bakery"},
		{"who did the bakery belong to", "who did the bakery belong to"},
		{"how many rooms were there in the hotel", "how many rooms did the hotel have"},
		{"what is the number of the room in the hotel", "what is the number of the room in the hotel"},
		{"by when do we have to pay the rent for the flat", "when is the rent for the flat due"},
		{"by when do we have to pay the boy", "by when do we have to pay the boy"},
		{"who runs the club", "who leads the club"},
		{"who runs the marathon", "who runs the marathon"},
		{"what is the venue for", "what is the venue for"},
		{"", ""},
	} {
		tokens, _ := split(tt.question)
		if got := join(plainly(tokens)); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.question, got, tt.want)
		}
	}
}

// Who is meant to do it is part of the question, whatever its kind and verb.
func TestWhoIsMeant(t *testing.T) {
	for _, ask := range []string{
		"When does Ana want %s to call?", "Where would Ana like %s to wait?", "How much does Ana expect %s to pay?", "Why did Ana ask %s to stay?",
		"How long will Ana let %s wait?", "When did Ana help %s move?", "How often does Ana need %s to come?", "When did Ana tell %s to leave?",
		"What does Ana want %s to do?", "When did Ana call %s?", "Where did Ana make %s sit?",
	} {
		people := []string{"", "me", "him", "her", "them", "you", "Bo", "each other", "somebody"}
		for i, a := range people {
			for _, b := range people[:i] {
				qa, qb := strings.ReplaceAll(ask, "%s", a), strings.ReplaceAll(ask, "%s", b)
				if len(Compare(qa, qb)) == 0 {
					t.Errorf("%q and %q do not differ", qa, qb)
				}
			}
		}
	}
	for _, whose := range []string{"When is %s flight?", "Where did Ana put %s passport?", "What does %s son want?"} {
		all := []string{"my", "our", "your", "his", "her", "their", "Bo's"}
		for i, a := range all {
			for _, b := range all[:i] {
				qa, qb := strings.ReplaceAll(whose, "%s", a), strings.ReplaceAll(whose, "%s", b)
				if len(Compare(qa, qb)) == 0 {
					t.Errorf("%q and %q do not differ", qa, qb)
				}
			}
		}
	}
	for _, harmless := range [][2]string{
		{"Where is the key?", "Can you tell me where the key is?"},
		{"Where is the key?", "Let me know where the key is."},
		{"When is the match?", "Remind me when the match is."},
		{"How do I reset the clock?", "How to reset the clock?"},
		{"Where do I park?", "Where can I park?"},
	} {
		if d := Compare(harmless[0], harmless[1]); len(d) != 0 {
			t.Errorf("%q and %q differ: %v", harmless[0], harmless[1], d)
		}
	}
}

// What befell a thing is the same as a noun; what it did, or somebody, is not.
func TestBefalls(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{"Why was the launch delayed?", "What was the reason for the launch delay?", true},
		{"When will the parcel be delivered?", "When will the delivery of the parcel be?", true},
		{"When was Ana replaced?", "When was Ana's replacement?", false},
		{"When was mother replaced?", "When was mother's replacement?", false},
		{"When does the firm deliver?", "When is the firm delivered?", false},
		{"Who delayed the launch?", "Who was the launch delay?", false},
	} {
		if d := Compare(tt.a, tt.b); (len(d) == 0) != tt.same {
			t.Errorf("%q and %q: %v", tt.a, tt.b, d)
		}
	}
}
