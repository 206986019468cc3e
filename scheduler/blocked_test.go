package scheduler

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// A failed scan of one kind does not delay other kinds.
func TestOneKindIsSick(t *testing.T) {
	var all truth
	for i := range 200 {
		all.add("mail", Clean, Due{Subject: strconv.Itoa(i)})
	}
	asked := 0
	d := sit(t, &script{
		due: func(_ context.Context, space string, kind Kind, limit int) ([]Due, error) {
			if kind == Answer {
				asked++
				return nil, fault.New(fault.Internal, "test", "it is broken")
			}
			return all.list(space, kind, limit), nil
		},
		do: func(_ context.Context, j Job) (Done, error) {
			all.remove(j.Space, j.Kind, j.Subject)
			return Done{}, nil
		},
	})
	for range 200 {
		if st := d.step(); st.End != EndDone {
			t.Fatalf("%d are left: %+v", len(all.due), st)
		}
	}
	st := d.step()
	if st.Job != nil || !st.Wake.Equal(d.now.Add(time.Minute)) || asked != 1 {
		t.Errorf("%+v; asked %d times", st, asked)
	}
	d.now = d.now.Add(-100 * time.Hour)
	if d.step(); asked != 2 {
		t.Errorf("the clock was set back: asked %d times", asked)
	}
}

// A clock that was set back delays nothing for long.
func TestSetBack(t *testing.T) {
	for name, done := range map[string]error{
		"nothing was done": nil,
		"it failed":        fault.New(fault.Unavailable, "test", "it is broken"),
	} {
		t.Run(name, func(t *testing.T) {
			d := sit(t, &script{
				due: func(_ context.Context, _ string, k Kind, _ int) ([]Due, error) {
					if k == Warm {
						return []Due{{Subject: "w"}}, nil
					}
					return nil, nil
				},
				do: func(context.Context, Job) (Done, error) { return Done{Nothing: true}, done },
			})
			if st := d.step(); st.Job == nil {
				t.Fatalf("%+v", st)
			}
			if st := d.step(); st.Job != nil {
				t.Fatalf("%+v", st)
			}
			d.now = d.now.Add(-1000 * time.Hour)
			for range 3 {
				if st := d.step(); st.Job != nil {
					return
				}
				d.now = d.now.Add(time.Minute)
			}
			t.Error("it waits for the time before")
		})
	}
}

func TestParked(t *testing.T) {
	d := sit(t, &script{
		due: func(_ context.Context, _ string, k Kind, _ int) ([]Due, error) {
			return []Due{{Subject: string(k)}}, nil
		},
		do: func(_ context.Context, j Job) (Done, error) {
			if j.Kind == Abstract {
				return Done{}, fault.New(fault.Unavailable, "test", "it is broken")
			}
			return Done{Nothing: true}, nil
		},
	})
	for range d.config.Retry.Attempts {
		if _, err := d.s.Drain(t.Context(), DrainRequest{}, nil); err != nil {
			t.Fatal(err)
		}
		d.now = d.now.Add(time.Second) // the drain retries what failed before it
	}
	for _, k := range kinds {
		want := 0
		if k == Abstract {
			want = 1
		}
		if n := d.s.Parked("mail", k); n != want {
			t.Errorf("%s: %d", k, n)
		}
	}
	if n := d.s.Parked("news", Abstract); n != 0 {
		t.Errorf("in another space: %d", n)
	}
}
