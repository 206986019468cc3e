package trial_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/trial"
)

// order is the order in which a run asks.
func order(t *testing.T, change func(*trial.Setup)) []string {
	t.Helper()
	s := &scripted{slices: oneSlice()}
	setup := s.setup(t, plain("a"), "1", "2", "3", "4", "5", "6", "7", "8")
	setup.Data.Sets[0].Ordered = false
	change(&setup)
	return asked(lead(t, setup).Units[0])
}

// The order of the data matters, or the seed and the user determine the order.
func TestStream(t *testing.T) {
	all := []string{"1", "2", "3", "4", "5", "6", "7", "8"}
	seeded := order(t, func(*trial.Setup) {})
	again := order(t, func(*trial.Setup) {})
	if d := cmp.Diff(seeded, again); d != "" || slices.Equal(seeded, all) || !slices.Equal(slices.Sorted(slices.Values(seeded)), all) {
		t.Error(seeded, again)
	}
	// Another seed or user gives another order.
	if got := order(t, func(s *trial.Setup) { s.Run.Plan.Seed = 2 }); slices.Equal(got, seeded) {
		t.Error("the seed gives nothing:", got)
	}
	if got := order(t, func(s *trial.Setup) { s.Data.Sets[0].User = "bo" }); slices.Equal(got, seeded) {
		t.Error("each user has the same order:", got)
	}
	if got := order(t, func(s *trial.Setup) { s.Data.Sets[0].Ordered = true }); !slices.Equal(got, all) {
		t.Error("a conversation is torn:", got)
	}
	// Fewer questions are the first ones, or from all the time.
	if got := order(t, func(s *trial.Setup) { s.Data.Sets[0].Ordered, s.Run.Plan.Questions = true, 3 }); !slices.Equal(got, []string{"1", "3", "6"}) {
		t.Error("a part of a conversation:", got)
	}
	if got := order(t, func(s *trial.Setup) { s.Run.Plan.Questions = 3 }); !slices.Equal(got, seeded[:3]) {
		t.Error(got, seeded)
	}
	if got := order(t, func(s *trial.Setup) { s.Run.Plan.Questions = 100 }); !slices.Equal(got, seeded) {
		t.Error(got, seeded)
	}
}

// Paraphrases follow all questions, in their order, on request.
func TestParaphrases(t *testing.T) {
	s := &scripted{slices: oneSlice()}
	setup := s.setup(t, plain("a"), "p?", "q?", "r?")
	q := setup.Data.Sets[0].Questions
	q[0].Gold, q[0].Paraphrases = []string{"Ana", "she"}, []string{"p!", "p."}
	q[1].Paraphrases, q[2].Paraphrases = []string{"q!"}, []string{"r!"}
	setup.Run.Plan.Questions = 2
	if d := cmp.Diff([]string{"p?", "q?"}, asked(lead(t, setup).Units[0])); d != "" {
		t.Error("nobody wanted them", d)
	}
	setup.Dir, setup.Run.Plan.Paraphrases = t.TempDir(), true
	want := []eval.Asked{
		{Number: 1, Text: "p?", Gold: []string{"Ana", "she"}},
		{Number: 2, Text: "q?"},
		{Number: 1, Paraphrase: 1, Text: "p!", Gold: []string{"Ana", "she"}},
		{Number: 1, Paraphrase: 2, Text: "p.", Gold: []string{"Ana", "she"}},
		{Number: 2, Paraphrase: 1, Text: "q!"},
	}
	if d := cmp.Diff(want, lead(t, setup).Units[0].Asked); d != "" {
		t.Error(d)
	}
}

// A system that forgets deletes the answer to an asked question and keeps predicted ones.
func TestForgets(t *testing.T) {
	s := &scripted{slices: oneSlice(), say: func(space, q string) reply {
		a := miss("x")
		a.Entry = new("e-" + space + "-" + q[:1])
		switch q {
		case "q?":
			a.Outcome = client.OutcomeTensorHit
		case "hit?":
			a.Outcome = client.OutcomeAnswerHit
			a.Gate.Considered = []client.Considered{{Entry: "no"}, {Entry: "yes", Served: true}, {Entry: "neither"}}
		case "unkept?":
			a.Entry = nil
		case "full?":
			return reply{status: 429}
		}
		return a
	}}
	all := plain("a", "b")
	all[1].Forgets = true
	u := lead(t, s.setup(t, all, "p?", "q?", "hit?", "unkept?", "full?")).Units[0]
	want := []string{"s0 shows yes", "s1 forgets e-s1-p", "s1 forgets e-s1-q", "s1 shows yes"}
	if d := cmp.Diff(want, slices.Sorted(slices.Values(s.some(" forgets ", " shows ")))); d != "" {
		t.Error(d)
	}
	for _, one := range u.Results {
		for i, a := range one.Answers {
			if want := []string{"", "", "predicted", "", ""}[i]; a.Origin != want {
				t.Errorf("%s, %s: %q", one.System, u.Asked[i].Text, a.Origin)
			}
		}
	}
}

// The settings change after the first half of the questions.
func TestThen(t *testing.T) {
	for _, tc := range []struct {
		questions []string
		want      string // events, a letter each: a question, T the change
	}{
		{[]string{"1", "2", "3", "4"}, "12T34"},
		{[]string{"1", "2", "3", "4", "5"}, "12T345"},
		{[]string{"1", "2"}, "1T2"},
		{[]string{"1"}, "1"},
	} {
		s := &scripted{slices: oneSlice()}
		all := plain("a", "b")
		all[1].Then = &client.Settings{Threshold: new(0.8)}
		lead(t, s.setup(t, all, tc.questions...))
		got := ""
		for _, c := range s.some("s1 is asked", "PATCH /v1/spaces") {
			if strings.HasPrefix(c, "PATCH") {
				if c != `PATCH /v1/spaces/s1/settings {"tensor_limit":1073741824,"threshold":0.8}` {
					t.Error(c)
				}
				got += "T"
			} else {
				got += c[len(c)-1:]
			}
		}
		if got != tc.want {
			t.Errorf("%s, not %s", got, tc.want)
		}
	}
}

// Recalled is true if the answer rests on a chunk of the document with the answer.
func TestRecall(t *testing.T) {
	s := &scripted{slices: oneSlice()}
	s.say = func(space, q string) reply {
		a := miss("x")
		if space == "s0" {
			a.Citations = []client.Citation{{Chunk: "other.md#0"}, {Chunk: "notes/plan.md#1"}}
		} else {
			a.Citations = []client.Citation{{Chunk: "myplan.md#0"}} // its name has the same end, but it is another document
		}
		return a
	}
	setup := s.setup(t, plain("a", "b"), "end?", "all?", "slash?", "other?", "lost?", "unknown?")
	set := &setup.Data.Sets[0]
	set.Files = []eval.File{file("myplan.md"), file("notes/plan.md"), file("c.md")}
	for i, name := range []string{"plan.md", "notes/plan.md", "/plan.md", "c.md", "gone.md", ""} {
		set.Questions[i].Document = name
	}
	u := lead(t, setup).Units[0]
	yes, no := new(true), new(false)
	for i, want := range [][]*bool{{yes, yes, yes, no, nil, nil}, {no, no, no, no, nil, nil}} {
		for n, a := range u.Results[i].Answers {
			if d := cmp.Diff(want[n], a.Recalled); d != "" {
				t.Errorf("%s, %s: %s", u.Results[i].System, u.Asked[n].Text, d)
			}
		}
	}
	for i, a := range u.Asked {
		if a.Located != (i < 4) {
			t.Errorf("%+v", a)
		}
	}
	if u.Documents != 3 || u.Chunks != 6 {
		t.Error(u.Documents, u.Chunks)
	}
}

// The similarity is the cosine to each question before.
func TestLikeness(t *testing.T) {
	s := &scripted{slices: oneSlice()}
	vectors := map[string][]float32{"a": {3, 4}, "b": {6, 8}, "c": {-4, 3}, "d": {0, 0}, "e": {1, 0}}
	s.vector = func(text string) []float32 { return vectors[text] }
	u := lead(t, s.setup(t, plain("a"), "a", "b", "c", "d", "e")).Units[0]
	want := [][]float64{{}, {1}, {0, 0}, {0, 0, 0}, {0.6, 0.6, -0.8, 0}}
	if d := cmp.Diff(want, u.Likeness); d != "" {
		t.Error(d)
	}
	// More texts than one request takes.
	var many []string
	for i := range 258 {
		many = append(many, fmt.Sprint(i))
	}
	s.vector = func(text string) []float32 { return []float32{1, float32(len(text))} }
	u = lead(t, s.setup(t, plain("a"), many...)).Units[0]
	if len(u.Likeness) != 258 || len(u.Likeness[257]) != 257 || u.Likeness[257][256] != 1 || u.Likeness[257][0] != math.Round(4/math.Sqrt(20)*1e4)/1e4 {
		t.Error(len(u.Likeness), u.Likeness[257])
	}
}

// Written and evicted tensors count for the system at work.
func TestWritten(t *testing.T) {
	s := &scripted{slices: oneSlice()}
	s.say = func(space, q string) reply {
		a := miss("x")
		if space == "s1" {
			a.written, a.evicted, a.bytes = int64(10*len(q)), 1, 5
		}
		return a
	}
	s.drained = func(space, _ string) client.Drained {
		s.cache.WrittenBytes += 1000
		s.cache.Evicted += 100
		own := s.spaces[space]
		own.Bytes += 50
		s.spaces[space] = own
		return client.Drained{BytesWritten: 1000}
	}
	all := plain("a", "b", "c")
	all[2].Idle = eval.IdlePredict
	setup := s.setup(t, all, "p", "qq", "rrr")
	setup.Run.Plan.Rounds = 1
	u := lead(t, setup).Units[0]
	type kept struct{ Written, TensorBytes int64 }
	got := map[string][]kept{}
	for _, one := range u.Results {
		for _, a := range one.Answers {
			got[one.System] = append(got[one.System], kept{a.Written, a.TensorBytes})
		}
	}
	want := map[string][]kept{"a": {{}, {}, {}}, "b": {{10, 5}, {20, 10}, {30, 15}}, "c": {{0, 150}, {0, 200}, {0, 250}}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for i, want := range []struct{ evicted, bytes int64 }{{0, 0}, {3, 15}, {600, 300}} {
		if one := u.Results[i]; one.Evicted != want.evicted || one.TensorBytes != want.bytes {
			t.Errorf("%s: %d evicted, %d bytes in the end", one.System, one.Evicted, one.TensorBytes)
		}
	}
	if w := u.Results[2]; w.Before.BytesWritten != 3000 || w.Answers[0].After.BytesWritten != 1000 {
		t.Errorf("%+v", w)
	}
}

// The tree has room for the limits of all systems, so that each reaches only its own.
func TestRoom(t *testing.T) {
	const chunk, all = 100 << 20, 1 << 30
	s := &scripted{slices: []client.Slice{{Chunk: new("a"), Bytes: chunk}}}
	systems := plain("a", "a@limit=69", "a@limit=2", "a@case=3")
	systems[1].Of, systems[1].Key, systems[1].Value = "a", "limit", 69
	systems[2].Of, systems[2].Key, systems[2].Value = "a", "limit", 2
	systems[3].Of, systems[3].Key, systems[3].Value, systems[3].Then = "a", "case", 3, &client.Settings{}
	lead(t, s.setup(t, systems, "p?"))
	set := s.some("PATCH /v1/config")
	if want := fmt.Sprintf(`"tensor-limit":"%d"`, all+all+69*chunk+all+17*chunk); !strings.Contains(set[len(set)-1], want) {
		t.Errorf("no %s in %s", want, set)
	}
}

// Limits in slices are multiples of the mean size of a chunk's tensors.
func TestLimits(t *testing.T) {
	s := &scripted{slices: []client.Slice{{Bytes: 1 << 30}, {Chunk: new("a"), Bytes: 100}, {Chunk: new("b"), Bytes: 301}, {Bytes: 7}}}
	all := plain("a", "a@limit=69", "a@case=3", "a@stride=2")
	all[1].Of, all[1].Key, all[1].Value = "a", "limit", 69
	all[2].Of, all[2].Key, all[2].Value, all[2].Then = "a", "case", 3, &client.Settings{Bank: new(true)}
	all[3].Of, all[3].Key, all[3].Value, all[3].Settings.Stride = "a", "stride", 2, new(2)
	r := lead(t, s.setup(t, all, "p?", "q?", "r?", "s?", "t?", "u?", "v?"))
	type room struct {
		Limit  int64
		Stride int
		Then   *client.Settings
	}
	var got []room
	for _, one := range r.Run.Systems {
		got = append(got, room{*one.Settings.TensorLimit, *one.Settings.Stride, one.Then})
	}
	// 200.5 bytes a slice; 17 in case 3, then all.
	want := []room{{1 << 30, 5, nil}, {13834, 5, nil}, {3408, 5, &client.Settings{Bank: new(true), TensorLimit: new(int64(1 << 30))}}, {1 << 30, 2, nil}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	end := slices.Index(s.calls[1:], "start")
	look := s.calls[:end+1]
	var of []string
	for _, c := range look {
		if strings.Contains(c, "is asked") {
			of = append(of, c)
		}
	}
	if d := cmp.Diff([]string{"warmup is asked p?", "warmup is asked q?", "warmup is asked r?", "warmup is asked s?", "warmup is asked t?"}, of); d != "" {
		t.Error(d)
	}
	// A failed question does not prevent the measurement.
	s = &scripted{slices: s.slices, warm: true, say: func(_, q string) reply {
		if q == "p?" {
			return reply{status: 429}
		}
		return miss("x")
	}}
	lead(t, s.setup(t, all, "p?", "q?"))
	s.slices = nil
	if _, err := trial.Run(t.Context(), s.setup(t, all, "p?")); err == nil || err.Error() != "cannot probe percached: cannot measure the size of a slice: the first questions stored no tensors of a chunk: 429 Too much" {
		t.Error(err)
	}
	// A model whose tensors cannot be stored has no slices to measure.
	s = &scripted{cannot: "its kind of attention"}
	r = lead(t, s.setup(t, all, "p?"))
	if got := *r.Run.Systems[1].Settings.TensorLimit; got != 0 || *r.Run.Model.NoSlices != s.cannot {
		t.Error(got)
	}
}

// Files are sent in portions to each system. Files that percached did not read are named.
func TestFill(t *testing.T) {
	s := &scripted{cannot: "its kind", unread: "f3.md"}
	setup := s.setup(t, plain("a", "b"), "p?")
	set := &setup.Data.Sets[0]
	set.Files = nil
	for i := range 1200 {
		set.Files = append(set.Files, file(fmt.Sprintf("f%d.md", i)))
	}
	set.Files[1100].Size, set.Files[1101].Size = 40<<20, 24<<20+1
	set.Files[1150].Size = 70 << 20 // it is sent alone
	u := lead(t, setup).Units[0]
	// The second system's, and the last files for the warm-up.
	if d := cmp.Diff([]int{500, 500, 101, 49, 1, 49, 30}, s.uploads[len(s.uploads)-7:]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"s0", "s1", "warmup"}, slices.Sorted(maps.Keys(s.files))); d != "" {
		t.Error(d)
	}
	for _, space := range []string{"s0", "s1"} {
		if len(s.files[space]) != 1199 || s.files[space][0] != "f0.md" || s.files[space][1198] != "f1199.md" {
			t.Error(space, len(s.files[space]))
		}
	}
	if w := s.files["warmup"]; len(w) != 30 || w[29] != "f1199.md" {
		t.Error(w)
	}
	if d := cmp.Diff([]client.Failure{{Name: "f3.md", Reason: "odd"}}, u.Unread); d != "" || u.Chunks != 2400 || u.Documents != 1199 || len(u.LeftOut) != 6 {
		t.Error(d, u.Chunks, u.Documents, len(u.LeftOut))
	}
}

// The first questions warm the machine up, in a space that stores nothing.
func TestWarmup(t *testing.T) {
	s := &scripted{cannot: "its kind"}
	setup := s.setup(t, plain("a"), "p?", "q?")
	setup.Run.Plan.Warmup = 3
	r := lead(t, setup)
	var got []string
	for _, c := range s.calls {
		if strings.Contains(c, "is asked") || strings.Contains(c, `"warmup"`) {
			got = append(got, c)
		}
	}
	want := []string{
		`POST /v1/spaces {"kind":"emails","name":"warmup","settings":{"bank":false,"tensors":false}}`,
		"warmup is asked p?", "warmup is asked q?", "warmup is asked p?", "s0 is asked p?", "s0 is asked q?",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int{1, 2}, []int{r.Units[0].Asked[0].Number, r.Units[0].Asked[1].Number}, cmpopts.EquateEmpty()); d != "" || len(r.Units[0].Results) != 1 {
		t.Error(d)
	}
}

// Questions with the same words are one question, on request.
func TestDistinct(t *testing.T) {
	s := &scripted{slices: oneSlice()}
	setup := s.setup(t, plain("a"), "Who sent it?", "who  sent it?", "What is it?", "Who sent it?")
	setup.Run.Plan.Distinct = true
	var asked []string
	for _, a := range lead(t, setup).Units[0].Asked {
		asked = append(asked, a.Text)
	}
	if d := cmp.Diff([]string{"Who sent it?", "What is it?"}, asked); d != "" {
		t.Error(d)
	}
}
