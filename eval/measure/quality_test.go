package measure_test

import (
	"math"
	"testing"

	"github.com/percached/percached/eval/measure"
)

// By hand: with s words in the answer, r in the right one and c in both, F1 is 2c/(s+r).
func TestAgainstGold(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer string
		gold   []string
		exact  bool
		within bool // the answer contains it
		f1     float64
	}{
		{"the same", "room 1.12", []string{"room 1.12"}, true, true, 1},
		{"case, punctuation, article, space", "  The ROOM  1.12! ", []string{"room 1.12"}, true, true, 1},
		{"a, an", "a cat and an ox", []string{"cat and ox"}, true, true, 1},
		{"an article within a word", "theatre", []string{"atre"}, false, false, 0},
		{"another", "room 7", []string{"hall 8"}, false, false, 0},
		{"a sentence around it: 2 of 6 and 2", "He takes it to room 12", []string{"room 12"}, false, true, 0.5},
		{"1 of 3 and 1", "it is $46,000", []string{"46,000"}, false, true, 0.5},
		{"2 of 3 and 4", "on 28 February", []string{"by Friday 28 February"}, false, false, 0.5714},
		{"a word twice is shared once: 1 of 2 and 1", "no no", []string{"no"}, false, true, 0.6667},
		{"twice on both sides: 2 of 3 and 2", "no no never", []string{"no no"}, false, true, 0.8},
		{"the nearest counts: 1 of 1 and 2, 1 of 1 and 3", "Maren", []string{"Cato's sister Maren", "sister Maren"}, false, false, 0.6667},
		{"one of several", "Maren", []string{"Cato's sister Maren", "Maren"}, true, true, 1},
		{"a hyphen goes", "twenty-one", []string{"twentyone"}, true, true, 1},
		{"other scripts", "Zürich–Genf", []string{"zürich–genf"}, true, true, 1},
		{"nothing said", "", []string{"room 12"}, false, false, 0},
		{"nothing said that counts, nothing right that counts", "The.", []string{"a"}, true, false, 1},
		{"nothing right", "room 12", []string{"the"}, false, false, 0},
		{"no gold", "room 12", nil, false, false, 0},
		{"within a word only", "room 122", []string{"room 12"}, false, false, 0.5},
		{"in another order", "12 room", []string{"room 12"}, false, false, 1},
		{"other words between", "room or hall 12", []string{"room 12"}, false, false, 0.6667},
		{"at the end, after a false start", "the big, the big tent.", []string{"big tent"}, false, true, 0.8},
		{"one of several is contained", "it is in hall 8", []string{"room 12", "Hall 8"}, false, true, 0.5714},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := measure.Exact(tc.answer, tc.gold); got != tc.exact {
				t.Errorf("exact: %v", got)
			}
			if got := measure.Contains(tc.answer, tc.gold); got != tc.within {
				t.Errorf("contains: %v", got)
			}
			if got := math.Round(measure.F1(tc.answer, tc.gold)*1e4) / 1e4; got != tc.f1 {
				t.Errorf("F1: %v, want %v", got, tc.f1)
			}
		})
	}
}

func four(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// By hand: with s words in the answer, r in the right one and a longest common subsequence
// of c words, ROUGE-L is 2c/(s+r).
func TestRougeL(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer string
		gold   []string
		want   float64
	}{
		{"the same", "room twelve", []string{"room twelve"}, 1},
		{"police, the, gunman: 3 of 4 and 4", "police kill the gunman", []string{"police killed the gunman"}, 0.75},
		{"the gunman: 2 of 4 and 4; order counts", "the gunman kill police", []string{"police killed the gunman"}, 0.5},
		{"either half alone: 2 of 4 and 4", "the gunman police killed", []string{"police killed the gunman"}, 0.5},
		{"gaps may lie between: tent, on, Friday: 3 of 6 and 3", "the tent goes out on Friday", []string{"tent on Friday"}, 0.6667},
		{"case and punctuation go: room 1 12: 3 of 5 and 3", "The ROOM is 1.12!", []string{"room 1-12"}, 0.75},
		{"articles stay: hut: 1 of 2 and 2", "the hut", []string{"a hut"}, 0.5},
		{"no stemming: 1 of 2 and 2", "two tents", []string{"two tent"}, 0.5},
		{"an apostrophe parts: don, t, know: 3 of 4 and 3", "I don't know", []string{"don t know"}, 0.8571},
		{"a letter with an accent parts: z, rich: 2 of 2 and 2", "Zürich", []string{"z rich"}, 1},
		{"a word twice is shared once: 1 of 2 and 1", "no no", []string{"no"}, 0.6667},
		{"long against short: 2 of 9 and 2", "it is said that room twelve is quite warm", []string{"room twelve"}, 0.3636},
		{"the nearest counts: 2 of 2 and 3, not 1 of 2 and 1", "sister Maren", []string{"Maren", "Cato's sister", "sister of Maren"}, 0.8},
		{"nothing shared", "room 7", []string{"hall 8"}, 0},
		{"nothing said", "", []string{"room"}, 0},
		{"no words on either side", "!", []string{"?"}, 0},
		{"no gold", "room", nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := four(measure.RougeL(tc.answer, tc.gold)); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}

// By hand, and again with NLTK 3.8 (sentence_bleu over these tokens, method3,
// auto_reweigh). Each comment has the shared n-grams of all, for 1 to 4 words.
func TestBLEU(t *testing.T) {
	for _, tc := range []struct {
		name   string
		answer string
		gold   []string
		want   float64
	}{
		{"the same", "the hut has only an open fire", []string{"the hut has only an open fire"}, 1},
		// 8 words against 9: exp(1-9/8) = 0.8825; (7/8·6/7·5/6·4/5)^¼ = (1/2)^¼ = 0.8409.
		{
			"7/8 6/7 5/6 4/5, one word short", "the hut has only an open fire there",
			[]string{"the hut has only an open fire in it"},
			0.7421,
		},
		// the, cat, on, the, mat; the cat, on the, the mat; on the mat; none of four,
		// which counts as a half of 3: (5/6·3/5·1/4·1/6)^¼ = (1/48)^¼.
		{"5/6 3/5 1/4 0/3", "the cat sat on the mat", []string{"the cat is on the mat"}, 0.3799},
		// "the" counts at most as often as in one right answer: twice. The others are 1/2
		// of 6, 1/4 of 5, 1/8 of 4: (2/7·1/12·1/20·1/32)^¼.
		{
			"2/7 0/6 0/5 0/4", "the the the the the the the",
			[]string{"the cat is on the mat", "there is a cat on the mat"},
			0.0781,
		},
		// Two words have no n-gram of three: (2/2·1/1)^½.
		{"short, the same", "$46,000", []string{"$46,000"}, 1},
		{"1/2 0/1: (1/2·1/2)^½", "$46,000", []string{"46,000"}, 0.5},
		{"one word of two", "a b", []string{"a c"}, 0.5},
		// 4/4, then 1/2 of 3, 1/4 of 2, 1/8 of 1: (1/6·1/8·1/8)^¼ = (1/384)^¼.
		{"4/4 0/3 0/2 0/1", "a b c d", []string{"a c b d"}, 0.2259},
		// Right answers together: Maren brings, brings the | the big, big tent; 1 of 3
		// with three words: "Maren brings the", "the big tent"; none of 2. Both are 6
		// long: exp(1-6/5) = 0.8187; (5/5·4/4·2/3·1/4)^¼ = (1/6)^¼ = 0.6389.
		{
			"5/5 4/4 2/3 0/2, one word short", "Maren brings the big tent",
			[]string{"Maren brings the tent on Friday", "the big tent is with Maren"},
			0.5231,
		},
		// He pays 1.5 per cent on 28 - 30 May . : 11 words, "on" is wrong.
		// (10/11·8/10·6/9·4/8)^¼ = (8/33)^¼.
		{
			"tokens: 10/11 8/10 6/9 4/8", "He pays 1.5 per cent on 28-30 May.",
			[]string{"He pays 1.5 per cent from 28-30 May."},
			0.7017,
		},
		// The nearest length counts, and the shorter of two equally near: 3 words against
		// 2 and 4 are not too short. (3/3·2/2·1/1)^⅓.
		{"lengths 2 and 4 against 3", "a b c", []string{"x y", "a b c d"}, 1},
		{"the longer is nearer: exp(1-4/3)", "a b c", []string{"x", "a b c d"}, 0.7165},
		// Nothing to smooth: (6/7·5/6·4/5·3/4)^¼ = (3/7)^¼. The right answer with the
		// length of the answer is the nearest.
		{
			"6/7 5/6 4/5 3/4", "the cat sat on the mat today",
			[]string{"the cat sat on a mat", "the cat sat on the mat now"},
			0.8091,
		},
		// (6/7·4/6·3/5·2/4)^¼ = (6/35)^¼.
		{
			"6/7 4/6 3/5 2/4, one word long", "Maren brings the big tent on Friday",
			[]string{"Maren brings the big tent Friday"},
			0.6435,
		},
		// 4 of 7 words, all right: exp(1-7/4).
		{"4/4 3/3 2/2 1/1, three words short", "the cat sat on", []string{"the cat sat on the mat now"}, 0.4724},
		{"case counts: 1/2 0/1", "Big tent", []string{"big tent"}, 0.5},
		{"marks: 3 tokens on both sides", "(yes)", []string{"( yes )"}, 1},
		{"an apostrophe and a hyphen stay: 2/2 1/1", "Cato's twenty-one", []string{"Cato's twenty-one"}, 1},
		{"no word shared", "x y z", []string{"a b c"}, 0},
		{"nothing said", "", []string{"a"}, 0},
		{"no gold", "a", nil, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := four(measure.BLEU(tc.answer, tc.gold)); got != tc.want {
				t.Errorf("%v, want %v", got, tc.want)
			}
		})
	}
}
