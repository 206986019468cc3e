package scheduler

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Invalid results of a worker are harmless: long names, negative numbers, too many
// credits, too many jobs.
func TestRoughWorker(t *testing.T) {
	calls := 0
	d := sit(t, &script{
		due: func(_ context.Context, _ string, k Kind, limit int) (due []Due, err error) {
			switch k {
			case Warm:
				for i := range 3 * limit {
					d := Due{Subject: fmt.Sprintf("%0*d", maxSubject, i)}
					due = append(due, d, d)
				}
			case Clean:
				due = []Due{{Subject: strings.Repeat("x", maxSubject+1)}, {Subject: "y"}}
			}
			return due, nil
		},
		do: func(context.Context, Job) (Done, error) {
			calls++
			credits := make([]Credit, maxCredit+10)
			for i := range credits {
				credits[i] = Credit{ID: [16]byte{byte(i), byte(i >> 8), byte(calls)}, Saves: -time.Second}
			}
			return Done{Computed: -1, Generated: -1, Written: -1, Questions: -1, Credits: credits}, nil
		},
	})
	for range 2 {
		if st := d.step(); st.End != EndDone {
			t.Errorf("%+v", st)
		}
	}
	d.open()
	if n := len(d.s.Queue()); n != 3*scanLimit-2 {
		t.Errorf("%d jobs in the queue, want %d", n, 3*scanLimit-2)
	}
	if n := len(d.s.states[kv.NewSpaceID("mail")].credits); n != 2*maxCredit || len(d.broken) > 0 {
		t.Errorf("%d credits, %v", n, d.broken)
	}
	if n, err := d.s.Prune("mail", func([16]byte) bool { return false }); n != 2*maxCredit || err != nil {
		t.Error(n, err)
	}
	d.open()
	if n := len(d.s.states[kv.NewSpaceID("mail")].credits); n != 0 {
		t.Errorf("%d credits are left", n)
	}
}

// Parked or waiting jobs never hide others, however many there are and even if the worker
// names them first.
func TestNothingHidden(t *testing.T) {
	for _, tt := range []struct {
		name string
		from time.Duration
		want map[End]int
	}{
		{"they fail", 0, map[End]int{EndParked: 200, EndDone: 100}},
		{"they wait", time.Hour, map[End]int{EndDone: 100}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var all truth
			d := sit(t, &script{
				due: func(_ context.Context, space string, kind Kind, limit int) ([]Due, error) {
					return all.list(space, kind, limit), nil
				},
				do: func(_ context.Context, j Job) (Done, error) {
					if j.Subject[0] == '-' {
						return Done{}, fault.New(fault.Unavailable, "worker.Do", "never")
					}
					all.remove(j.Space, j.Kind, j.Subject)
					return Done{}, nil
				},
			})
			d.config.Retry.Attempts = 1
			d.open()
			for i := range 300 {
				subject := Due{Subject: fmt.Sprint(i - 200)}
				if i < 200 {
					subject.From = d.now.Add(tt.from)
				}
				all.add("mail", Answer, subject)
			}
			ends := map[End]int{}
			for st := d.step(); st.Job != nil; st = d.step() {
				ends[st.End]++
			}
			if diff := cmp.Diff(tt.want, ends); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A space unknown to the worker has no due work.
func TestSpaceGone(t *testing.T) {
	there := true
	d := sit(t, &script{due: func(_ context.Context, _ string, kind Kind, _ int) ([]Due, error) {
		if !there {
			return nil, fault.New(fault.NotFound, "worker.Due", "no such space")
		}
		return map[Kind][]Due{Answer: {{Subject: "a"}, {Subject: "b"}}}[kind], nil
	}})
	d.step()
	there = false
	d.s.Changed("mail")
	if st := d.step(); st.Job != nil || st.Reasons[0].Code != ReasonNothing || len(d.s.Queue()) > 0 {
		t.Errorf("%+v, %+v", st, d.s.Queue())
	}
}

// Invalid names are refused or ignored.
func TestWrongNames(t *testing.T) {
	d := sit(t, &script{})
	for _, id := range []string{"", "zz", "00112233445566", "0011223344556677"} {
		if err := d.s.Retry(id); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%q: %v", id, err)
		}
	}
	d.s.Changed("")
	d.s.Changed(strings.Repeat("x", maxName+1))
	if st, err := d.s.Status(); err != nil || len(st.Pace) > 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if err := d.s.Post(Device{}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

// Credits of deleted things are deleted automatically: after Forget, and when many
// accumulated.
func TestAlive(t *testing.T) {
	calls := 0
	d := sit(t, &script{
		spaces: func() ([]string, error) { return []string{"mail"}, nil },
		due: func(_ context.Context, _ string, kind Kind, _ int) ([]Due, error) {
			if kind != Populate {
				return nil, nil
			}
			return []Due{{Subject: fmt.Sprint(calls)}}, nil
		},
		do: func(context.Context, Job) (Done, error) {
			calls++
			credits := make([]Credit, maxCredit)
			for i := range credits {
				credits[i] = Credit{ID: [16]byte{byte(i), byte(i >> 8), byte(calls)}, Saves: time.Second}
			}
			return Done{Computed: 1, Credits: credits}, nil
		},
	})
	d.alive = func(_ string, id [16]byte) bool { return int(id[2]) == calls } // the latest
	d.open()
	left := func() int { return len(d.s.states[kv.NewSpaceID("mail")].credits) }
	for range 3 {
		d.step()
	}
	if n := left(); n > 2*maxCredit {
		t.Errorf("%d credits of what is gone gathered", n)
	}
	if err := d.s.Forget("mail"); err != nil {
		t.Fatal(err)
	}
	if n := left(); n != maxCredit {
		t.Errorf("%d credits are left, want those of the last job", n)
	}
}
