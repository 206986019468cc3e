package scheduler

import (
	"context"
	"testing"
	"time"
)

// guarded is a desk whose only job runs until it is interrupted or released.
type guarded struct {
	*desk
	began, let chan struct{}
	rounds     chan time.Duration // the guard waits so long
	fire       chan time.Time
}

func newGuarded(t *testing.T, k Kind) *guarded {
	g := &guarded{began: make(chan struct{}), let: make(chan struct{}), rounds: make(chan time.Duration), fire: make(chan time.Time)}
	g.desk = sit(t, &script{
		due: func(_ context.Context, _ string, kind Kind, _ int) ([]Due, error) {
			return map[Kind][]Due{k: {{Subject: "long"}}}[kind], nil
		},
		do: func(ctx context.Context, _ Job) (Done, error) {
			close(g.began)
			select {
			case <-ctx.Done():
				return Done{}, context.Cause(ctx)
			case <-g.let:
				return Done{}, nil
			}
		},
	})
	g.config.Windows = []Window{{Cron: "0 11 * * *", Length: 2 * time.Hour}} // around noon
	g.open()
	g.s.watch = func(d time.Duration) (<-chan time.Time, func() bool) {
		select {
		case g.rounds <- d:
		case <-t.Context().Done():
		}
		return g.fire, func() bool { return true }
	}
	return g
}

// passes lets time pass until the next check.
func (g *guarded) passes(d time.Duration) {
	g.now = g.now.Add(d)
	g.fire <- g.now
}

// A running job is stopped by everything that would prevent its start: the device, the
// end of the window, and a used-up budget. A job that would start again from the
// beginning, like Clean, is stopped by the device alone.
func TestRunningJobIsHeldAgainstTheRules(t *testing.T) {
	low := 0.1
	for _, tt := range []struct {
		name string
		kind Kind
		wait time.Duration // until the first look
		do   func(g *guarded)
		end  End
	}{
		{"the battery is told", Check, 30 * time.Second, func(g *guarded) {
			must(t, g.s.Post(Device{Battery: &low, At: g.now}))
		}, EndPreempted},
		{"the battery is told, cleaning", Clean, 30 * time.Second, func(g *guarded) {
			must(t, g.s.Post(Device{Battery: &low, At: g.now}))
		}, EndPreempted},
		{"nothing is against it", Check, 30 * time.Second, func(g *guarded) {
			g.passes(30 * time.Second)
			<-g.rounds
			close(g.let)
		}, EndDone},
		{"the window ends", Check, 30 * time.Second, func(g *guarded) { g.passes(time.Hour) }, EndPreempted},
		{"the budget is spent", Check, 10 * time.Second, func(g *guarded) { g.passes(10 * time.Second) }, EndPreempted},
		{"the window and the budget end, with one inference", Decode, 10 * time.Second, func(g *guarded) {
			g.passes(time.Hour)
			<-g.rounds
			close(g.let)
		}, EndDone},
		{"the window and the budget end, cleaning", Clean, 10 * time.Second, func(g *guarded) {
			g.passes(time.Hour)
			<-g.rounds
			close(g.let)
		}, EndDone},
		{"the rules become stricter", Check, 30 * time.Second, func(g *guarded) {
			c := g.config
			c.Windows = []Window{{Cron: "0 3 * * *", Length: time.Hour}}
			must(t, g.s.Configure(c))
			g.passes(30 * time.Second)
		}, EndPreempted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := newGuarded(t, tt.kind)
			c := g.config
			c.Budget.Compute = 30 * time.Minute
			if tt.wait < 30*time.Second {
				c.Budget.Compute = tt.wait
			}
			must(t, g.s.Configure(c))
			ended := make(chan Step, 1)
			go func() {
				st, err := g.s.Step(t.Context())
				if err != nil {
					t.Error(err)
				}
				ended <- st
			}()
			<-g.began
			if d := <-g.rounds; d != tt.wait {
				t.Errorf("it is looked at after %v, want %v", d, tt.wait)
			}
			tt.do(g)
			if st := <-ended; st.End != tt.end {
				t.Errorf("%+v, want %s", st, tt.end)
			}
			if queued := len(g.s.Queue()); (queued == 0) != (tt.end == EndDone) {
				t.Errorf("%d jobs are left", queued)
			}
		})
	}
}

// Nothing of that stops a job of a drain.
func TestErrandIsNotGuarded(t *testing.T) {
	g := newGuarded(t, Check)
	sums := make(chan Summary, 1)
	go func() {
		sum, err := g.s.Drain(t.Context(), DrainRequest{Jobs: 1}, nil)
		if err != nil {
			t.Error(err)
		}
		sums <- sum
	}()
	<-g.began
	low := 0.1
	must(t, g.s.Post(Device{Battery: &low, At: g.now}))
	close(g.let)
	if sum := <-sums; sum.Done != 1 || sum.Preempted != 0 {
		t.Errorf("%+v", sum)
	}
}

// A new device state also ends a scan and is given as the reason.
func TestDeviceInterruptsLook(t *testing.T) {
	low := 0.1
	var d *desk
	d = sit(t, &script{due: func(ctx context.Context, _ string, _ Kind, _ int) ([]Due, error) {
		must(t, d.s.Post(Device{Battery: &low, At: d.now}))
		return nil, context.Cause(ctx)
	}})
	st := d.step()
	if st.Job != nil || len(st.Reasons) != 1 || st.Reasons[0].Code != ReasonBattery {
		t.Errorf("%+v", st)
	}
}
