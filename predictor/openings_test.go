package predictor_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/predictor"
)

// A model that does not follow prompts summarises nothing. It ends questions that begin
// like those of the user, and none without an end is kept.
func TestContinuedQuestions(t *testing.T) {
	w := start(t)
	w.o.FollowsPrompts, w.o.PromptWords = false, 40
	w.reopen(false)
	w.add("Heron", 1, "Ana Ruiz said that Heron will move to the pier in May.")
	w.add("Kite", 2, "The kites of Tom Okafor are red.")
	w.add("Old", 3, strings.Repeat("Nothing of this fits into a prompt of forty words. ", 5))
	w.summarise()
	if s := w.stats(); s.Parts != 3 || len(w.prompts) != 0 {
		t.Fatalf("%+v after %d calls", s, len(w.prompts))
	}
	w.asked = func() ([]predictor.Asked, error) {
		return []predictor.Asked{{Question: "When did Maria Fox go to Leeds?"}, {Question: "When did Bo come back?"}, {Question: "Why is it late?"}}, nil
	}
	w.say = func(prompt string) string {
		if strings.HasSuffix(prompt, "Why is") {
			return " it late, and what\nis the matter? And"
		}
		return " agree to the pier? And then"
	}
	r := w.predict(3)
	want := []string{"When did Ana Ruiz agree to the pier?"}
	if d := cmp.Diff(want, w.questions()); d != "" || r.Sources != 2 || r.Usage.Generated == 0 {
		t.Errorf("%s %+v", d, r)
	}
	if len(w.prompts) != 2 || !strings.Contains(w.prompts[0], "kites of Tom") || strings.Contains(w.prompts[0], "Nothing of this") {
		t.Errorf("%q", w.prompts)
	}
	if p, err := w.Predictions("mail"); err != nil || len(p) != 1 || len(p[0].Chunks) != 2 || p[0].From != predictor.Knowledge {
		t.Errorf("%+v, %v", p, err)
	}
	for w.predict(3).Sources > 0 {
	}
	if s := w.stats(); s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
	w.prompts = nil
	if _, err := w.FromHistory(t.Context(), "mail", 3); err != nil || len(w.prompts) != 0 {
		t.Errorf("it asked the model for a list: %q, %v", w.prompts, err)
	}
}
