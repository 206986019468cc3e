package scheduler

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// runner lets Run wait for timers that the test fires.
type runner struct {
	*desk
	truth
	did    chan string
	waits  chan time.Duration // duration of each wait of Run
	fire   chan time.Time
	result chan error
}

func run(t *testing.T, prepare func(r *runner)) *runner {
	t.Helper()
	r := &runner{did: make(chan string, 100), waits: make(chan time.Duration), fire: make(chan time.Time), result: make(chan error, 1)}
	r.desk = sit(t, &script{
		due: func(_ context.Context, space string, kind Kind, limit int) ([]Due, error) {
			return r.list(space, kind, limit), nil
		},
		do: func(_ context.Context, j Job) (Done, error) {
			r.remove(j.Space, j.Kind, j.Subject)
			r.did <- j.Subject
			return Done{}, nil
		},
	})
	prepare(r)
	r.s.timer = func(d time.Duration) (<-chan time.Time, func() bool) {
		r.waits <- d
		return r.fire, func() bool { return true }
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() { r.result <- r.s.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		for {
			select {
			case <-r.waits: // it was about to wait
			case err := <-r.result:
				if err != nil {
					t.Error(err)
				}
				return
			}
		}
	})
	return r
}

// Run does due work, then waits for a time or an event. The clock and the due work change
// only while it waits.
func TestRun(t *testing.T) {
	r := run(t, func(r *runner) {
		r.config.Retry.First = time.Hour
		r.open()
		r.add("mail", Answer, Due{Subject: "at once"})
		r.add("mail", Answer, Due{Subject: "later", From: r.now.Add(time.Minute)})
	})
	waits := func(want time.Duration) {
		t.Helper()
		if got := <-r.waits; got != want {
			t.Errorf("waits %v, want %v", got, want)
		}
	}
	does := func(want string) {
		t.Helper()
		if got := <-r.did; got != want {
			t.Errorf("did %q, want %q", got, want)
		}
	}
	does("at once")
	waits(time.Minute)

	r.now = r.now.Add(time.Minute) // time comes
	r.fire <- r.now
	does("later")
	waits(maxWait)

	r.add("mail", Answer, Due{Subject: "new"}) // something changes
	r.s.Changed("mail")
	does("new")
	waits(maxWait)

	end := r.s.Foreground() // a request comes and goes
	r.add("mail", Answer, Due{Subject: "behind"})
	r.s.Changed("mail")
	waits(maxWait)
	end()
	waits(30 * time.Second)
	r.now = r.now.Add(30 * time.Second)
	r.fire <- r.now
	does("behind")
	waits(maxWait)

	must(t, r.s.Pause())
	waits(maxWait)
	r.add("mail", Answer, Due{Subject: "resumed"})
	r.s.Changed("mail")
	waits(maxWait)
	must(t, r.s.Resume())
	does("resumed")
	waits(maxWait)

	battery := 0.1
	must(t, r.s.Post(Device{Battery: &battery, At: r.now}))
	waits(30 * time.Second) // next read of the system
	r.add("mail", Answer, Due{Subject: "charged"})
	r.s.Changed("mail")
	waits(30 * time.Second)
	battery = 0.9
	must(t, r.s.Post(Device{Battery: &battery, At: r.now}))
	does("charged")
	waits(maxWait)
}

// A failed step is retried after a back-off. Run returns an error if the scheduler is
// closed.
func TestRunFails(t *testing.T) {
	fails := true
	r := run(t, func(r *runner) {
		r.worker.(*script).spaces = func() ([]string, error) {
			if fails {
				return nil, errors.New("no disk")
			}
			return []string{"mail"}, nil
		}
		r.add("mail", Answer, Due{Subject: "a"})
	})
	for _, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, maxWait} {
		if got := <-r.waits; got != want {
			t.Errorf("waits %v, want %v", got, want)
		}
		r.fire <- r.now
	}
	<-r.waits
	fails = false
	r.fire <- r.now
	if got := <-r.did; got != "a" {
		t.Errorf("did %q", got)
	}
	<-r.waits
	must(t, r.s.Close())
	r.fire <- r.now
	if err := <-r.result; fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	r.result <- nil
}

// blocked is a desk whose job runs until it is released or interrupted.
func blocked(t *testing.T) (d *desk, began chan Job) {
	began = make(chan Job)
	d = sit(t, &script{
		due: func(_ context.Context, _ string, kind Kind, _ int) ([]Due, error) {
			if kind != Answer {
				return nil, nil
			}
			return []Due{{Subject: "long"}}, nil
		},
		do: func(ctx context.Context, j Job) (Done, error) {
			began <- j
			<-ctx.Done()
			return Done{Computed: 7}, fmt.Errorf("engine: %w", context.Cause(ctx))
		},
	})
	return d, began
}

// No call waits for a running job, which is interrupted with the right cause.
func TestInterrupt(t *testing.T) {
	for _, tt := range []struct {
		name   string
		do     func(s *Scheduler, stop func()) error
		end    End
		queued int
		err    error
	}{
		{"a request", func(s *Scheduler, _ func()) error {
			s.RecordUse("mail", 0, &[16]byte{}, nil)
			s.RevokeCredits("mail", [][16]byte{{}})
			s.Changed("mail")
			s.Foreground()()
			return nil
		}, EndPreempted, 1, nil},
		{"a pause", func(s *Scheduler, _ func()) error { return s.Pause() }, EndPreempted, 1, nil},
		{"its documents are forgotten", func(s *Scheduler, _ func()) error { return s.Forget("mail") }, EndPreempted, 0, nil},
		{"its space goes", func(s *Scheduler, _ func()) error { return s.DropSpace("mail") }, EndPreempted, 0, nil},
		{"the caller leaves", func(_ *Scheduler, stop func()) error { stop(); return nil }, EndPreempted, 1, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, began := blocked(t)
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			type result struct {
				st  Step
				err error
			}
			results := make(chan result)
			go func() {
				st, err := d.s.Step(ctx)
				results <- result{st, err}
			}()
			j := <-began
			st, err := d.s.Status()
			must(t, err)
			if diff := cmp.Diff(&j, st.Running); diff != "" || st.State != Working {
				t.Error(st.State, diff)
			}
			must(t, tt.do(d.s, stop))
			r := <-results
			if r.st.End != tt.end || !errors.Is(r.err, tt.err) || r.st.Job.Attempts != 0 || r.st.Job.Parked {
				t.Errorf("%+v, %v", r.st, r.err)
			}
			if q := d.s.Queue(); len(q) != tt.queued {
				t.Errorf("%+v", q)
			}
			if diff := cmp.Diff([]Step{r.st}, d.ended); diff != "" {
				t.Error("told was another step: ", diff)
			}
			d.open() // the same holds on disk
			if q := d.s.Queue(); len(q) != tt.queued {
				t.Errorf("on disk: %+v", q)
			}
			accounts, err := d.s.Ledger("mail", time.Time{})
			must(t, err)
			if tt.name == "its space goes" {
				if accounts != nil {
					t.Errorf("%+v", accounts)
				}
			} else if len(accounts) != 1 || accounts[0].Preempted != 1 || accounts[0].Computed != 7 {
				t.Errorf("%+v", accounts)
			}
		})
	}
}

// A request during a scan ends the scan; the next one finds the rest.
func TestInterruptLook(t *testing.T) {
	var d *desk
	calls := 0
	d = sit(t, &script{due: func(ctx context.Context, _ string, kind Kind, _ int) ([]Due, error) {
		if calls++; calls == 3 {
			d.s.Foreground()()
			return nil, context.Cause(ctx)
		}
		if kind != Answer {
			return nil, nil
		}
		return []Due{{Subject: "a"}}, nil
	}})
	d.config.IdleAfter = 0
	d.open()
	st := d.step()
	if st.Job != nil || len(st.Reasons) != 1 || st.Reasons[0].Code != ReasonForeground {
		t.Errorf("%+v", st)
	}
	if st = d.step(); st.End != EndDone || st.Job.Subject != "a" {
		t.Errorf("%+v", st)
	}
}

// A job's ErrPreempted counts as an interruption, even without a known request.
func TestPreemptedByEngine(t *testing.T) {
	d := sit(t, &script{
		due: func(_ context.Context, _ string, kind Kind, _ int) ([]Due, error) {
			return map[Kind][]Due{Answer: {{Subject: "a"}}}[kind], nil
		},
		do: func(context.Context, Job) (Done, error) {
			return Done{}, fault.New(fault.Unavailable, "llm", "%w", percached.ErrPreempted)
		},
	})
	if st := d.step(); st.End != EndPreempted || st.Job.Attempts != 0 {
		t.Errorf("%+v", st)
	}
}

// Drain waits for a request to end and continues.
func TestDrainGoesOn(t *testing.T) {
	var d *desk
	var all truth
	var end func()
	d = sit(t, &script{
		due: func(_ context.Context, space string, kind Kind, limit int) ([]Due, error) {
			return all.list(space, kind, limit), nil
		},
		do: func(ctx context.Context, j Job) (Done, error) {
			if end == nil {
				end = d.s.Foreground()
				return Done{}, context.Cause(ctx)
			}
			all.remove(j.Space, j.Kind, j.Subject)
			return Done{}, nil
		},
	})
	d.s.timer = func(time.Duration) (<-chan time.Time, func() bool) {
		end()
		return nil, func() bool { return true }
	}
	all.add("mail", Answer, Due{Subject: "a"})
	all.add("mail", Answer, Due{Subject: "b"})
	sum, err := d.s.Drain(t.Context(), DrainRequest{}, nil)
	must(t, err)
	if sum.Done != 2 || sum.Preempted != 1 {
		t.Errorf("%+v", sum)
	}
}

// During an upload no job runs, and a running one is interrupted. Afterwards there is no
// idle delay.
func TestIntake(t *testing.T) {
	var d *desk
	var end func()
	tries, what := 0, Answer
	d = sit(t, &script{
		due: func(_ context.Context, _ string, kind Kind, _ int) ([]Due, error) {
			return map[Kind][]Due{what: {{Subject: "a"}}}[kind], nil
		},
		do: func(ctx context.Context, _ Job) (Done, error) {
			if tries++; tries == 1 {
				end = d.s.Intake()
			}
			return Done{}, context.Cause(ctx)
		},
	})
	if st := d.step(); st.End != EndPreempted {
		t.Errorf("a job that ran: %+v", st)
	}
	if st := d.step(); st.Job != nil || len(st.Reasons) != 1 || st.Reasons[0].Code != ReasonForeground || !st.Wake.IsZero() {
		t.Errorf("meanwhile: %+v", st)
	}
	end()
	if st := d.step(); st.End != EndDone {
		t.Errorf("behind it: %+v", st)
	}
	tries, what = 0, Clean
	d.s.Changed("mail")
	if st := d.step(); st.End != EndDone || st.Job.Kind != Clean {
		t.Errorf("an upload waits for a clean-up: %+v", st)
	}
}
