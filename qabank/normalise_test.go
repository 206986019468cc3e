package qabank_test

import (
	"testing"

	"github.com/percached/percached/qabank"
)

func TestNormaliseMerges(t *testing.T) {
	for _, same := range [][]string{
		{"When is the party?", "when is the party", " When  is\nthe\tparty ?!", "“When is the party?”", "WHEN IS THE PARTY", "¿When is the (party)…", "when is the party？"},
		{"What's Ana's number?", "what’s ana’s number", "What`s ANA`S number?"},
		{"How much is 1,185.50?", "how much is 1,185.50 ?"},
		{"Is it -5 degrees?", "is it −5 degrees", "Is it –5 degrees"},
		{"Is IT down?", "is IT down", "Is  IT down ?"},
		{"Why, Ana?", "why ana"},
		{"caf\u00e9?", "cafe\u0301"},
		{"Is it at 5 pm?", "is it at 5 PM"},
		{"soft\u00adhyphen\u200b", "softhyphen"},
	} {
		for _, q := range same[1:] {
			if a, b := qabank.Normalise(same[0]), qabank.Normalise(q); a != b {
				t.Errorf("%q is %q, %q is %q", same[0], a, q, b)
			}
		}
	}
}

func TestNormaliseKeepsApart(t *testing.T) {
	for _, apart := range [][]string{
		{"Is it C?", "Is it C++?", "Is it C#?", "Is it .C?", "Is it C*?", "Is it c'?", "Is it @C?"},
		{"Is it 5?", "Is it -5?", "Is it $5?", "Is it 5%?", "Is it €5?", "Is it #5?", "Is it .5?", "Is it 5!", "Is it 5²?", "Is it 52?", "Is it (5)?", "Is it 5'?", "Is it 5\"?", "Is it ½5", "Is it <5", "Is it 5+"},
		{"Is it 1.5?", "Is it 15?", "Is it 1,5?", "Is it 1:5?", "Is it 1/5?", "Is it 1-5?", "Is it 1 5?"},
		{"Is it < 5?", "Is it > 5?", "Is it = 5?", "Is it <= 5?", "Is it >= 5?", "Is it 5?"},
		{"Is it down?", "Is IT down?"},
		{"Does us know?", "Does US know?"},
		{"Is it 5 mW?", "Is it 5 MW?"},
		{"Is it 5Mb?", "Is it 5MB?"},
		{"Were they here?", "We're they here?"},
		{"resume", "résumé"},
		{"re sign", "re-sign", "resign"},
		{"a.b", "ab", "a b"},
		{"x", "-x"},
		{"a", "a b"},
	} {
		seen := map[string]string{}
		for _, q := range apart {
			n := qabank.Normalise(q)
			if other, twice := seen[n]; twice {
				t.Errorf("%q and %q are both %q", q, other, n)
			}
			seen[n] = q
		}
	}
}

// Normalising twice changes nothing, for any text.
func FuzzNormalise(f *testing.F) {
	for _, s := range []string{"", "When's IT's 5 MW?", "\xff\x00", "''((--5.5!!", "İ ǅ ª IT", "5'!?", "？？", "a\u0301\u200d"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := qabank.Normalise(s)
		if again := qabank.Normalise(n); again != n {
			t.Errorf("%q becomes %q, then %q", s, n, again)
		}
		qabank.RelativeTime(s)
		qabank.FollowUp(s)
	})
}
