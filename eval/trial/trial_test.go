package trial_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/folder"
	"github.com/percached/percached/eval/trial"
)

// Each question is asked of each system once, and no system is always first.
func TestOrder(t *testing.T) {
	s := &scripted{slices: oneSlice()}
	setup := s.setup(t, plain("a", "b", "c"), "p?", "q?", "r?", "s?")
	setup.Run.Plan.Repeats, setup.Run.Plan.Seed = 2, 4
	r := lead(t, setup)
	order := s.some("is asked")
	if len(order) != 2*4*3 {
		t.Fatal(order)
	}
	orders := map[string]bool{}
	for n := 0; n < len(order); n += 3 {
		turn, question := "", "pqrs"[n/3%4:][:1]+"?"
		one := slices.Clone(order[n : n+3])
		for _, line := range one {
			turn += line[:2]
		}
		orders[turn] = true
		slices.Sort(one)
		if d := cmp.Diff([]string{"s0 is asked " + question, "s1 is asked " + question, "s2 is asked " + question}, one); d != "" {
			t.Error(d)
		}
	}
	if len(orders) < 3 {
		t.Errorf("the systems stand in the same order again and again: %v", order)
	}
	if len(r.Units) != 2 || s.started != 3 || s.stopped != 3 {
		t.Fatal(len(r.Units), s.started, s.stopped)
	}
	for i, u := range r.Units {
		if u.Repeat != i+1 || u.User != "ana" || len(u.Results) != 3 || u.Seconds <= 0 {
			t.Errorf("%+v", u)
		}
		for n, one := range u.Results {
			if one.System != setup.Run.Systems[n].Name || one.Slices != 4 || len(one.Answers) != 4 {
				t.Errorf("%+v", one)
			}
			for q, a := range one.Answers {
				if a.Failure != "" || a.Text != "to "+u.Asked[q].Text || a.FirstMS <= 0 || a.TotalMS < a.FirstMS {
					t.Errorf("%+v", a)
				}
			}
		}
	}
	// The same seed gives the same order, another seed another order.
	for seed, same := range map[uint64]bool{4: true, 5: false} {
		again := &scripted{slices: oneSlice()}
		other := again.setup(t, plain("a", "b", "c"), "p?", "q?", "r?", "s?")
		other.Run.Plan.Repeats, other.Run.Plan.Seed = 2, seed
		lead(t, other)
		if slices.Equal(order, again.some("is asked")) != same {
			t.Errorf("seed %d: the same order is %v", seed, !same)
		}
	}
	// Any seed works.
	setup.Dir, setup.Run.Plan.Seed = filepath.Join(t.TempDir(), "run"), math.MaxUint64-1
	lead(t, setup)
}

// A space is created with its system's settings, and not changed afterwards.
func TestSpaces(t *testing.T) {
	s := &scripted{slices: oneSlice()}
	all := plain("a", "b")
	all[1].Settings = client.Settings{Threshold: new(0.0), Stride: new(3), Placement: new(client.PlacementParallel)}
	setup := s.setup(t, all, "p?")
	setup.Data.Sets[0].Kind = "meetings"
	lead(t, setup)
	last := len(s.calls) - 1 - slices.Index(reversed(s.calls), "start")
	of := s.calls[last:]
	if !strings.HasPrefix(of[1], "PATCH /v1/config ") || !strings.Contains(of[1], `"budget-compute":"0s"`) || !strings.Contains(of[1], fmt.Sprintf(`"tensor-limit":"%d"`, 3<<30)) {
		t.Error("it does idle work or forgets by itself:", of[1])
	}
	want := []string{
		`POST /v1/spaces {"kind":"meetings","name":"s0","settings":{"bank":false,"stride":5,"tensor_limit":1073741824}}`,
		`POST /v1/spaces {"kind":"meetings","name":"s1","settings":{"placement":"parallel","stride":3,"tensor_limit":1073741824,"threshold":0}}`,
	}
	var got []string
	for _, c := range of {
		if strings.HasPrefix(c, "POST /v1/spaces ") && !strings.Contains(c, "warmup") {
			got = append(got, c)
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func reversed(s []string) []string {
	s = slices.Clone(s)
	slices.Reverse(s)
	return s
}

// A failure belongs to one system and question.
func TestFailures(t *testing.T) {
	s := &scripted{slices: oneSlice(), say: func(space, q string) reply {
		if space == "s0" {
			return miss("fine")
		}
		switch q {
		case "full?":
			return reply{status: 429, written: 7, bytes: 3}
		case "broken?":
			return reply{events: "event: token\ndata: {\"text\":\"x\"}\n\nevent: error\ndata: {\"title\":\"It broke\",\"status\":500}\n\n"}
		case "cut?":
			return reply{events: "event: token\ndata: {\"te"}
		case "silent?":
			return reply{events: ": nothing\n\n"}
		case "torn?":
			return reply{events: "event: token\ndata: {\"text\":\"x\"}\n\n", gone: true}
		case "empty?":
			return reply{events: "event: done\ndata: {\"answer\":\"\",\"outcome\":\"miss\"}\n\n"}
		}
		return miss("well")
	}}
	questions := []string{"full?", "broken?", "cut?", "silent?", "torn?", "empty?", "good?"}
	u := lead(t, s.setup(t, plain("a", "b"), questions...)).Units[0]
	if d := cmp.Diff(questions, asked(u)); d != "" {
		t.Error(d)
	}
	for i, a := range u.Results[0].Answers {
		if a.Failure != "" || a.Text != "fine" || a.Written != 0 {
			t.Errorf("%s: %+v", questions[i], a)
		}
	}
	want := []eval.Answer{
		{Failure: "429 Too much", Written: 7, TensorBytes: 3},
		{Failure: "500 It broke", TensorBytes: 3},
		{Failure: "the answer was interrupted: unexpected EOF", TensorBytes: 3},
		{Failure: "the answer ended too early", TensorBytes: 3},
		{Failure: "the answer was interrupted: unexpected EOF", TensorBytes: 3},
		{Outcome: client.OutcomeMiss, TensorBytes: 3},
		{Text: "well", Outcome: client.OutcomeMiss, TensorBytes: 3},
	}
	got := u.Results[1].Answers
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(eval.Answer{}, "FirstMS", "TotalMS"), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if e := got[5]; e.FirstMS <= 0 || e.FirstMS != e.TotalMS {
		t.Errorf("an empty answer is there when it has ended: %+v", e)
	}
}

// Everything in an answer is recorded.
func TestAnswer(t *testing.T) {
	s := &scripted{slices: oneSlice(), say: func(string, string) reply {
		return reply{Answer: client.Answer{
			Answer: "I do not know", Outcome: client.OutcomeTensorHit, Refused: true, Times: client.Times{"prefill_ms": 1.5}, Chunks: client.Reuse{All: 3, Stored: 2},
			Tokens: client.TokenCounts{Prompt: 9, Reused: 4, Computed: 5, Generated: 2, Attended: 77}, Drafts: []client.DraftUse{{Source: "near", Batches: 1, Proposed: 2, Accepted: 1}}, Gate: client.Gate{Similarity: new(0.5)},
			Citations: []client.Citation{{Chunk: "b.md#1"}, {Chunk: "a.md#0"}}, Entry: new("e1"),
		}, bytes: 11, written: 12}
	}}
	r := lead(t, s.setup(t, plain("a"), "p?"))
	want := eval.Answer{
		Text: "I do not know", Outcome: client.OutcomeTensorHit, Refused: true, Stages: client.Times{"prefill_ms": 1.5}, Reuse: client.Reuse{All: 3, Stored: 2},
		Tokens: client.TokenCounts{Prompt: 9, Reused: 4, Computed: 5, Generated: 2, Attended: 77}, Drafts: []client.DraftUse{{Source: "near", Batches: 1, Proposed: 2, Accepted: 1}}, Chunks: []string{"b.md#1", "a.md#0"}, Similarity: 0.5,
		Written: 12, TensorBytes: 11,
	}
	if d := cmp.Diff(want, r.Units[0].Results[0].Answers[0], cmpopts.IgnoreFields(eval.Answer{}, "FirstMS", "TotalMS"), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	if a := r.Units[0].Results[0].Answers[0]; a.FirstMS <= 0 || a.FirstMS >= a.TotalMS {
		t.Error("its first piece came before its end", a.FirstMS, a.TotalMS)
	}
	if one := r.Units[0].Results[0]; one.TensorBytes != 11 || one.Slices != 1 || one.Entries != 12 || one.Joules != 3.5 {
		t.Errorf("%+v", one)
	}
}

// If percached is gone, the run ends. Finished units are stored whole.
func TestGone(t *testing.T) {
	for name, tc := range map[string]struct {
		gone func(s *scripted, setup *trial.Setup)
		why  string
		kept int
	}{
		"it does not start": {func(_ *scripted, setup *trial.Setup) {
			start, n := setup.Start, 0
			setup.Start = func(ctx context.Context) (*trial.Daemon, error) {
				if n++; n == 3 {
					return nil, errors.New("no room")
				}
				return start(ctx)
			}
		}, "user bo, repeat 1: no room", 1},
		"at a question": {func(s *scripted, setup *trial.Setup) {
			s.say = func(_, q string) reply {
				if q == "r?" {
					return reply{dead: true}
				}
				return miss("x")
			}
		}, "user bo, repeat 1: ask: question 1: ", 1},
		"in the middle of an answer": {func(s *scripted, setup *trial.Setup) {
			s.say = func(_, q string) reply {
				if q == "r?" {
					return reply{dead: true, events: "event: token\ndata: {\"text\":\"x\"}\n\n"}
				}
				return miss("x")
			}
		}, "user bo, repeat 1: ask: question 1: ", 1},
		"idle": {func(s *scripted, setup *trial.Setup) {
			setup.Run.Systems[1].Idle = eval.IdlePredict
			s.drained = func(string, string) client.Drained {
				s.dead = s.started == 3
				return client.Drained{}
			}
		}, "user bo, repeat 1: idle work before the questions: b: ", 1},
		"in the first look":       {func(s *scripted, _ *trial.Setup) { s.dead = true }, "cannot probe percached: ", -1},
		"the first look is empty": {func(s *scripted, _ *trial.Setup) { s.slices = nil }, "cannot probe percached: cannot measure the size of a slice: the first questions stored no tensors of a chunk", -1},
		"documents are refused": {func(s *scripted, setup *trial.Setup) {
			s.cannot = "its kind"
			s.full = true
		}, "user ana, repeat 1: add the documents: 507 Too much", 0},
		"an upload fails": {func(s *scripted, _ *trial.Setup) {
			s.cannot = "its kind"
			s.lost = true
		}, "user ana, repeat 1: add the documents: the upload failed", 0},
		"a file cannot be opened": {func(s *scripted, setup *trial.Setup) {
			opened, whole := 0, setup.Data.Sets[1].Files[0].Open
			setup.Data.Sets[1].Files[0] = eval.File{Name: "gone.md", Open: func() (io.ReadCloser, error) {
				if opened++; opened == 1 { // when the digest is computed
					return whole()
				}
				return nil, os.ErrNotExist
			}}
		}, "user bo, repeat 1: add the documents: ", 1},
		"a file is not there": {func(s *scripted, setup *trial.Setup) {
			setup.Data.Sets[1].Files[0] = eval.File{Name: "gone.md", Open: func() (io.ReadCloser, error) { return nil, os.ErrNotExist }}
		}, "cannot read the data: file does not exist", -1},
		"it does not stop": {func(_ *scripted, setup *trial.Setup) {
			start, n := setup.Start, 0
			setup.Start = func(ctx context.Context) (*trial.Daemon, error) {
				d, err := start(ctx)
				if n++; n == 3 {
					d.Stop = func() error { return errors.New("exit status 2") }
				}
				return d, err
			}
		}, "user bo, repeat 1: exit status 2", 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scripted{slices: oneSlice()}
			setup := s.setup(t, plain("a", "b"), "p?", "q?")
			setup.Data.Sets = append(setup.Data.Sets, aSet("bo", "r?"))
			tc.gone(s, &setup)
			got, err := trial.Run(t.Context(), setup)
			if err == nil || got != nil || !strings.HasPrefix(err.Error(), tc.why) {
				t.Fatalf("%v, %v", got, err)
			}
			if folder.Exists(setup.Dir) != (tc.kept >= 0) {
				t.Fatal("it is there, or is not")
			}
			if tc.kept < 0 {
				return
			}
			r, err := folder.Read(setup.Dir)
			if err != nil || len(r.Units) != tc.kept {
				t.Error(err, len(r.Units))
			}
		})
	}
}

// A run that is cancelled stops at once.
func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &scripted{slices: oneSlice()}
	setup := s.setup(t, plain("a"), "p?", "q?", "r?")
	s.say = func(_, q string) reply {
		if q == "q?" {
			cancel()
		}
		return miss("x")
	}
	if _, err := trial.Run(ctx, setup); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if r, err := folder.Read(setup.Dir); err != nil || len(r.Units) != 0 || s.stopped != s.started {
		t.Error(err, s.stopped, s.started)
	}
}
