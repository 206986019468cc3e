package llamacpp

import (
	"testing"
	"time"
)

// As many threads compute as there are processors that others leave free, at least
// one, and never more than allowed.
func TestPace(t *testing.T) {
	type moment struct {
		after    time.Duration
		runnable int
		busy     float64 // processors, ours with them
		own      float64
		want     int
	}
	for name, tc := range map[string]struct {
		most, processors int
		moments          []moment
	}{
		"alone":                        {2, 2, []moment{{time.Second, 1, 0, 0, 2}, {time.Second, 2, 2, 2, 2}}},
		"one other":                    {2, 2, []moment{{time.Second, 2, 1, 0, 1}, {time.Second, 2, 2, 1, 1}}},
		"all taken":                    {2, 2, []moment{{time.Second, 3, 2, 0, 1}, {time.Second, 4, 2, 0.6, 1}}},
		"others take a little":         {2, 2, []moment{{time.Second, 2, 2, 1.8, 2}, {time.Second, 2, 2, 1.6, 1}}},
		"the other ends":               {2, 2, []moment{{time.Second, 2, 2, 1, 1}, {time.Second, 1, 1.1, 1, 2}}},
		"not looked again so soon":     {2, 2, []moment{{time.Second, 1, 0, 0, 2}, {paceEvery / 2, 9, 2, 0, 2}}},
		"somebody was there and is":    {2, 2, []moment{{time.Minute, 2, 0.5, 0, 1}}},
		"somebody was there, and went": {2, 2, []moment{{time.Minute, 1, 0.5, 0, 2}}},
		"only who gives way is there":  {2, 2, []moment{{time.Minute, 3, 0, 0, 2}}},
		"fewer than the machine has":   {4, 16, []moment{{time.Second, 9, 8, 0, 4}, {time.Second, 15, 16, 1, 1}, {time.Second, 9, 12, 4, 4}}},
		"one thread":                   {1, 2, []moment{{time.Second, 1, 0, 0, 1}}},
	} {
		at := time.Unix(1, 0)
		l := load{processors: tc.processors}
		p := newPace(tc.most, cores{})
		p.seen, p.at = l, at
		p.now = func() time.Time { return at }
		p.look = func() (load, bool) { return l, true }
		for i, m := range tc.moments {
			at = at.Add(m.after)
			l.runnable = m.runnable
			l.busy += time.Duration(m.busy * float64(m.after))
			l.own += time.Duration(m.own * float64(m.after))
			if got := p.choose(); got != m.want {
				t.Errorf("%s, moment %d: %d threads, want %d", name, i, got, m.want)
			}
		}
	}
	p := newPace(3, cores{})
	p.at = p.at.Add(-time.Minute)
	p.look = func() (load, bool) { return load{}, false }
	if got := p.choose(); got != 3 {
		t.Errorf("where the system says nothing: %d threads", got)
	}
}
