package budget

import (
	"testing"
	"time"
)

// A follower gives up what is gone at once, and takes more only when it stays.
func TestFollower(t *testing.T) {
	var f Follower
	used, at := int64(1000), time.Unix(0, 0)
	for i, step := range []struct {
		after         time.Duration
		allowed, want int64
	}{
		{0, 950, 1000},               // less than a tenth is nothing
		{time.Minute, 800, 800},      // gone
		{time.Minute, 900, 800},      // less than a quarter more is nothing
		{time.Minute, 2000, 800},     // perhaps for a moment
		{9 * time.Minute, 1500, 800}, // not long enough
		{time.Minute, 3000, 1500},    // the least that there was all the time
		{time.Minute, 3000, 1500},
		{time.Minute, 1500, 1500}, // it did not stay
		{9 * time.Minute, 3000, 1500},
		{9 * time.Minute, 3000, 1500},
		{time.Minute, 3000, 3000},
		{time.Minute, 0, 0},
		{time.Minute, 64, 0},
		{10 * time.Minute, 64, 64},
	} {
		at = at.Add(step.after)
		if used = f.Next(used, step.allowed, at); used != step.want {
			t.Fatalf("step %d: %d, want %d", i, used, step.want)
		}
	}
}

// A context becomes shorter when memory is scarce twice in a row, never below the shortest, and
// longer only after a while.
func TestContextFollower(t *testing.T) {
	var f ContextFollower
	used, at := 4096, time.Unix(0, 0)
	for i, step := range []struct {
		after   time.Duration
		allowed int
		scarce  bool
		want    int
	}{
		{0, 4096, true, 4096}, // a single reading
		{time.Second, 4096, false, 4096},
		{time.Second, 1024, true, 4096},
		{time.Second, 1024, true, 2048},
		{time.Second, 1024, true, 2048},
		{time.Second, 1024, true, 1024},
		{time.Second, 0, true, 1024},
		{time.Second, 0, true, 1024},
		{time.Second, 3072, false, 1024},
		{9 * time.Minute, 4096, false, 1024},
		{time.Minute, 4096, false, 3072},
		{time.Minute, 1024, false, 3072}, // it fits, so it stays
	} {
		at = at.Add(step.after)
		if used = f.Next(used, step.allowed, step.scarce, at); used != step.want {
			t.Fatalf("step %d: %d, want %d", i, used, step.want)
		}
	}
	if got := (&ContextFollower{scarce: 1}).Next(512, 512, true, at); got != 512 {
		t.Errorf("a context of 512 tokens became %d", got)
	}
}

func TestScarce(t *testing.T) {
	m := Model{Weights: 700 * mib}
	for _, tc := range []struct {
		p    Pressure
		want bool
	}{
		{Pressure{Available: 900 * mib, Stalled: 0.01}, false},
		{Pressure{Available: 800 * mib, Stalled: -1}, true},
		{Pressure{Available: 900 * mib, Stalled: 0.1}, true},
		{Pressure{Available: -1, Stalled: -1}, false},
	} {
		if got := tc.p.Scarce(m); got != tc.want {
			t.Errorf("%+v: %v", tc.p, got)
		}
	}
}

// A model that reads experts from its file waits for them all the time.
func TestMappedModelStalls(t *testing.T) {
	m := Memory{Available: 500 * mib}
	p := Pressure{Available: m.Available, Stalled: 0.5}
	if p.Scarce(mixture().On(m, 0)) || !p.Scarce(small()) {
		t.Error("waiting for experts is taken for scarce memory, or other waiting is not")
	}
	if p.Available = 200 * mib; !p.Scarce(mixture().On(m, 0)) {
		t.Error("memory that does not hold what must stay in it is not scarce")
	}
}
