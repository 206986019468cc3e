package grounded_test

import (
	"math"
	"testing"

	"github.com/percached/percached/internal/answer/grounded"
)

func TestAgreement(t *testing.T) {
	const question = "Which language is Tim learning?"
	const evidence = "Tim has been learning German since March."
	for _, tc := range []struct {
		answer string
		want   float64
	}{
		{"Tim is learning German.", 2.0 / 3}, // of German and March it has one
		{"German, since March.", 1},
		{"Tim is learning Spanish.", 0},
		{"Tim is learning.", 0},
		{"", 0},
	} {
		if got, ok := grounded.Agreement(question, tc.answer, evidence); !ok || math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%q: %v, %v, want %v", tc.answer, got, ok, tc.want)
		}
	}
	if _, ok := grounded.Agreement(question, "German", "Tim is learning a language."); ok {
		t.Error("an answer is held against evidence that says nothing")
	}
}

func TestGap(t *testing.T) {
	for _, tc := range []struct{ quote, question, answer string }{
		{
			"Hello all. Please send the signed contract to Maria Lopez before the meeting. Thanks",
			"What stands in place of the gap: Please send the signed contract to ____ before the meeting?", "Maria Lopez",
		},
		{
			"The rent for the new flat in the old harbour is 1,450 euros",
			"What stands in place of the gap: The rent for the new flat in the old harbour is ____ euros?", "1,450",
		},
		{"We met Tim yesterday, and later on Tim met us again", "", ""}, // given away
		{"Thanks, Tim", "", ""},
		{"nothing of this sentence is a name or a number at all", "", ""},
		{"", "", ""},
	} {
		q, a, ok := grounded.Gap(tc.quote)
		if q != tc.question || a != tc.answer || ok != (tc.answer != "") {
			t.Errorf("%q: %q, %q, %v", tc.quote, q, a, ok)
		}
		if !ok {
			continue
		}
		if v, there := grounded.Agreement(q, "It is "+a+".", a); !there || v != 1 {
			t.Errorf("%q is no answer to %q: %v", a, q, v)
		}
	}
}

func TestShare(t *testing.T) {
	const within = "The rent of the flat is 1,450 euros from May on."
	for text, want := range map[string]float64{
		"What is the rent of the flat? 1450 euros": 1, "What is Ann's rent?": 0.5, "Who sings?": 0, "": 0,
	} {
		if got := grounded.Share(text, within); math.Abs(got-want) > 1e-9 {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}
