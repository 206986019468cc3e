package idle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/scheduler"
)

// newPackedWorld has chunks side by side, and nothing but tensors is prepared.
func newPackedWorld(t *testing.T, maxChanged float64) *world {
	t.Helper()
	w := newWorld(t, func(w *world) {
		w.set.Placement, w.set.Fixed, w.set.K, w.set.MaxChanged = percached.Parallel, true, 1, maxChanged
		w.config.Prediction = percached.PredictNothing
	})
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "kappa", "omega"} {
		w.add(name, fmt.Sprintf("The %s lighthouse has a %s keeper who sees %s ships and %s storms all through the %s winter.", name, name, name, name, name))
	}
	w.sleep(time.Hour)
	w.work()
	return w
}

// allow records whether packed tensors leave answers the same, and how much they lose.
func (w *world) allow(same bool, nats float64) {
	w.Helper()
	set, err := w.Asker.Settings(space)
	w.ok(err)
	for range 24 {
		_, err = w.Placements.AddForm(idle.Subject(w.engine.Info(), "emails", set), set.Placement, calibrate.FormTrial{percached.Q8: {Same: same, Nats: nats}, percached.Q4: {Same: same, Nats: nats}}, "", w.now())
		w.ok(err)
	}
}

// crowd sets the limit so that this share of it is used.
func (w *world) crowd(share float64) qkvtree.Stats {
	w.Helper()
	st, err := w.Tree.Stats()
	w.ok(err)
	w.ok(w.Tree.SetLimit(int64(float64(st.Bytes) / share)))
	w.scheduler.Changed(space)
	return st
}

func (w *world) forms() map[percached.Form]int {
	w.Helper()
	st, err := w.Tree.Stats()
	w.ok(err)
	n := map[percached.Form]int{}
	for f, s := range st.Forms {
		n[f] = s.Nodes
	}
	return n
}

// When the tree is nearly full, slices are packed and none is evicted. An answer says what
// it was made from, and is answered again, exactly. What is used again becomes exact.
func TestPackedInsteadOfEvicted(t *testing.T) {
	w := newPackedWorld(t, 0.02)
	w.allow(true, 0.001)
	before := w.crowd(0.95)
	packed := 0
	for _, s := range w.work() {
		if s.Job.Kind == scheduler.Pack && s.End == scheduler.EndDone {
			packed++
		}
	}
	st, err := w.Tree.Stats()
	w.ok(err)
	if packed == 0 || st.Nodes < before.Nodes || st.Evicted > 0 || st.Packed == 0 || float64(st.Bytes) > 0.9*float64(st.Limit) {
		t.Fatalf("%d jobs; %d of %d slices are left, %d evicted, %d packed; %d of %d bytes", packed, st.Nodes, before.Nodes, st.Evicted, st.Packed, st.Bytes, st.Limit)
	}
	w.ok(w.Tree.SetLimit(1 << 20))
	var cold string
	var a answer.Answer
	for _, name := range []string{"alpha", "beta", "gamma", "delta", "kappa", "omega"} {
		question := "Which storms does the " + name + " keeper see?"
		if a = w.ask(question); a.Chunks.Packed > 0 {
			cold = question
			break
		}
	}
	if cold == "" || a.Chunks.Form == percached.Exact || a.Outcome != answer.TensorHit {
		t.Fatalf("no answer was made from packed tensors: %+v", a.Chunks)
	}
	if e := w.entries()[cold]; e != "answered, stale, asked" {
		t.Errorf("the entry is %q", e)
	}
	w.sleep(time.Hour)
	w.work()
	if e := w.entries()[cold]; e != "answered, asked" {
		t.Errorf("behind idle work the entry is %q", e)
	}
	if a := w.ask(cold); a.Outcome != answer.AnswerHit {
		t.Errorf("it was answered as %s", a.Outcome)
	}
	stale := w.forms()
	for _, again := range []string{"How many ships", "Which winter"} { // now it is used often
		w.ask(again + " " + cold)
		w.sleep(time.Hour)
		w.work()
	}
	if now := w.forms(); now[percached.Exact] <= stale[percached.Exact] {
		t.Errorf("nothing became exact: %v, then %v", stale, now)
	}
}

func TestNotPacked(t *testing.T) {
	for name, tc := range map[string]struct {
		maxChanged float64
		same       bool
		nats       float64
		share      float64
	}{
		"exact alone":     {0, true, 0.001, 0.95},
		"loses too much":  {0.02, true, 0.1, 0.95},
		"changes answers": {0.02, false, 0.001, 0.95},
		"enough room":     {0.02, true, 0.001, 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPackedWorld(t, tc.maxChanged)
			w.allow(tc.same, tc.nats)
			w.crowd(tc.share)
			w.work()
			if n := w.forms(); n[percached.Q8]+n[percached.Q4] > 0 {
				t.Errorf("forms %v", n)
			}
		})
	}
}

// The fake's packed tensors lead to other answers, so that no form is used.
func TestCalibrateForms(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.set.Placement, w.set.Fixed, w.set.K = percached.Parallel, true, 1
		w.config.Prediction = percached.PredictNothing
	})
	keepers(w, 40)
	w.sleep(time.Hour)
	w.work()
	w.crowd(0.95)
	did := w.calibrates()
	rec := w.Placements.All()
	if len(rec) != 1 || len(rec[0].Forms) != 1 {
		t.Fatalf("%+v", rec)
	}
	forms := rec[0].Forms[percached.Parallel]
	if n := count(did, scheduler.Calibrate); n != 24 || len(forms.Trials) != 24 || forms.Form(1) != percached.Exact || forms.Open() != 0 {
		t.Fatalf("%d questions: %+v", n, rec)
	}
	for _, res := range forms.Results() {
		if !res.Decided || res.Allowed || !(res.Nats > 0.02) {
			t.Errorf("%+v", res)
		}
	}
}
