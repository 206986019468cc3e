package gate_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/percached/percached/qabank/gate"
)

// user asks questions whose best stored answers have scores, and are right or wrong.
type user struct {
	rnd *rand.Rand
	// truth is the probability that an answer with this score is right, at this question.
	truth   func(score float64, i int) float64
	checked float64 // share of the served answers that are checked
}

// score is mostly low (no such question is stored) or high (a repeat in other words).
func (u *user) score() float64 {
	if u.rnd.Float64() < 0.5 {
		return u.rnd.Float64() * 0.7
	}
	return 1 - math.Pow(u.rnd.Float64(), 8)*0.5
}

type outcome struct{ served, wrong, lateServed, lateWrong, right int }

func (o outcome) share() float64 { return float64(o.wrong) / float64(max(o.served, 1)) }

// ask asks n questions, and teaches the gate what is found out.
func (u *user) ask(g *gate.Gate, n int, maxWrong float64) (o outcome) {
	for i := range n {
		score := u.score()
		right := u.rnd.Float64() < u.truth(score, i)
		d := g.Decide(score, nil, maxWrong)
		if right {
			o.right++
		}
		if d.Serve {
			o.served++
			if i >= n/2 {
				o.lateServed++
			}
			if !right {
				o.wrong++
				if i >= n/2 {
					o.lateWrong++
				}
			}
		}
		if !d.Serve || u.rnd.Float64() < u.checked {
			g.Learn(gate.Label{ID: fmt.Sprint(i), Score: score, Served: d.Serve, Right: right})
		}
	}
	return o
}

func calibrated(score float64, _ int) float64 { return score }

// calibration is what a fit measured on this many questions of other users.
func calibration(n int) gate.Calibration {
	u := user{rnd: rand.New(rand.NewPCG(1, 2))}
	steps := make(gate.Calibration, 200)
	for i := range steps {
		steps[i].Score = 1 - float64(i+1)/float64(len(steps))
	}
	for range n {
		score := u.score()
		s := &steps[min(int((1-score)*float64(len(steps))), len(steps)-1)]
		s.Questions++
		if u.rnd.Float64() > score {
			s.Wrong++
		}
	}
	return steps
}

// chance is the most wrong answers that chance makes of so many served, 19 times in 20, if
// the share is that of the budget.
func chance(maxWrong float64, served int) int {
	sum, term := 0.0, math.Pow(1-maxWrong, float64(served))
	for k := 0; ; k++ {
		if sum += term; sum >= 0.95 {
			return k
		}
		term *= float64(served-k) / float64(k+1) * maxWrong / (1 - maxWrong)
	}
}

// Over 1,000 questions the share of wrong answers stays within the budget: over all users,
// and for 95 of 100 of them within what chance makes of it. And the gate serves.
func TestBudgetHolds(t *testing.T) {
	start := calibration(5000)
	const users, questions = 60, 1000
	for _, maxWrong := range []float64{0.01, 0.05} {
		for _, checked := range []float64{1, 0.2} {
			over, all := 0, outcome{}
			for i := range users {
				u := user{rand.New(rand.NewPCG(uint64(i), 3)), calibrated, checked}
				o := u.ask(gate.New(start, gate.Default()), questions, maxWrong)
				if o.wrong > chance(maxWrong, o.served) {
					over++
				}
				all.served, all.wrong, all.right = all.served+o.served, all.wrong+o.wrong, all.right+o.right
			}
			t.Logf("budget %.3f, %.0f %% checked: %d of %d users over it; wrong %.4f of %d served, of %d right ones",
				maxWrong, 100*checked, over, users, all.share(), all.served, all.right)
			if over > users/20 {
				t.Errorf("budget %.3f, %.0f %% checked: %d of %d users got more wrong answers", maxWrong, 100*checked, over, users)
			}
			if all.share() > maxWrong {
				t.Errorf("budget %.3f, %.0f %% checked: %.4f of all answers were wrong", maxWrong, 100*checked, all.share())
			}
			if all.served == 0 {
				t.Errorf("budget %.3f: nothing is served", maxWrong)
			}
		}
	}
}

// A user for whom the scores promise too much gets more wrong answers at first, and hardly
// any later.
func TestWrongScoresAreFoundOut(t *testing.T) {
	start := calibration(5000)
	const users, questions, maxWrong = 12, 1000, 0.01
	for _, test := range []struct {
		name  string
		truth func(score float64, i int) float64
	}{
		{"five times as often wrong", func(s float64, _ int) float64 { return max(0, 1-5*(1-s)) }},
		{"never right", func(float64, int) float64 { return 0 }},
		{"right until half way", func(s float64, i int) float64 {
			if i < questions/2 {
				return s
			}
			return s - 0.3
		}},
	} {
		all, most := outcome{}, 0
		for i := range users {
			u := user{rand.New(rand.NewPCG(uint64(i), 4)), test.truth, 1}
			o := u.ask(gate.New(start, gate.Default()), questions, maxWrong)
			all.served, all.wrong, all.lateServed, all.lateWrong = all.served+o.served, all.wrong+o.wrong, all.lateServed+o.lateServed, all.lateWrong+o.lateWrong
			most = max(most, o.wrong)
		}
		t.Logf("%s: %.1f wrong answers a user, at most %d; in the second half %d of %d", test.name, float64(all.wrong)/users, most, all.lateWrong, all.lateServed)
		if most > 20 {
			t.Errorf("%s: a user got %d wrong answers", test.name, most)
		}
	}
}

// A region of questions that proved wrong is shut after the first wrong answer that is
// found, and the others are still served.
func TestBadRegionIsShut(t *testing.T) {
	g := gate.New(calibration(5000), gate.Default())
	bad, good := []float32{1, 0.1}, []float32{0.1, 1}
	const sure, maxWrong = 0.999, 0.05
	serve := func(v []float32) bool { return g.Decide(sure, v, maxWrong).Serve }
	if !serve(bad) || !serve(good) {
		t.Fatal("a sure answer is not served")
	}
	g.Learn(gate.Label{ID: "wrong", Score: sure, Vector: bad, Served: true})
	if serve(bad) || !serve(good) {
		t.Errorf("after a wrong answer: its region is open %t, another %t", serve(bad), serve(good))
	}
	for i := range gate.Default().Amends {
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

// A budget of 0 serves nothing, and no label lets a score below the floor pass.
func TestLimits(t *testing.T) {
	o := gate.Default()
	g := gate.New(gate.Calibration{{Score: 0.9, Questions: 1000}, {Score: 0, Questions: 1000}}, o)
	if g.Decide(1, nil, 0).Serve || g.Report(0).State != gate.Proven {
		t.Error("a budget of 0 serves")
	}
	for i := range o.Labels + 10 {
		g.Learn(gate.Label{ID: fmt.Sprint(i), Score: 0.1, Right: true})
	}
	if d := g.Decide(o.Floor-0.01, nil, 1); d.Serve {
		t.Errorf("served below the floor: %+v", d)
	}
	if !g.Decide(0.95, nil, 0.01).Serve {
		t.Error("a sure answer is not served")
	}
}

// Forgotten labels count no more.
func TestForget(t *testing.T) {
	start := calibration(5000)
	a, b := gate.New(start, gate.Default()), gate.New(start, gate.Default())
	for i := range 100 {
		l := gate.Label{ID: fmt.Sprint(i), Score: 0.99, Right: true}
		a.Learn(l)
		b.Learn(l)
		b.Learn(gate.Label{ID: fmt.Sprint("wrong ", i), Score: 0.99, Served: true})
	}
	if a.Report(0.01) == b.Report(0.01) {
		t.Fatal("wrong labels change nothing")
	}
	var ids []string
	for i := range 100 {
		ids = append(ids, fmt.Sprint("wrong ", i))
	}
	b.Forget(ids)
	if x, y := a.Report(0.01), b.Report(0.01); x.Threshold != y.Threshold || x.State != y.State {
		t.Errorf("%+v, %+v", x, y)
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
	g := gate.New(calibration(5000), gate.Default())
	rnd := rand.New(rand.NewPCG(5, 6))
	v := make([]float32, 384)
	for i := range gate.Default().Labels {
		w := make([]float32, len(v))
		for j := range w {
			w[j] = float32(rnd.NormFloat64())
		}
		g.Learn(gate.Label{ID: fmt.Sprint(i), Score: rnd.Float64(), Vector: w, Right: i%10 > 0})
	}
	for b.Loop() {
		g.Decide(0.9, v, 0.01)
	}
}
