package predictor_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/predictor"
)

func TestAbstract(t *testing.T) {
	w := start(t)
	old := w.add("Rent", 9, "The rent rises.", "Pay in April.")
	recent := w.add("Dinner", 1, "Dinner is on Friday.")
	ids, _, err := w.Unsummarised(t.Context(), "mail", 10)
	w.must(err)
	if d := cmp.Diff([]percached.ChunkID{recent[0], old[0], old[1]}, ids); d != "" {
		t.Errorf("the newest first (-want +got):\n%s", d)
	}
	if ids, _, err := w.Unsummarised(t.Context(), "mail", 2); len(ids) != 2 || err != nil {
		t.Errorf("%d chunks where two were asked for, %v", len(ids), err)
	}
	u, err := w.Summarise(t.Context(), "mail", old[0])
	w.must(err)
	if u.Computed == 0 || u.Generated == 0 {
		t.Errorf("usage %+v", u)
	}
	want := "Please summarize the following text into a sentence that captures the key events and key concepts: Rent: The rent rises. Focus only on the essential core content and main ideas. Do NOT include any other text or explanations."
	if d := cmp.Diff(want, w.prompts[0]); d != "" {
		t.Errorf("prompt (-want +got):\n%s", d)
	}
	if u, err := w.Summarise(t.Context(), "mail", old[0]); u != (predictor.Usage{}) || err != nil || len(w.prompts) != 1 {
		t.Errorf("summed up again: %+v, %v, %d prompts", u, err, len(w.prompts))
	}
	w.summarise()
	if s := w.stats(); s.Parts != 3 || s.Waiting != 3 || s.Bytes == 0 {
		t.Errorf("%+v", s)
	}
	if _, err := w.Summarise(t.Context(), "mail", percached.ChunkID{1}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a chunk that is gone: %v", err)
	}
	if _, err := w.Summarise(t.Context(), "none", old[0]); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a space that is gone: %v", err)
	}
	if _, _, err := w.Unsummarised(t.Context(), "none", 3); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a space that is gone: %v", err)
	}
}

// The quiet period begins with the latest arrival, summarised or not.
func TestNewestArrival(t *testing.T) {
	w := start(t)
	w.add("Rent", 9, "The rent rises.")
	w.now = w.now.Add(time.Hour)
	late := w.now
	newest := w.add("Dinner", 20, "Dinner is on Friday.")
	for left := 2; left >= 0; left-- {
		ids, at, err := w.Unsummarised(t.Context(), "mail", 5)
		if len(ids) != left || !at.Equal(late) || err != nil {
			t.Errorf("%d are not summed up, want %d; the latest came at %v: %v", len(ids), left, at, err)
		}
		if left > 1 {
			_, err = w.Summarise(t.Context(), "mail", newest[0])
			w.must(err)
		} else {
			w.summarise()
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.Unsummarised(over, "mail", 5); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Unpopulated has the order of Predictions, also after a restart.
func TestUnpopulated(t *testing.T) {
	w := start(t)
	for i := range 3 {
		w.add(fmt.Sprint("Mail", i), i, fmt.Sprint("The rent of house ", i, " rises."))
		w.summarise()
		w.predict(2)
		w.now = w.now.Add(time.Hour)
	}
	for range 2 {
		all, err := w.Predictions("mail")
		w.must(err)
		var want [][16]byte
		for _, p := range all {
			if !p.Populated {
				want = append(want, p.ID)
			}
		}
		if len(want) < 2 {
			t.Fatalf("%d predictions", len(want))
		}
		if d := cmp.Diff(want, w.Unpopulated("mail", 100)); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(want[:2], w.Unpopulated("mail", 2)); d != "" {
			t.Error(d)
		}
		w.must(w.Populated("mail", want[1]))
		w.reopen(false)
	}
}

func TestOrderOfDocuments(t *testing.T) {
	w := start(t)
	day := func(n int) time.Time { return w.now.AddDate(0, 0, n) }
	add := func(title string, date, added time.Time) percached.ChunkID {
		return w.lib.add("mail", title, date, added, "Of "+title)[0]
	}
	want := []percached.ChunkID{
		add("no date, came in today", time.Time{}, day(0)),
		add("two days old, late", day(-2), day(0)),
		add("two days old, early", day(-2), day(-1)),
		add("three days old", day(-3), day(0)),
		add("a date that cannot be", time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), day(-4)),
	}
	got, _, err := w.Unsummarised(t.Context(), "mail", 10)
	w.must(err)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// A chunk that was deleted and added again is a new one: its old part is not used.
func TestVersions(t *testing.T) {
	w := start(t)
	chunk := w.add("Rent", 1, "The rent rises.")
	w.summarise()
	w.predict(1)
	w.lib.drop("mail", "Rent")
	w.add("Rent", 1, "The rent rises.")
	if ids, _, err := w.Unsummarised(t.Context(), "mail", 5); !slices.Equal(ids, chunk) || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	w.summarise()
	if n := w.waiting(); n != 1 {
		t.Errorf("%d parts wait", n)
	}
	w.lib.drop("mail", "Rent")
	w.add("Rent", 1, "The rent rises.")
	if r := w.predict(1); r.Sources != 0 {
		t.Errorf("predicted from a part of a chunk's earlier life: %+v", r)
	}
	if n := w.waiting(); n != 0 {
		t.Errorf("%d parts wait", n)
	}
}

func TestEmptySummary(t *testing.T) {
	w := start(t)
	w.add("Rent", 1, "The rent rises.")
	w.say = func(string) string { return " <|im_end|>\n" }
	w.summarise()
	if s := w.stats(); s.Parts != 1 || s.Empty != 1 || s.Waiting != 0 || s.Bytes != 0 {
		t.Errorf("%+v", s)
	}
	w.reopen(true)
	w.summarise()
	if len(w.prompts) != 1 {
		t.Errorf("asked %d times", len(w.prompts))
	}
	if r := w.predict(3); r.Sources != 0 || len(w.prompts) != 1 {
		t.Errorf("predicted from nothing: %+v", r)
	}
}

func TestFromKnowledge(t *testing.T) {
	w := start(t)
	var chunks []percached.ChunkID
	for i := range 30 {
		chunks = append(chunks, w.add(fmt.Sprint("Mail", i), i, numbered("word", 18)+"end.")...)
	}
	w.summarise()
	seen := map[percached.ChunkID]int{}
	var order []percached.ChunkID
	for rounds := 0; ; rounds++ {
		left := w.waiting()
		if left != 30-len(seen) {
			t.Fatalf("%d parts wait, %d were used", left, len(seen))
		}
		r := w.predict(3)
		if r.Sources == 0 {
			if left != 0 || len(r.New) != 0 {
				t.Errorf("nothing to do, but %d parts wait", left)
			}
			break
		}
		if r.Sources != 6 && left >= 6 {
			t.Errorf("%d parts in a prompt", r.Sources)
		}
		for _, c := range r.New[0].Chunks {
			seen[c]++
			order = append(order, c)
		}
		for _, p := range r.New {
			if p.From != predictor.Knowledge || !slices.Equal(p.Chunks, r.New[0].Chunks) || p.Populated || p.Hits != 0 || !p.Made.Equal(w.now) {
				t.Errorf("%+v", p)
			}
		}
		if len(r.New) != 3 || r.Dropped[predictor.Surplus] != r.Sources-3 {
			t.Errorf("%d predictions of %d parts, %v", len(r.New), r.Sources, r.Dropped)
		}
	}
	if d := cmp.Diff(chunks, order); d != "" {
		t.Errorf("not each once, the newest first (-want +got):\n%s", d)
	}
	last := w.prompts[len(w.prompts)-1]
	if !strings.Contains(last, "checking their personal emails to") || !strings.Contains(last, "Now guess 3 questions") || strings.Contains(last, "end.;") || strings.Contains(last, "..") && !strings.Contains(last, "...?") {
		t.Error(last)
	}
	w.reopen(true)
	if s := w.stats(); s.Waiting != 0 || s.Predictions != 15 || s.Dropped[predictor.Surplus] != 15 {
		t.Errorf("after a crash: %+v", s)
	}
	w.add("New", 0, "Something new.")
	w.summarise()
	if r := w.predict(0); r.Sources != 1 || len(r.New) != 1 {
		t.Errorf("what is new: %+v", r)
	}
}

func TestFromHistory(t *testing.T) {
	w := start(t)
	a, b := w.add("Rent", 1, "The rent rises.")[0], w.add("Dinner", 1, "Dinner is on Friday.")[0]
	gone := percached.ChunkID{9}
	asked := []predictor.Asked{
		{Question: "Too long ago?"},
		{Question: "How much\nis the rent?", Chunks: []percached.ChunkID{a}},
		{Question: "What was it?", Chunks: []percached.ChunkID{a, gone}},
		{Question: "When is dinner?", Chunks: []percached.ChunkID{b, a}},
		{Question: "HOW MUCH is the rent"},
		{Question: "  "},
	}
	w.o.Buffer = 3
	w.reopen(false)
	r, err := w.fromHistory(t.Context(), "mail", asked, 4)
	w.must(err)
	want := "Here is their recent query history: Too long ago? When is dinner? HOW MUCH is the rent. Generate another 4 questions"
	if !strings.Contains(w.prompts[0], want) {
		t.Errorf("prompt %q", w.prompts[0])
	}
	if r.Sources != 3 || len(r.New) != 3 {
		t.Fatalf("%+v", r)
	}
	for _, p := range r.New {
		if d := cmp.Diff([]percached.ChunkID{b, a}, p.Chunks); d != "" || p.From != predictor.History {
			t.Errorf("%+v", p)
		}
		ids := [][16]byte{predictor.NewID("mail", "too long ago"), predictor.NewID("mail", "When is dinner?"), predictor.NewID("mail", "how much is the rent?")}
		if d := cmp.Diff(ids, p.Asked); d != "" {
			t.Errorf("asked (-want +got):\n%s", d)
		}
	}
	for name, none := range map[string][]predictor.Asked{"nothing": nil, "blanks": {{Question: "\n"}}, "gone": asked[2:3]} {
		if r, err := w.fromHistory(t.Context(), "mail", none, 4); err != nil || r.Sources != 0 || len(w.prompts) != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// numbered repeats a word, each time with a number.
func numbered(word string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d ", word, i)
	}
	return b.String()
}

// Known, just asked and unsupported questions are dropped and counted permanently.
func TestSift(t *testing.T) {
	w := start(t)
	w.add("Rent", 1, "The rent rises.")
	w.summarise()
	w.say = func(string) string {
		return "1. Is it in the bank?; 2. Who are aliens?; 3. When is dinner?; 4. Is it new?; 5. Is it new?; 6. Tell me."
	}
	w.check.known = func(q string) (bool, error) { return strings.Contains(q, "bank"), nil }
	w.check.supported = func(q string) (bool, error) { return !strings.Contains(q, "aliens"), nil }
	r := w.predict(9)
	if d := cmp.Diff([]string{"Is it new?", "When is dinner?"}, w.questions()); d != "" {
		t.Error(d)
	}
	want := map[predictor.Drop]int{predictor.Known: 1, predictor.Unsupported: 1, predictor.Repeated: 1, predictor.NotAQuestion: 1}
	if d := cmp.Diff(want, r.Dropped); d != "" {
		t.Error(d)
	}
	w.say = func(string) string { return "1. Is it new?; 2. when IS dinner?; 3. What else is there?; 4. Who came?" }
	r, err := w.fromHistory(t.Context(), "mail", []predictor.Asked{{Question: "what else is there"}}, 3)
	w.must(err)
	want = map[predictor.Drop]int{predictor.Known: 3, predictor.Surplus: 1}
	if d := cmp.Diff(want, r.Dropped); d != "" || len(r.New) != 0 {
		t.Error(d, r.New)
	}
	w.reopen(true)
	sum := map[predictor.Drop]uint64{predictor.Known: 4, predictor.Unsupported: 1, predictor.Repeated: 1, predictor.NotAQuestion: 1, predictor.Surplus: 1}
	if d := cmp.Diff(sum, w.stats().Dropped); d != "" {
		t.Error(d)
	}
}

func TestHits(t *testing.T) {
	w := start(t)
	w.add("Rent", 1, "The rent rises.")
	w.summarise()
	id := w.predict(1).New[0].ID
	w.Hit("mail", id)
	w.Hit("mail", [16]byte{1})
	w.Hit("none", id)
	w.must(w.Populated("mail", id))
	w.must(w.Populated("mail", id))
	w.Hit("mail", id)
	w.reopen(true)
	if p, err := w.Get("mail", id); p.Hits != 1 || !p.Populated || err != nil {
		t.Errorf("after a crash: %+v, %v", p, err)
	}
	w.Hit("mail", id)
	w.reopen(false)
	p, err := w.Get("mail", id)
	w.must(err)
	if p.Hits == 0 || !p.LastHit.Equal(w.now) || !p.Populated || p.Question != "What of Rent: The rent rises?" {
		t.Errorf("%+v", p)
	}
	if s := w.stats(); s.Hit != 1 || s.Populated != 1 {
		t.Errorf("%+v", s)
	}
	for name, err := range map[string]error{
		"get": func() error { _, err := w.Get("mail", [16]byte{1}); return err }(), "populated": w.Populated("mail", [16]byte{1}),
		"other space": w.Populated("none", id),
	} {
		if fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefuses(t *testing.T) {
	w := start(t)
	for _, stride := range []int{-1, 65} {
		if _, err := w.FromKnowledge(t.Context(), "mail", stride); fault.KindOf(err) != fault.Invalid {
			t.Errorf("stride %d: %v", stride, err)
		}
		if _, err := w.fromHistory(t.Context(), "mail", nil, stride); fault.KindOf(err) != fault.Invalid {
			t.Errorf("stride %d: %v", stride, err)
		}
	}
	if _, err := w.FromKnowledge(t.Context(), "none", 1); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if _, err := w.fromHistory(t.Context(), "none", nil, 1); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if _, err := predictor.Open(predictor.Options{AbstractLimit: -1}); fault.KindOf(err) != fault.Invalid || strings.Count(err.Error(), "\n") < 8 {
		t.Errorf("not all faults are told: %v", err)
	}
}
