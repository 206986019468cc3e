package answer_test

import (
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/llm/llmtest"
)

// A space with parallel placement is answered by a model that has none, in sequential
// placement. A question that asks for parallel itself gets the model's refusal.
func TestNoParallel(t *testing.T) {
	parallel := percached.Parallel
	o := llmtest.DefaultOptions()
	o.NoParallel = "it computes one sequence"
	set := answer.Default()
	set.Bank = false
	w, r := readerWorld(t, set, o)
	for name, tc := range map[string]struct {
		space, question *percached.Placement
		want            percached.Placement
	}{
		"none":         {nil, nil, percached.Sequential},
		"the space":    {&parallel, nil, percached.Sequential},
		"the question": {&parallel, &parallel, percached.Parallel},
	} {
		w.docs.set.Placement = tc.space
		r.prompts = nil
		w.asks(t, answer.Question{Space: "s", Text: heron.Text, Settings: percached.Settings{Placement: tc.question}})
		if len(r.prompts) != 1 || r.prompts[0].Placement != tc.want {
			t.Errorf("%s: %d prompts, want one in placement %v: %+v", name, len(r.prompts), tc.want, r.prompts)
		}
	}
}
