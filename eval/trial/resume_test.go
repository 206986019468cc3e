package trial_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/folder"
	"github.com/percached/percached/eval/trial"
)

// An interrupted run continues.
func TestResume(t *testing.T) {
	s := &scripted{slices: oneSlice()}
	broken := true
	setup := s.setup(t, plain("a", "b"), "p?")
	setup.Data.Sets = append(setup.Data.Sets, aSet("bo", "q?"))
	setup.Data.Skipped, setup.Data.PassedOver = []eval.Skipped{{Where: "w", Reason: "r"}}, map[string]int{"id": 1}
	setup.Run.Plan.Repeats, setup.Run.Plan.LimitBytes = 2, 1<<20
	start := setup.Start
	setup.Start = func(ctx context.Context) (*trial.Daemon, error) {
		if s.started == 4 && broken { // that of the third unit
			return nil, errors.New("no room")
		}
		return start(ctx)
	}
	if _, err := trial.Run(t.Context(), setup); err == nil || !strings.HasPrefix(err.Error(), "user bo, repeat 2: no room") {
		t.Fatal(err)
	}
	before, err := folder.Read(setup.Dir)
	if err != nil || len(before.Units) != 3 {
		t.Fatal(err)
	}
	broken, s.calls = false, nil
	var told []float64
	setup.Tell = func(step trial.Step) {
		if step.Repeat != 2 || step.User != "bo" || step.What == "" {
			t.Errorf("%+v", step)
		}
		told = append(told, step.Of1)
	}
	after := lead(t, setup)
	if d := cmp.Diff([]string{"s1 is asked q?", "s0 is asked q?"}, s.some("is asked")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(before.Run, after.Run); d != "" {
		t.Error("the run is the same", d)
	}
	if d := cmp.Diff(before.Units, after.Units[:3]); d != "" || len(after.Units) != 4 || after.Units[3].User != "bo" || after.Units[3].Repeat != 2 {
		t.Error(d, len(after.Units))
	}
	if !slices.IsSorted(told) || told[0] < 0.75 || told[0] == 1 || told[len(told)-1] != 1 {
		t.Error("how far it is:", told)
	}
	// A finished run is returned again.
	s.calls = nil
	if d := cmp.Diff(after, lead(t, setup)); d != "" || len(s.some("is asked")) != 0 {
		t.Error(d)
	}
	want := &eval.Run{
		Layout: eval.Layout, Dataset: "plain", Version: "", Model: client.AboutModel{Name: "m", Fingerprint: "f"}, Embedder: client.AboutEmbedder{Name: "e"},
		Settings: map[string]string{"threads": "1"}, Plan: setup.Run.Plan,
		Users:   []eval.User{{Name: "ana", Kind: "emails", Files: 1, Questions: 1}, {Name: "bo", Kind: "emails", Files: 1, Questions: 1}},
		Skipped: setup.Data.Skipped, PassedOver: setup.Data.PassedOver,
	}
	if d := cmp.Diff(want, &after.Run, cmpopts.IgnoreFields(eval.Run{}, "Began", "Systems", "DataSum")); d != "" || after.Run.Began.IsZero() || len(after.Run.DataSum) != 32 {
		t.Error(d)
	}
}

// Users at a time have daemons of their own: each of these answers only when both are up.
func TestAtOnce(t *testing.T) {
	setup := (&scripted{slices: oneSlice()}).setup(t, plain("a"), "p?")
	setup.Data.Sets = append(setup.Data.Sets, aSet("bo", "q?"))
	setup.Run.Plan.AtOnce = 2
	var mu sync.Mutex
	var up sync.WaitGroup
	up.Add(2)
	probe := true
	setup.Start = func(context.Context) (*trial.Daemon, error) {
		mu.Lock()
		first := probe
		probe = false
		mu.Unlock()
		if !first {
			up.Done()
			up.Wait()
		}
		return (&scripted{slices: oneSlice()}).start(t)
	}
	got := lead(t, setup)
	if len(got.Units) != 2 || got.Units[0].User != "ana" || got.Units[1].User != "bo" || got.Units[1].Results[0].Answers[0].Text == "" {
		t.Errorf("%+v", got.Units)
	}
}

// A folder of another run is not changed, and the error names the difference.
func TestAnotherRun(t *testing.T) {
	for what, change := range map[string]func(*scripted, *trial.Setup){
		"data set": func(_ *scripted, u *trial.Setup) { u.Run.Dataset = "mised" },
		"version":  func(s *scripted, _ *trial.Setup) { s.version = "v2" },
		"version ": func(_ *scripted, u *trial.Setup) { u.Run.Commit = "abc" },
		"machine":  func(_ *scripted, u *trial.Setup) { u.Run.Machine.CPUs = 64 },
		"plan":     func(_ *scripted, u *trial.Setup) { u.Run.Plan.Seed++ },
		"plan ":    func(_ *scripted, u *trial.Setup) { u.Run.Plan.LimitBytes++ },
		"plan  ":   func(_ *scripted, u *trial.Setup) { u.Run.Plan.Warmup++ },
		"data":     func(_ *scripted, u *trial.Setup) { u.Data.Sets[0].Questions[0].Gold = []string{"other"} },
		"data ": func(_ *scripted, u *trial.Setup) {
			f, opened := &u.Data.Sets[0].Files[0], 0
			whole := f.Open
			f.Open = func() (io.ReadCloser, error) {
				if opened++; opened == 1 { // when the digest is computed
					return io.NopCloser(strings.NewReader("other")), nil
				}
				return whole()
			}
		},
		"settings of systems": func(_ *scripted, u *trial.Setup) { u.Run.Systems[0].Settings.K = new(7) },
		"list of systems":     func(_ *scripted, u *trial.Setup) { u.Run.Systems = u.Run.Systems[:1] },
		"list of users":       func(_ *scripted, u *trial.Setup) { u.Data.Sets[0].User = "eve" },
		"list of users ":      func(_ *scripted, u *trial.Setup) { u.Data.Sets = append(u.Data.Sets, aSet("bo", "r?")) },
		"list of users  ": func(_ *scripted, u *trial.Setup) {
			u.Data.Sets[0].Files = append(u.Data.Sets[0].Files, file("b.md"))
		},
		"model":              func(s *scripted, _ *trial.Setup) { s.model = "f2" },
		"embedding model":    func(s *scripted, _ *trial.Setup) { s.embedder = "e2" },
		"service's settings": func(s *scripted, _ *trial.Setup) { s.threads = "2" },
	} {
		s := &scripted{slices: oneSlice()}
		setup := s.setup(t, plain("a", "b"), "p?")
		before := lead(t, setup)
		change(s, &setup)
		_, err := trial.Run(t.Context(), setup)
		if want := fmt.Sprintf("%s holds another run with a different %s; name another folder", setup.Dir, strings.TrimSpace(what)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", what, err)
		}
		after, err := folder.Read(setup.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(before, after); d != "" {
			t.Error(what, d)
		}
	}
}

// Data without questions is refused before anything starts.
func TestNothingToAsk(t *testing.T) {
	for why, sets := range map[string][]eval.Set{
		"the data has no users":         nil,
		"user bo has no questions":      {aSet("ana", "p?"), aSet("bo")},
		"user ana is twice in the data": {aSet("ana", "p?"), aSet("bo", "p?"), aSet("ana", "q?")},
	} {
		s := &scripted{slices: oneSlice()}
		setup := s.setup(t, plain("a"))
		setup.Data.Sets = sets
		if _, err := trial.Run(t.Context(), setup); err == nil || err.Error() != why || s.started != 0 {
			t.Errorf("%s: %v", why, err)
		}
	}
}
