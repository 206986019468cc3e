package scheduler

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The state is paused even while the interrupted job still runs; Status shows that job
// too.
func TestPausedWhileAJobStops(t *testing.T) {
	began, end := make(chan Job), make(chan struct{})
	d := sit(t, &script{
		due: func(_ context.Context, _ string, kind Kind, _ int) ([]Due, error) {
			if kind != Answer {
				return nil, nil
			}
			return []Due{{Subject: "slow"}}, nil
		},
		do: func(ctx context.Context, j Job) (Done, error) {
			began <- j
			<-ctx.Done()
			<-end
			return Done{}, context.Cause(ctx)
		},
	})
	ended := make(chan error)
	go func() {
		_, err := d.s.Step(t.Context())
		ended <- err
	}()
	j := <-began
	must(t, d.s.Pause())
	st, err := d.s.Status()
	must(t, err)
	if diff := cmp.Diff(&j, st.Running); diff != "" || st.State != Paused {
		t.Error(st.State, diff)
	}
	must(t, d.s.Resume())
	if st, err = d.s.Status(); err != nil || st.State != Working {
		t.Error(st.State, err)
	}
	must(t, d.s.Pause())
	close(end)
	must(t, <-ended)
	if st, err = d.s.Status(); err != nil || st.State != Paused || st.Running != nil {
		t.Errorf("%+v, %v", st, err)
	}
}

// Scarce memory interrupts the running job, and none starts until memory is free again.
func TestScarceMemory(t *testing.T) {
	began := make(chan Job)
	d := sit(t, &script{
		due: func(_ context.Context, _ string, kind Kind, _ int) ([]Due, error) {
			if kind != Answer {
				return nil, nil
			}
			return []Due{{Subject: "slow"}}, nil
		},
		do: func(ctx context.Context, j Job) (Done, error) {
			began <- j
			<-ctx.Done()
			return Done{}, context.Cause(ctx)
		},
	})
	ended := make(chan error)
	step := func() {
		_, err := d.s.Step(t.Context())
		ended <- err
	}
	go step()
	<-began
	d.s.SetScarce(true)
	must(t, <-ended)
	go step()
	must(t, <-ended) // no job began
	st, err := d.s.Status()
	if err != nil || st.State != Waiting || len(st.Reasons) != 1 || st.Reasons[0].Code != ReasonMemory {
		t.Errorf("%+v, %v", st, err)
	}
	woken := d.s.notified()
	d.s.SetScarce(false)
	<-woken
	go step()
	<-began
	d.s.SetScarce(true)
	must(t, <-ended)
}
