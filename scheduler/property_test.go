package scheduler

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// chance is a worker and a user with random behaviour.
type chance struct {
	*desk
	truth
	r     *rand.Rand
	ends  map[End]int
	spent time.Duration
	// banned are jobs that must not run, because they are done or parked.
	banned map[string]ban
}

type ban struct {
	end   End
	space string
}

// In any order of events, a finished job runs again only if it became due again, and a
// parked one only after Retry. A killed scheduler forgets none of that, and the ledger is
// correct.
func TestWhateverComes(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		c := &chance{r: rand.New(rand.NewPCG(seed, 1)), ends: map[End]int{}, banned: map[string]ban{}}
		c.desk = sit(t, &script{
			spaces: func() ([]string, error) { return []string{"mail", "notes", "calls"}, nil },
			due: func(ctx context.Context, space string, kind Kind, limit int) ([]Due, error) {
				switch c.r.IntN(60) {
				case 0:
					return nil, fault.New(fault.Unavailable, "worker.Due", "no disk")
				case 1:
					c.s.Foreground()()
					return nil, context.Cause(ctx)
				}
				return c.list(space, kind, limit), nil
			},
			do: c.work,
		})
		c.config.IdleAfter, c.config.Budget.Compute = time.Second, time.Hour*1000
		c.config.Retry = Retry{First: time.Second, Longest: time.Minute, Attempts: 3}
		c.open()
		for range 300 {
			c.turn()
			if t.Failed() {
				t.Fatalf("with seed %d", seed)
			}
		}
		c.audit()
	}
}

func (c *chance) pick() (space string, kind Kind, subject string) {
	return []string{"mail", "notes", "calls"}[c.r.IntN(3)], kinds[c.r.IntN(len(kinds))], fmt.Sprint(c.r.IntN(4))
}

func (c *chance) turn() {
	c.now = c.now.Add(time.Duration(c.r.IntN(3000)) * time.Millisecond)
	space, kind, subject := c.pick()
	id := Job{Kind: kind, Space: space, Subject: subject}.ID()
	switch c.r.IntN(14) {
	case 0, 1, 2: // becomes due
		d := Due{Subject: subject}
		if c.r.IntN(3) == 0 {
			d.From = c.now.Add(time.Duration(c.r.IntN(5000)) * time.Millisecond)
		}
		c.add(space, kind, d)
		if c.banned[id].end == EndDone {
			delete(c.banned, id)
		}
		c.s.Changed(space)
	case 3: // is not due any more
		c.remove(space, kind, subject)
		c.s.Changed(space)
	case 4:
		c.s.Foreground()()
	case 5:
		c.open() // it was killed
	case 6:
		if q := c.s.Queue(); len(q) > 0 {
			j := q[c.r.IntN(len(q))]
			must(c.t, c.s.Retry(j.ID()))
			if c.banned[j.ID()].end == EndParked {
				delete(c.banned, j.ID())
			}
		}
	case 7:
		if c.r.IntN(5) == 0 {
			must(c.t, c.s.Forget(space))
			for id, b := range c.banned {
				if b.end == EndParked && b.space == space {
					delete(c.banned, id)
				}
			}
		}
	default:
		for range c.r.IntN(4) {
			c.do()
		}
	}
	c.audit()
}

func (c *chance) do() {
	st, err := c.s.Step(context.Background())
	must(c.t, err)
	if st.Job == nil {
		if len(st.Reasons) == 0 {
			c.t.Error("neither a job nor a reason")
		}
		return
	}
	c.ends[st.End]++
	switch st.End {
	case EndDone, EndParked:
		c.banned[st.Job.ID()] = ban{st.End, st.Job.Space}
	}
}

func (c *chance) work(ctx context.Context, j Job) (Done, error) {
	if b := c.banned[j.ID()]; b.end != "" {
		c.t.Errorf("%+v is done again, though it was %s", j, b.end)
	}
	if c.now.Before(j.From) || j.Parked {
		c.t.Errorf("at %v %+v is done", c.now, j)
	}
	took := time.Duration(c.r.IntN(1000)) * time.Millisecond
	c.now = c.now.Add(took)
	c.spent += took
	switch c.r.IntN(6) {
	case 0:
		return Done{}, fault.New(fault.Unavailable, "worker.Do", "no power")
	case 1:
		c.s.Foreground()()
		return Done{}, context.Cause(ctx)
	case 2:
		c.remove(j.Space, j.Kind, j.Subject)
		return Done{Nothing: true}, nil
	}
	c.remove(j.Space, j.Kind, j.Subject)
	if c.r.IntN(3) == 0 { // and finds more to do
		space, kind, subject := c.pick()
		if id := (Job{Kind: kind, Space: space, Subject: subject}).ID(); c.banned[id].end == "" && id != j.ID() {
			c.add(space, kind, Due{Subject: subject})
		}
	}
	return Done{}, nil
}

// audit compares the ledger with what was observed.
func (c *chance) audit() {
	c.t.Helper()
	accounts, err := c.s.Ledger("", time.Time{})
	must(c.t, err)
	var sum Account
	for _, a := range accounts {
		sum.Jobs += a.Jobs
		sum.Failed += a.Failed
		sum.Preempted += a.Preempted
		sum.Seconds += a.Seconds
	}
	if sum.Jobs != c.ends[EndDone] || sum.Failed != c.ends[EndFailed]+c.ends[EndParked] || sum.Preempted != c.ends[EndPreempted] {
		c.t.Errorf("the ledger has %+v, seen was %v", sum, c.ends)
	}
	if d := sum.Seconds - c.spent.Seconds(); d > 1e-6 || d < -1e-6 {
		c.t.Errorf("the ledger has %v s, spent were %v", sum.Seconds, c.spent)
	}
	seen := map[string]bool{}
	for _, j := range c.s.Queue() {
		if seen[j.ID()] {
			c.t.Errorf("%+v is twice in the queue", j)
		}
		seen[j.ID()] = true
		if end := c.banned[j.ID()].end; end == EndDone || j.Parked != (end == EndParked) {
			c.t.Errorf("%+v is in the queue, it was %q", j, end)
		}
	}
}
