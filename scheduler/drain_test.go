package scheduler

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

// drainDesk is a desk whose worker records what it is asked for.
type drainDesk struct {
	*desk
	truth
	asked map[string]bool // space and kind that Due was asked about
	did   []string
	fails map[Kind]bool
	ends  func(j Job) (Done, error) // result of a job; nil: done, without cost
}

func newDrainDesk(t *testing.T) *drainDesk {
	e := &drainDesk{asked: map[string]bool{}, fails: map[Kind]bool{}}
	e.desk = sit(t, &script{
		spaces: func() ([]string, error) { return []string{"mail", "notes"}, nil },
		due: func(_ context.Context, space string, k Kind, limit int) ([]Due, error) {
			e.asked[fmt.Sprint(space, " ", k)] = true
			if e.fails[k] {
				return nil, fault.New(fault.Unavailable, "worker.Due", "no power")
			}
			return e.list(space, k, limit), nil
		},
		do: func(_ context.Context, j Job) (Done, error) {
			e.remove(j.Space, j.Kind, j.Subject)
			e.did = append(e.did, fmt.Sprint(j.Space, " ", j.Kind, " ", j.Subject))
			if j.Kind == Predict { // one job leads to another
				e.add(j.Space, Populate, Due{Subject: "p"})
			}
			if e.ends != nil {
				return e.ends(j)
			}
			return Done{}, nil
		},
	})
	return e
}

// predictions selects the prediction kinds of mail.
func predictions(space string, k Kind) bool { return space == "mail" && k.Predicts() }

// A drain does the selected work, including what that work makes due, and scans for
// nothing else. The rest is found afterwards.
func TestDrainOnly(t *testing.T) {
	e := newDrainDesk(t)
	for _, space := range []string{"mail", "notes"} {
		for _, k := range []Kind{Check, Abstract, Predict, Decode} {
			e.add(space, k, Due{Subject: "1", From: noon().AddDate(0, 0, 1)}) // due tomorrow, except for a drain
		}
	}
	sum, err := e.s.Drain(t.Context(), DrainRequest{Only: predictions}, nil)
	must(t, err)
	want := []string{"mail abstract 1", "mail predict 1", "mail populate p"}
	if d := cmp.Diff(want, e.did); d != "" || sum.Done != 3 || len(sum.Reasons) != 1 || sum.Reasons[0].Code != ReasonNothing {
		t.Errorf("%s\n%+v", d, sum)
	}
	for what := range e.asked {
		if !slices.Contains([]string{"mail abstract", "mail predict", "mail history", "mail populate"}, what) {
			t.Errorf("it looked for %s", what)
		}
	}
	e.did = nil
	sum, err = e.s.Drain(t.Context(), DrainRequest{}, nil)
	must(t, err)
	want = []string{"mail check 1", "mail decode 1", "notes abstract 1", "notes check 1", "notes decode 1", "notes populate p", "notes predict 1"}
	slices.Sort(e.did)
	if d := cmp.Diff(want, e.did); d != "" || sum.Done != len(want) {
		t.Errorf("%s\n%+v", d, sum)
	}
}

// Work outside a drain's selection cannot make it fail, and its failure state stays.
func TestDrainOnlyAmongFaults(t *testing.T) {
	e := newDrainDesk(t)
	e.fails[Check] = true
	if _, err := e.s.Drain(t.Context(), DrainRequest{}, nil); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	e.add("mail", Abstract, Due{Subject: "1"})
	e.s.Changed("mail")
	if sum, err := e.s.Drain(t.Context(), DrainRequest{Only: predictions}, nil); sum.Done != 1 || err != nil {
		t.Errorf("%+v, %v", sum, err)
	}
	st := e.step()
	if !slices.ContainsFunc(st.Reasons, func(r Reason) bool { return r.Code == ReasonNotYet }) {
		t.Errorf("nobody tells of what is broken: %+v", st.Reasons)
	}
	e.fails[Abstract] = true
	if _, err := e.s.Drain(t.Context(), DrainRequest{Only: predictions}, nil); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	clear(e.fails)
	e.add("mail", Check, Due{Subject: "2"})
	if sum, err := e.s.Drain(t.Context(), DrainRequest{}, nil); sum.Done != 1 || err != nil {
		t.Errorf("%+v, %v", sum, err)
	}
}

// A drain also leaves out prediction that does not pay, and gives that as its reason.
func TestDrainOnlyWithoutPay(t *testing.T) {
	e := newDrainDesk(t)
	e.config.Pay = Pay{Horizon: 0, Trial: 0, Worth: 1}
	e.open()
	e.s.mu.Lock()
	e.s.account(e.s.stateOf("mail"), Predict, dateOf(noon(), e.config.Zone)).spent = 1 << 40
	e.s.mu.Unlock()
	e.add("mail", Abstract, Due{Subject: "1"})
	sum, err := e.s.Drain(t.Context(), DrainRequest{Only: predictions}, nil)
	must(t, err)
	if sum.Done != 0 || len(sum.Reasons) != 1 || sum.Reasons[0].Code != ReasonNoPay {
		t.Errorf("%+v", sum)
	}
	others := func(space string, k Kind) bool { return space == "notes" }
	if sum, err = e.s.Drain(t.Context(), DrainRequest{Only: others}, nil); err != nil || len(sum.Reasons) != 1 || sum.Reasons[0].Code != ReasonNothing {
		t.Errorf("of another space: %+v, %v", sum, err)
	}
}

// A drain ends at its limit and gives that as its reason. Jobs with nothing to do do not
// count; all tokens do. The next drain does the rest.
func TestDrainBound(t *testing.T) {
	ten := func(Job) (Done, error) { return Done{Computed: 7, Generated: 3}, nil }
	for name, tc := range map[string]struct {
		what DrainRequest
		ends func(j Job) (Done, error)
		did  int // jobs of the worker
		done int
		why  []string // codes
	}{
		"none":                {DrainRequest{}, ten, 4, 4, []string{ReasonNothing}},
		"one job":             {DrainRequest{Jobs: 1}, ten, 1, 1, []string{ReasonBound}},
		"all jobs there are":  {DrainRequest{Jobs: 4}, ten, 4, 4, []string{ReasonBound}},
		"more than there are": {DrainRequest{Jobs: 5, Tokens: 41}, ten, 4, 4, []string{ReasonNothing}},
		"the last fits":       {DrainRequest{Tokens: 20}, ten, 2, 2, []string{ReasonBound}},
		"the last goes past":  {DrainRequest{Tokens: 21}, ten, 3, 3, []string{ReasonBound}},
		"both at once":        {DrainRequest{Jobs: 2, Tokens: 20}, ten, 2, 2, []string{ReasonBound, ReasonBound}},
		"of one space":        {DrainRequest{Only: predictions, Jobs: 1}, ten, 1, 1, []string{ReasonBound}},
		"nothing to do": {DrainRequest{Jobs: 1}, func(j Job) (Done, error) {
			return Done{Nothing: j.Subject != "4"}, nil
		}, 4, 1, []string{ReasonBound}},
		"failed jobs took tokens": {DrainRequest{Jobs: 2, Tokens: 20}, func(j Job) (Done, error) {
			d, _ := ten(j)
			return d, fault.New(fault.Unavailable, "worker.Do", "no power")
		}, 2, 0, []string{ReasonBound}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newDrainDesk(t)
			e.ends = tc.ends
			for _, subject := range []string{"1", "2", "3", "4"} {
				e.add("mail", Abstract, Due{Subject: subject})
			}
			sum, err := e.s.Drain(t.Context(), tc.what, nil)
			must(t, err)
			var why []string
			for _, r := range sum.Reasons {
				why = append(why, r.Code)
			}
			if len(e.did) != tc.did || sum.Done != tc.done || !slices.Equal(why, tc.why) {
				t.Errorf("%v were done; %+v", e.did, sum)
			}
			e.ends = nil
			sum, err = e.s.Drain(t.Context(), DrainRequest{}, nil)
			must(t, err)
			if left := 4 - tc.did; sum.Done != left || sum.Reasons[0].Code != ReasonNothing {
				t.Errorf("%d were left, and of those: %+v", left, sum)
			}
		})
	}
}
