package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/scheduler"
)

// livedBy is a month of somebody who has and gets few documents, and reads them
// all the more. Change, which may be nil, makes it another.
func livedBy(t *testing.T, profile string, days int, change func(*simulate, *persona.Profile)) *monthReport {
	t.Helper()
	o := simulate{profile: profile, days: days, seed: 1, prediction: "both", adaptive: true, conversion: true, pay: scheduler.Default().Pay}
	p, err := o.findProfile()
	if err != nil {
		t.Fatal(err)
	}
	p.Archive, p.Documents = min(p.Archive, 5), persona.Span{Least: 1, Most: 2}
	p.Deletions, p.Revisions, p.Notes, p.Questions = 1, 1, 1, persona.Span{Least: 5, Most: 8}
	if change != nil {
		change(&o, &p)
	}
	r, err := o.run(t.Context(), p, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func inJSON(t *testing.T, r *monthReport) string {
	t.Helper()
	b, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Whoever the person is: all that must hold does, and what is told adds up.
func TestSimulate(t *testing.T) {
	for _, p := range persona.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			r := livedBy(t, p.Name, 1, nil)
			outcomes, relations := 0, 0
			for _, n := range r.All.Outcomes {
				outcomes += n
			}
			for _, l := range r.All.Relations {
				relations += l.Asked
			}
			if r.All.Asked == 0 || outcomes != r.All.Asked || relations != r.All.Asked || r.All.Answers[wrongAnswer] > 0 {
				t.Errorf("%+v", r.All)
			}
			if r.All.SavedSeconds <= 0 || r.All.Idle.Seconds == 0 || len(r.Weeks) != 1 {
				t.Errorf("%+v", r.All.Idle)
			}
			for _, what := range []string{
				"tensors_within_limit", "answers_within_limit", "evidence_alive", "evidence_versions", "documents_complete", "ledger", "budget",
				"no_turning_in_circles", "within_a_batch", "waiting_has_a_reason", "night", "no_stale_answer", "warm_is_cold",
			} {
				if r.Checked[what] == 0 {
					t.Errorf("nobody looked at %s", what)
				}
			}
			var out strings.Builder
			if err := r.Table(&out); err != nil || !strings.Contains(out.String(), "checks of invariants") {
				t.Error(err, out.String())
			}
		})
	}
}

// The same seed gives the same month to the last byte.
func TestSimulateTwice(t *testing.T) {
	t.Parallel()
	first := inJSON(t, livedBy(t, "typical", 2, nil))
	if d := cmp.Diff(first, inJSON(t, livedBy(t, "typical", 2, nil))); d != "" {
		t.Error(d)
	}
}

// Questions that fall due while jobs compute are answered before these go on.
func TestSimulateGivesWay(t *testing.T) {
	t.Parallel()
	o := simulate{profile: "sparse", days: 1, seed: 1, prediction: "both", adaptive: true, conversion: true, pay: scheduler.Default().Pay}
	p, err := o.findProfile()
	if err != nil {
		t.Fatal(err)
	}
	p.Archive = 8
	s, err := o.open(t.Context(), p, filepath.Join(t.TempDir(), "data"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.shut(); err != nil {
			t.Error(err)
		}
	}()
	for i := range 20 { // so that idle work has just begun again
		at := s.start.Add(130*time.Second + time.Duration(i)*34*time.Second)
		s.events = append(s.events, event{Event: persona.Event{
			At: at, Kind: persona.Asked, Question: fmt.Sprintf("Is there anything new about number %d?", i), Expect: persona.Expect{Relation: persona.Odd},
		}})
	}
	slices.SortStableFunc(s.events, func(a, b event) int { return a.At.Compare(b.At) })
	if err := s.live(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := s.count.all
	if n := s.guard.held["gives_way"]; n < 5 || all.Idle.Preempted != n || all.Waited == 0 {
		t.Errorf("%d jobs gave way, %d in the counts; %d questions waited", n, all.Idle.Preempted, all.Waited)
	}
	if all.MaxWaitMs == 0 || all.MaxWaitMs > ms(batch) || batch != time.Duration(llmtest.DefaultOptions().Split)*phone().Compute {
		t.Errorf("a question waited %v ms, a batch is %v", all.MaxWaitMs, batch)
	}
}

// Without prediction nothing is predicted.
func TestSimulateOff(t *testing.T) {
	t.Parallel()
	r := livedBy(t, "typical", 1, func(o *simulate, _ *persona.Profile) { o.prediction = string(percached.PredictNothing) })
	for _, k := range scheduler.Kinds() {
		if l := r.All.Idle.Kinds[k]; k.Predicts() && l != nil {
			t.Errorf("%s: %+v", k, l)
		}
	}
}

// For somebody whose questions nobody can guess, prediction slows down, stops,
// and is tried again when what it cost is long ago.
func TestSimulateStops(t *testing.T) {
	t.Parallel()
	r := livedBy(t, "unpredictable", 6, func(o *simulate, _ *persona.Profile) { o.pay.Horizon, o.pay.Trial = 2*24*time.Hour, 30*time.Second })
	var speeds []scheduler.Speed
	for _, c := range r.Pace[:min(len(r.Pace), 4)] {
		speeds = append(speeds, c.Speed)
	}
	if d := cmp.Diff([]scheduler.Speed{scheduler.PaceFull, scheduler.PaceSlow, scheduler.PaceStopped, scheduler.PaceFull}, speeds); d != "" {
		t.Error(d)
	}
	if r.All.Pace[scheduler.PaceStopped] < 24 || r.All.Idle.NotWorked[scheduler.ReasonNoPay] == 0 {
		t.Errorf("%+v, %+v", r.All.Pace, r.All.Idle.NotWorked)
	}
	if i := slices.IndexFunc(r.Pace, func(c paceChange) bool { return c.Speed == scheduler.PaceStopped }); !strings.Contains(r.Pace[i].Why, "does not pay") {
		t.Error(r.Pace[i].Why)
	}
}

// What must not be is seen.
func TestGuard(t *testing.T) {
	budget := scheduler.Budget{Compute: time.Minute, Questions: 10, Written: 100}
	ended := func(end scheduler.End, took time.Duration) scheduler.Step {
		return scheduler.Step{Job: &scheduler.Job{Kind: scheduler.Answer, Subject: "a"}, End: end, Took: took}
	}
	computes := llmtest.Step{Op: llmtest.OpPrefill, Priority: percached.Background}
	for _, tc := range []struct {
		name string
		do   func(s *simulator) error
		says string
	}{
		{"a step without a reason", func(s *simulator) error { return s.stepped(scheduler.Step{}, s.now()) }, "waiting_has_a_reason"},
		{"a hot loop", func(s *simulator) error {
			for range mostSteps {
				if err := s.stepped(scheduler.Step{Reasons: []scheduler.Reason{{Code: "window"}}}, s.now()); err != nil {
					return err
				}
			}
			return s.stepped(ended(scheduler.EndNothing, 0), s.now())
		}, "did nothing"},
		{"a job over and over", func(s *simulator) error {
			s.guard.day, s.guard.done = s.now().Truncate(24*time.Hour), map[string]int{ended("", 0).Job.ID(): mostTimes}
			return s.stepped(ended(scheduler.EndDone, time.Second), s.now())
		}, "times in a day"},
		{"too much", func(s *simulator) error {
			s.guard.day, s.guard.spent.Compute = s.now().Truncate(24*time.Hour), time.Minute
			return s.stepped(ended(scheduler.EndDone, time.Second), s.now())
		}, "budget"},
		{"a job that does not give way", func(s *simulator) error {
			s.guard.gaveWay = func() {}
			return s.stepped(ended(scheduler.EndDone, time.Second), s.now())
		}, "gives_way"},
		{"a batch too many", func(s *simulator) error {
			s.guard.working, s.guard.gaveWay = true, func() {}
			s.watch(computes)
			return s.stepped(ended(scheduler.EndPreempted, 0), s.now())
		}, "interrupted"},
		{"a job amidst a question", func(s *simulator) error {
			s.guard.asking = true
			s.watch(computes)
			return s.served(persona.Event{}, answer.Answer{}, answer.Answer{})
		}, "during a question"},
		{"an old answer", func(s *simulator) error {
			return s.served(persona.Event{Expect: persona.Expect{Never: []string{"Platform 4"}}}, answer.Answer{Text: "platform 4."}, answer.Answer{Text: "platform 4."})
		}, "is said no more"},
		{"another answer", func(s *simulator) error {
			return s.served(persona.Event{}, answer.Answer{Text: "a"}, answer.Answer{Text: "b"})
		}, "without anything stored"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &simulator{device: newDevice(time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC), nil, nil), guard: guard{budget: budget}}
			defer func() { _ = s.device.shut() }()
			err := tc.do(s)
			if fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %q", err, tc.says)
			}
		})
	}
}

func TestWeigh(t *testing.T) {
	for _, tc := range []struct {
		answer  string
		refused bool
		expect  persona.Expect
		want    rightness
	}{
		{"On platform 4.", false, persona.Expect{Answer: "Platform 4"}, rightAnswer},
		{"On platform 5.", false, persona.Expect{Answer: "platform 4"}, wrongAnswer},
		{"I don't know.", true, persona.Expect{Answer: "platform 4"}, missedIt},
		{"I don't know.", true, persona.Expect{}, rightAnswer},
		{"On platform 4.", false, persona.Expect{}, wrongAnswer},
		{"Anything.", false, persona.Expect{Relation: persona.Odd}, unjudged},
	} {
		if got := weigh(answer.Answer{Text: tc.answer, Refused: tc.refused}, tc.expect); got != tc.want {
			t.Errorf("%q for %+v is %s, want %s", tc.answer, tc.expect, got, tc.want)
		}
	}
}

// Two documents may share a chunk: it is there as long as one of them is.
func TestSimulatedDocuments(t *testing.T) {
	d := newDocuments()
	one, two := percached.NewDocumentID("one"), percached.NewDocumentID("two")
	a, b := percached.ChunkID{1}, percached.ChunkID{2}
	d.put(one, []percached.ChunkID{a, b})
	d.put(two, []percached.ChunkID{b})
	d.put(one, []percached.ChunkID{a})
	if !d.allAlive([]percached.ChunkID{a, b, {}}) {
		t.Error("a chunk is missing")
	}
	d.remove(two)
	if d.allAlive([]percached.ChunkID{b}) || !d.allAlive([]percached.ChunkID{a}) {
		t.Error("a chunk is alive that nobody holds")
	}
}
