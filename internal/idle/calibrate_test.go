package idle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/scheduler"
)

// keepers are letters that each say who keeps a lighthouse.
func keepers(w *world, n int) {
	w.Helper()
	for i := range n {
		w.add(fmt.Sprintf("letter %d", i), fmt.Sprintf("The lighthouse on island number%c%c has since last winter been kept by Keeper%c%c alone.", 'a'+i/26, 'a'+i%26, 'a'+i/26, 'a'+i%26))
	}
}

// knows answers with the keeper of the island that a question is about.
func knows(question string) (string, bool) {
	_, rest, ok := strings.Cut(question, "number")
	if !ok || len(rest) < 2 {
		return "I cannot say.", true
	}
	return "Keeper" + rest[:2], true
}

func guesses(string) (string, bool) { return "Perhaps Someone", true }

// calibrates does the idle work that is due now, and gives the kinds of what was done.
func (w *world) calibrates() (did []scheduler.Kind) {
	w.Helper()
	for _, s := range w.work() {
		if s.End == scheduler.EndFailed || s.End == scheduler.EndParked {
			w.Errorf("%s %s: %s", s.Job.Kind, s.End, s.Job.Reason)
		}
		if s.End == scheduler.EndDone {
			did = append(did, s.Job.Kind)
		}
	}
	return did
}

func count(all []scheduler.Kind, k scheduler.Kind) (n int) {
	for _, one := range all {
		if one == k {
			n++
		}
	}
	return n
}

func TestCalibrate(t *testing.T) {
	for _, tc := range []struct {
		name      string
		apart     func(string) (string, bool)
		placement percached.Placement
		verdict   calibrate.Verdict
	}{
		{"as good side by side", knows, percached.Parallel, calibrate.Parallel},
		{"worse side by side", guesses, percached.Sequential, calibrate.Sequential},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, nil)
			w.says, w.apart = knows, tc.apart
			keepers(w, 40)
			w.sleep(time.Minute) // less than documents are quiet
			did := w.calibrates()
			set, err := w.Asker.Settings(space)
			w.ok(err)
			if n := count(did, scheduler.Calibrate); n != 24 || set.Placement != tc.placement {
				t.Errorf("%d questions, and chunks are placed %s", n, set.Placement)
			}
			all := w.Placements.All()
			if len(all) != 1 || all[0].Verdict != tc.verdict || all[0].Kind != "emails" {
				t.Errorf("%+v", all)
			}
			if first := slices.Index(did, scheduler.Warm); first >= 0 && first < slices.Index(did, scheduler.Calibrate) {
				t.Error("chunks were read ahead before it was known how")
			}
			if past, err := w.History.Recent(space, 10); err != nil || len(past) > 0 {
				t.Errorf("the history has %d questions, %v", len(past), err)
			}
			for q := range w.entries() {
				if strings.Contains(q, "____") {
					t.Errorf("the bank has %q", q)
				}
			}
			if did := w.calibrates(); count(did, scheduler.Calibrate) > 0 {
				t.Error("it was measured twice")
			}
			w.close()
			w.open()
			if set, err = w.Asker.Settings(space); err != nil || set.Placement != tc.placement {
				t.Errorf("behind a restart chunks are placed %s, %v", set.Placement, err)
			}
		})
	}
}

// Nothing is measured where somebody chose, where nothing is reused, or where there is
// too little to ask about.
func TestCalibrateNot(t *testing.T) {
	yes, no, sequential := true, false, percached.Sequential
	for _, tc := range []struct {
		name    string
		change  func(*world)
		want    percached.Settings
		letters int
	}{
		{"configured", func(w *world) { w.set.Fixed = true }, percached.Settings{}, 40},
		{"chosen for the space", nil, percached.Settings{Placement: &sequential}, 40},
		{"without tensors", nil, percached.Settings{Tensors: &no}, 40},
		{"of one text", nil, percached.Settings{Whole: &yes}, 40},
		{"a model that allows no other placement", func(w *world) { w.noParallel = "it is recurrent" }, percached.Settings{}, 40},
		{"few documents", nil, percached.Settings{}, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t, tc.change)
			w.says, w.apart = knows, guesses
			w.ok(w.Knowledge.Configure(space, tc.want))
			keepers(w, tc.letters)
			if did := w.calibrates(); count(did, scheduler.Calibrate) > 0 || len(w.Placements.All()) > 0 {
				t.Errorf("%d questions", count(did, scheduler.Calibrate))
			}
		})
	}
}

// Chunks that questions were answered from come first, and documents without a sentence
// to ask about end it until there are more.
func TestCalibrateQuestions(t *testing.T) {
	w := newWorld(t, nil)
	var asked []string
	w.says = func(question string) (string, bool) {
		asked = append(asked, question)
		return knows(question)
	}
	for i := range 40 {
		w.add(fmt.Sprintf("note %d", i), fmt.Sprintf("nothing is said here of anybody at all, say %c%c or %c%c", 'a'+i/26, 'a'+i%26, 'b'+i/26, 'a'+i%26))
	}
	keepers(w, 4)
	a := w.ask("Who keeps the lighthouse on island numberac?")
	w.sleep(time.Minute)
	asked = nil
	if did := w.calibrates(); count(did, scheduler.Calibrate) != 4 {
		t.Errorf("%v", did)
	}
	cited := false
	for _, c := range a.Citations {
		gap, _, _ := strings.Cut(c.Quote, "Keeper")
		cited = cited || gap != "" && len(asked) > 0 && strings.Contains(asked[0], gap)
	}
	if !cited {
		t.Errorf("first %q, although the answer rests on %+v", asked, a.Citations)
	}
	rec := w.Placements.All()[0]
	if rec.Verdict != calibrate.Pending || rec.Lacking == 0 || len(rec.Trials) != 4 {
		t.Errorf("%+v", rec)
	}
	if did := w.calibrates(); count(did, scheduler.Calibrate) > 0 {
		t.Error("it was tried again with the same documents")
	}
	keepers(w, 60)
	w.calibrates()
	if rec := w.Placements.All()[0]; rec.Verdict != calibrate.Parallel {
		t.Errorf("with more documents: %s", rec.Why())
	}
}
