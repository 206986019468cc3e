package trial

import (
	"testing"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// A wrong answer is another question's answer that shares nothing with the right ones. The
// same question gets the same wrong answer.
func TestWrongAnswer(t *testing.T) {
	asked := []eval.Asked{
		{Text: "What is the budget?", Gold: []string{"$46,000", "46,000 dollars"}},
		{Text: "What may be spent?", Gold: []string{"46,000 dollars"}},
		{Text: "Who leads it?", Gold: []string{"Wilma Tarn", "Wilma"}},
		{Text: "What is the budget?", Gold: []string{"$46,000", "46,000 dollars"}},
		{Text: "What else?"},
		{Text: "Who led it?", Gold: []string{"Wilma"}},
	}
	for i, want := range []string{"Wilma Tarn", "Wilma Tarn", "$46,000", "Wilma Tarn", madeUpAnswer, "$46,000"} {
		got := wrongAnswer(asked, i)
		if got != want {
			t.Errorf("%s: %q, not %q", asked[i].Text, got, want)
		}
		for _, right := range asked[i].Gold {
			if measure.F1(got, []string{right}) > 0 || !measure.Contradicts(got, right) {
				t.Errorf("%s: %q is not wrong", asked[i].Text, got)
			}
		}
	}
	if got := wrongAnswer(asked[:2], 0); got != madeUpAnswer {
		t.Errorf("where all others are right, too: %q", got)
	}
}
