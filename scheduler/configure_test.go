package scheduler

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

// If the windows change while Run waits for one, Run looks again and works.
func TestConfigure(t *testing.T) {
	r := run(t, func(r *runner) {
		r.config.Windows = []Window{{Cron: "0 1 * * *", Length: time.Hour}}
		r.open()
		r.add("mail", Answer, Due{Subject: "now"})
	})
	if got := <-r.waits; got != maxWait {
		t.Errorf("waits %v", got)
	}
	wrong := r.config
	wrong.Budget.Questions, wrong.Cutoff = -1, 2
	if err := r.s.Configure(wrong); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if d := cmp.Diff(r.config.Windows, r.s.Config().Windows); d != "" {
		t.Error(d)
	}
	c := r.config
	c.Windows, c.Budget.Questions = nil, 0
	must(t, r.s.Configure(c))
	if got := <-r.waits; got != maxWait { // a zero budget is used up
		t.Errorf("waits %v", got)
	}
	st, err := r.s.Status()
	if err != nil || !st.Window.Open || len(st.Reasons) != 1 || st.Reasons[0].Code != ReasonBudget {
		t.Errorf("%+v, %v", st, err)
	}
	c.Budget.Questions = 1
	must(t, r.s.Configure(c))
	if got := <-r.did; got != "now" {
		t.Errorf("did %q", got)
	}
	<-r.waits
}

// New device rules apply to the known device state.
func TestConfigureDevice(t *testing.T) {
	d := sit(t, &script{})
	half := 0.5
	must(t, d.s.Post(Device{Battery: &half, At: d.now}))
	reasons := func(floor float64) []Reason {
		t.Helper()
		d.config.Device.MinBattery = floor
		must(t, d.s.Configure(d.config))
		return d.step().Reasons
	}
	for floor, want := range map[float64]string{0.4: ReasonNothing, 0.6: ReasonBattery} {
		if got := reasons(floor); len(got) != 1 || got[0].Code != want {
			t.Errorf("%v: %+v", floor, got)
		}
	}
}

// The configuration changes concurrently with everything else, for the race detector. Of
// two concurrent changes one wins completely.
func TestConfigureConcurrently(t *testing.T) {
	d := sit(t, &script{due: func(_ context.Context, _ string, k Kind, _ int) ([]Due, error) {
		return []Due{{Subject: string(k)}}, nil
	}})
	d.config.IdleAfter = 0
	var all sync.WaitGroup
	for g := range 3 {
		all.Go(func() {
			c := d.config
			c.Zone = time.FixedZone("", g*3600)
			c.Device.MinBattery = float64(g) / 10
			for i := range 50 {
				c.Windows = []Window{{Cron: "* * * * *", Length: time.Duration(i+1) * time.Minute}}
				if err := d.s.Configure(c); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for range 50 {
			if _, err := d.s.Step(t.Context()); err != nil {
				t.Error(err)
			}
			d.s.Pace("mail")
			if _, err := d.s.Status(); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	now, c := d.s.readConditions(), d.s.Config()
	if d.s.sensor.rules != c.Device || now.window.Start.Location() != c.Zone {
		t.Errorf("windows in %v, floor %v; config %+v", now.window.Start.Location(), d.s.sensor.rules, c)
	}
}

// Other windows that apply for a while do not reset the usage of the earlier ones.
func TestSpentIsRemembered(t *testing.T) {
	d := sit(t, &script{
		due: func(_ context.Context, _ string, kind Kind, _ int) ([]Due, error) {
			return map[Kind][]Due{Answer: {{Subject: "a"}}}[kind], nil
		},
		do: func(context.Context, Job) (Done, error) { return Done{Written: 7}, nil },
	})
	d.config.Windows = nil
	d.open()
	used := func() int64 {
		st, err := d.s.Status()
		must(t, err)
		return st.Window.Used.Written
	}
	if st := d.step(); st.End != EndDone || used() != 7 {
		t.Fatalf("%+v, %d bytes", st, used())
	}
	other := d.config
	other.Windows = []Window{{Cron: "0 1 * * *", Length: 48 * time.Hour}}
	must(t, d.s.Configure(other))
	if n := used(); n != 0 {
		t.Errorf("another window has %d bytes of the first", n)
	}
	must(t, d.s.Configure(d.config))
	if n := used(); n != 7 {
		t.Errorf("%d bytes are left of 7", n)
	}
}
