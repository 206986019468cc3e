package gate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/percached/percached/qabank/gate"
)

// sure is the score of an answer that the calibration expects to be right.
const sure = 0.9999

// One wrong answer to a question near it shuts a region; the others are still served.
// Enough right ones open it again.
func TestOneWrongAnswerShutsItsRegion(t *testing.T) {
	o := gate.Default()
	g := gate.New(calibration(5000, 64), o)
	bad, good := []float32{1, 0.1}, []float32{0.1, 1}
	const maxWrong = 0.05
	serve := func(v []float32) bool { return g.Decide(sure, v, maxWrong).Serve }
	if !serve(bad) || !serve(good) {
		t.Fatal("a sure answer is not served")
	}
	g.Learn(gate.Label{ID: "wrong", Score: sure, Vector: bad, Served: true})
	if serve(bad) || !serve(good) {
		t.Errorf("after a wrong answer: its region is open %t, another %t", serve(bad), serve(good))
	}
	for i := range o.Amends {
		if serve(bad) {
			t.Errorf("the region is open after %d right answers", i)
		}
		g.Learn(gate.Label{ID: fmt.Sprint(i), Score: sure, Vector: bad, Right: true})
	}
	if !serve(bad) {
		t.Error("the region stays shut after many right answers")
	}
}

// Without a calibration nothing is served until own labels show that the budget holds.
func TestWithoutCalibration(t *testing.T) {
	g := gate.New(nil, gate.Default())
	for i := range 400 {
		if i == 200 && g.Decide(1, nil, 0.01).Serve {
			t.Error("200 labels are not enough for a budget of 1 %")
		}
		g.Learn(gate.Label{ID: fmt.Sprint(i), Score: 0.9, Right: true})
	}
	if !g.Decide(0.95, nil, 0.01).Serve {
		t.Errorf("400 right labels are not enough: %+v", g.Report(0.01))
	}
	if r := g.Report(0.01); r.State != gate.Learnt || r.Threshold != 0.9 {
		t.Errorf("%+v", r)
	}
}

// A budget of 0 or none serves nothing, and no label lets a score below the floor pass.
func TestLimits(t *testing.T) {
	o := gate.Default()
	g := gate.New(calibration(5000, 64), o)
	for _, maxWrong := range []float64{0, -1, math.NaN()} {
		if g.Decide(1, nil, maxWrong).Serve || g.Report(maxWrong).State != gate.Proven {
			t.Errorf("a budget of %v serves", maxWrong)
		}
	}
	for i := range o.Labels + 10 {
		g.Learn(gate.Label{ID: fmt.Sprint(i), Score: 0.1, Right: true})
	}
	for _, score := range []float64{o.Floor - 0.01, math.NaN()} {
		if d := g.Decide(score, nil, 1); d.Serve {
			t.Errorf("served %v: %+v", score, d)
		}
	}
	for _, maxWrong := range []float64{0.01, 0.5, 1, 7} {
		if d := g.Decide(sure, nil, maxWrong); !d.Serve {
			t.Errorf("a sure answer is not served at budget %v: %+v", maxWrong, d)
		}
	}
}

// A budget that the calibration cannot show to hold serves nothing, and no label is to blame.
func TestBudgetTooSmall(t *testing.T) {
	g := gate.New(calibration(800, 64), gate.Default())
	if r := g.Report(1e-6); r.State != gate.Proven || g.Decide(1, nil, 1e-6).Serve {
		t.Errorf("%+v", r)
	}
	for i := range 40 {
		g.Learn(gate.Label{ID: fmt.Sprint(i), Score: sure, Served: true})
	}
	if r := g.Report(0.01); r.State != gate.Shut || g.Decide(1, nil, 0.01).Serve {
		t.Errorf("after wrong answers: %+v", r)
	}
}

// A higher budget never has a higher threshold, and a change of the budget takes effect at
// once, without losing labels.
func TestBudgetChanges(t *testing.T) {
	g := gate.New(calibration(5000, 64), gate.Default())
	newUser(world{truth: calibrated, checked: 1}, 1).ask(g, 500, 0.02)
	first := g.Report(0.01)
	last := math.Inf(1)
	for _, maxWrong := range []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3} {
		r := g.Report(maxWrong)
		if r.Threshold > last {
			t.Errorf("budget %v: threshold %v, above %v", maxWrong, r.Threshold, last)
		}
		last = r.Threshold
	}
	if again := g.Report(0.01); again != first {
		t.Errorf("%+v, before %+v", again, first)
	}
}

// After so many answers without a check, the next is computed; its label lets the gate
// serve again.
func TestUncheckedAnswersEnd(t *testing.T) {
	o := gate.Default()
	g := gate.New(calibration(5000, 64), o)
	for range 3 {
		for i := range o.Unchecked {
			if d := g.Decide(sure, nil, 0.05); !d.Serve {
				t.Fatalf("after %d: %+v", i, d)
			}
		}
		g.Learn(gate.Label{ID: "far", Score: 0.2})
		if d := g.Decide(sure, nil, 0.05); d.Serve {
			t.Fatalf("served without a check: %+v", d)
		}
		g.Learn(gate.Label{ID: "computed", Score: sure, Right: true})
	}
}

// Forgotten labels count no more, the oldest go, and equal labels in equal order give an
// equal gate.
func TestSameLabelsSameGate(t *testing.T) {
	start := calibration(5000, 64)
	rnd := rand.New(rand.NewPCG(3, 4))
	o := gate.Default()
	o.Labels = 300
	var all []gate.Label
	var forgotten []string
	long := gate.New(start, o)
	for i := range 900 {
		score := 1 - 0.3*rnd.Float64()*rnd.Float64()
		l := gate.Label{
			ID: fmt.Sprint(i), Score: score, Right: rnd.Float64() < score, Served: i%3 == 0,
			Vector: []float32{rnd.Float32(), rnd.Float32(), rnd.Float32() - 0.5},
		}
		long.Learn(l)
		if i >= 600 && i%7 == 0 {
			forgotten = append(forgotten, l.ID)
		} else if i >= 600 {
			all = append(all, l)
		}
	}
	before := long.Report(0.05)
	long.Forget(forgotten)
	fresh := gate.New(start, o)
	for _, l := range all {
		fresh.Learn(l)
	}
	if before == long.Report(0.05) {
		t.Error("forgotten labels still count")
	}
	for _, maxWrong := range []float64{0.005, 0.01, 0.05, 0.2} {
		if x, y := long.Report(maxWrong), fresh.Report(maxWrong); x != y {
			t.Errorf("%+v, %+v", x, y)
		}
		for range 50 {
			v := []float32{rnd.Float32(), rnd.Float32(), rnd.Float32() - 0.5}
			if x, y := long.Decide(0.99, v, maxWrong), fresh.Decide(0.99, v, maxWrong); x != y {
				if x.Serve == y.Serve { // only the count of unchecked answers may differ
					t.Errorf("%+v, %+v", x, y)
				}
			}
		}
	}
}

func TestUpper(t *testing.T) {
	for _, tt := range []struct{ k, n, want float64 }{{0, 299, 0.00997}, {0, 59, 0.0495}, {1, 100, 0.0466}, {5, 500, 0.0209}, {10, 10, 1}, {0, 0, 1}} {
		if got := gate.Upper(tt.k, tt.n); math.Abs(got-tt.want) > 0.0003 {
			t.Errorf("%v of %v: %.5f, want %.5f", tt.k, tt.n, got, tt.want)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	g := gate.New(calibration(5000, 64), gate.Default())
	rnd := rand.New(rand.NewPCG(5, 6))
	random := func() []float32 {
		v := make([]float32, 384)
		for i := range v {
			v[i] = float32(rnd.NormFloat64())
		}
		return v
	}
	learn := func(i int) {
		g.Learn(gate.Label{ID: fmt.Sprint(i), Score: 1 - 0.3*rnd.Float64()*rnd.Float64(), Vector: random(), Right: rnd.Float64() < 0.98, Served: true})
	}
	for i := range gate.Default().Labels {
		learn(i)
	}
	v := random()
	b.Run("again", func(b *testing.B) {
		for b.Loop() {
			g.Decide(sure, v, 0.05)
		}
	})
	b.Run("after a label", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			b.StopTimer()
			learn(1e6 + i)
			b.StartTimer()
			g.Decide(sure, v, 0.05)
		}
	})
	b.Run("learn", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			learn(2e6 + i)
		}
	})
}
