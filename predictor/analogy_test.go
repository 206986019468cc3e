package predictor

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

func askedAbout(questions ...string) (asked []Asked) {
	for i, q := range questions {
		asked = append(asked, Asked{q, []percached.ChunkID{{byte(i + 1)}}})
	}
	return asked
}

// What was asked about two names is asked about a third that looks like them; about a name
// of the latest questions first.
func TestAnalogies(t *testing.T) {
	d := &draft{Predictor: &Predictor{states: map[kv.SpaceID]*spaceState{}}, work: &task{space: kv.NewSpaceID("mail")}}
	d.o.Buffer, d.stride = 2, 1
	asked := askedAbout(
		"What is the address of Ana Ruiz?", "What is the address of Tom Okafor?", "When does Heron end?",
		"What is the number of Ana Ruiz?", "When does Kite end?", "What is the number of Maria Fox?",
	)
	chunk := percached.Chunk{ID: percached.ChunkID{99}, Head: "### Mail", Body: "For Ida Berg and Tom Okafor: the end of Wren is in May."}
	var got []string
	for p := range d.analogies(asked, []percached.Chunk{chunk}) {
		got = append(got, p.question)
		if p.from != History || len(p.asked) != 2 || len(p.chunks) < 3 {
			t.Errorf("%+v", p)
		}
	}
	want := []string{
		"What is the address of Maria Fox?", "What is the address of Ida Berg?", "What is the number of Ida Berg?",
		"What is the number of Tom Okafor?", "When does Wren end?",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for range d.analogies(askedAbout("When does Heron end?", "When does Heron end?", "Is it Ana or Tom?"), []percached.Chunk{chunk}) {
		t.Error("one name is no pattern")
	}
	for range d.analogies(asked, []percached.Chunk{chunk}) { // it may be left at once
		break
	}
	s := d.stateOf(d.work.space)
	for i := range byte(4) {
		s.predictions[[16]byte{i}] = &storedPrediction{from: History}
	}
	for range d.analogies(asked, []percached.Chunk{chunk}) {
		t.Error("four questions wait to be asked")
		break
	}
	s.predictions[[16]byte{0}].state.hits = 1
	got = nil
	for p := range d.analogies(asked, []percached.Chunk{chunk}) {
		got = append(got, p.question)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error("one was asked:", d)
	}
}

func TestFactQuestions(t *testing.T) {
	d := &draft{from: Knowledge}
	for body, want := range map[string][]string{
		"Remember: the quarterly report is due on Friday.":                 {"When is the quarterly report due?"},
		"The deadline for our grant application is 3 May.":                 {"What is the deadline for the grant application?"},
		"Please send the signed contract back by next Tuesday, or\nby fax": {"When is the signed contract due?"},
		"The budget meeting has been moved to Thursday at nine.":           {"When is the budget meeting?"},
		"Our rent for the office rose to €1,200.":                          {"What is the rent for the office?"},
		"The budget of Heron is 46 thousand euros.":                        {"What is the budget of Heron?"},
		"The report is good. The meeting was long. The price is right.":    nil,
	} {
		var got []string
		for _, p := range d.factQuestions([]percached.Chunk{{ID: percached.ChunkID{1}, Body: body}}) {
			got = append(got, p.question)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", body, d)
		}
	}
	d.from = History
	if got := d.factQuestions([]percached.Chunk{{Body: "The report is due on Friday."}}); got != nil {
		t.Error("a round from the history is not about new documents:", got)
	}
}

func TestOpenings(t *testing.T) {
	if d := cmp.Diff(usual, openings(nil)); d != "" {
		t.Error(d)
	}
	got := openings(askedAbout("What did Ana say about it?", "When was the meeting?", "What did Tom do then?", "Wo ist das Büro?", "Summarize the meeting.", "Who?"))
	want := []string{"What did {name}", "When was", "Wo ist"}
	if !slices.Equal(got, want) {
		t.Error(got)
	}
}
