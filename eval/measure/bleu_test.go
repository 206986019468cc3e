package measure_test

import (
	"testing"

	"github.com/percached/percached/eval/measure"
)

// Worked by hand, and again with NLTK 3.8 (sentence_bleu over these tokens, method3,
// auto_reweigh). Each name has the n-grams shared of those said, for 1 to 4 words.
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
		// the, cat, on, the, mat; the cat, on the, the mat; on the mat; none of four, which
		// counts as a half of 3: (5/6·3/5·1/4·1/6)^¼ = (1/48)^¼.
		{"5/6 3/5 1/4 0/3", "the cat sat on the mat", []string{"the cat is on the mat"}, 0.3799},
		// "the" counts as often as one right answer has it at the most: twice. The others are
		// 1/2 of 6, 1/4 of 5, 1/8 of 4: (2/7·1/12·1/20·1/32)^¼.
		{
			"2/7 0/6 0/5 0/4", "the the the the the the the",
			[]string{"the cat is on the mat", "there is a cat on the mat"},
			0.0781,
		},
		// Two words have no three in a row: (2/2·1/1)^½.
		{"short, the same", "$46,000", []string{"$46,000"}, 1},
		{"1/2 0/1: (1/2·1/2)^½", "$46,000", []string{"46,000"}, 0.5},
		{"one word of two", "a b", []string{"a c"}, 0.5},
		// 4/4, then 1/2 of 3, 1/4 of 2, 1/8 of 1: (1/6·1/8·1/8)^¼ = (1/384)^¼.
		{"4/4 0/3 0/2 0/1", "a b c d", []string{"a c b d"}, 0.2259},
		// Right answers together: Maren brings, brings the | the big, big tent; 1 of 3 in
		// three words each: "Maren brings the", "the big tent"; none of 2. Both are 6 long:
		// exp(1-6/5) = 0.8187; (5/5·4/4·2/3·1/4)^¼ = (1/6)^¼ = 0.6389.
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
		// The nearest length counts, of two as near the shorter: 3 words against 2 and 4 are
		// not too short. (3/3·2/2·1/1)^⅓.
		{"lengths 2 and 4 against 3", "a b c", []string{"x y", "a b c d"}, 1},
		{"the longer is nearer: exp(1-4/3)", "a b c", []string{"x", "a b c d"}, 0.7165},
		// Where there is nothing to smooth: (6/7·5/6·4/5·3/4)^¼ = (3/7)^¼. Of the right ones
		// that which is as long as the answer is the nearer.
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
