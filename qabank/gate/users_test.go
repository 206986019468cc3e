package gate_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/percached/percached/qabank/gate"
)

const dims = 8

// world is how a simulated user's questions are, and what the scores of stored answers for
// them are worth.
type world struct {
	// truth is the probability that an answer with this score is right, at the i-th of n
	// questions.
	truth func(score float64, i, n int) float64
	// bad is the share of questions in a region whose answers are all wrong.
	bad float64
	// checked is the share of the served answers that are checked.
	checked float64
	// lie replaces what a check found.
	lie func(right bool, i int) bool
}

// user asks questions in one world.
type user struct {
	world
	rnd    *rand.Rand
	shape  float64 // the higher, the more sure scores
	topics [][]float32
}

func newUser(w world, seed uint64) *user {
	u := &user{world: w, rnd: rand.New(rand.NewPCG(seed, 29))}
	u.shape = 2 + 4*u.rnd.Float64()
	for range 20 {
		u.topics = append(u.topics, u.noise(1))
	}
	return u
}

func (u *user) noise(size float64) []float32 {
	v := make([]float32, dims)
	for i := range v {
		v[i] = float32(u.rnd.NormFloat64() * size)
	}
	return v
}

// score is mostly low (no such question is stored) or high (a repeat in other words).
func (u *user) score() float64 {
	if u.rnd.Float64() < 0.4 {
		return u.rnd.Float64() * 0.7
	}
	return 1 - math.Pow(u.rnd.Float64(), u.shape)*0.5
}

// vector is one of a topic; the first topic is the bad region.
func (u *user) vector(topic int) []float32 {
	v := u.noise(0.3)
	for i, x := range u.topics[topic] {
		v[i] += x
	}
	return v
}

// result is what a user got. bad counts what was served in the bad region.
type result struct {
	served, wrong, late, lateWrong, bad, badAsked, badLate int
}

func (r result) share() float64 { return float64(r.wrong) / float64(max(r.served, 1)) }

func (r result) plus(o result) result {
	return result{
		r.served + o.served, r.wrong + o.wrong, r.late + o.late, r.lateWrong + o.lateWrong,
		r.bad + o.bad, r.badAsked + o.badAsked, r.badLate + o.badLate,
	}
}

// ask asks n questions, and teaches the gate what is found out.
func (u *user) ask(g *gate.Gate, n int, maxWrong float64) (r result) {
	for i := range n {
		score, topic := u.score(), 1+u.rnd.IntN(len(u.topics)-1)
		right := u.rnd.Float64() < u.truth(score, i, n)
		if u.rnd.Float64() < u.bad {
			topic, right, score = 0, false, 1-u.rnd.Float64()*0.02
			r.badAsked++
		}
		vector := u.vector(topic)
		serve := g.Decide(score, vector, maxWrong).Serve
		if serve {
			r.served++
			if topic == 0 {
				r.bad++
				if r.badAsked > 50 {
					r.badLate++
				}
			}
			if !right {
				r.wrong++
			}
			if i >= n*3/4 {
				r.late++
				if !right {
					r.lateWrong++
				}
			}
		}
		if !serve || u.rnd.Float64() < u.checked {
			found := right
			if u.lie != nil {
				found = u.lie(right, i)
			}
			g.Learn(gate.Label{ID: fmt.Sprint(i), Score: score, Vector: vector, Served: serve, Right: found})
		}
	}
	return r
}

func calibrated(score float64, _, _ int) float64 { return score }

// overconfident says that the log odds of the scores are so many times too high.
func overconfident(times float64) func(float64, int, int) float64 {
	return func(score float64, _, _ int) float64 {
		return 1 / (1 + math.Pow((1-score)/score, 1/times))
	}
}

// calibration is what a fit measured on this many questions of other users, in steps of
// equal counts.
func calibration(n, steps int) gate.Calibration {
	type asked struct {
		score float64
		wrong bool
	}
	var all []asked
	for i := range n {
		u := newUser(world{}, uint64(1e6+i))
		score := u.score()
		all = append(all, asked{score, u.rnd.Float64() > score})
	}
	slices.SortFunc(all, func(a, b asked) int { return cmp.Compare(b.score, a.score) })
	var out gate.Calibration
	for part := range slices.Chunk(all, n/steps) {
		s := gate.Step{Score: part[len(part)-1].score, Questions: float64(len(part))}
		for _, a := range part {
			if a.wrong {
				s.Wrong++
			}
		}
		out = append(out, s)
	}
	return out
}

// questions is how many a user asks.
const questions = 2000

// simulate runs users, and counts those that got more wrong answers than the budget, and by
// how many at most. Every second user's answers are checked in one case of five only.
func simulate(t *testing.T, w world, start gate.Calibration, maxWrong float64, users int) (over int, most float64, all result) {
	t.Helper()
	for i := range users {
		w.checked = 1
		if i%2 == 1 {
			w.checked = 0.2
		}
		r := newUser(w, uint64(i)).ask(gate.New(start, gate.Default()), questions, maxWrong)
		if float64(r.wrong) > maxWrong*float64(r.served) {
			over++
		}
		most = max(most, float64(r.wrong)-maxWrong*float64(r.served))
		all = all.plus(r)
	}
	t.Logf("budget %.3f: %d of %d users over it, by %.1f answers at most; wrong %.4f of %d served (%.1f %% of the questions); last quarter %.4f of %d",
		maxWrong, over, users, most, all.share(), all.served, 100*float64(all.served)/float64(users*questions),
		float64(all.lateWrong)/float64(max(all.late, 1)), all.late)
	return over, most, all
}

// oracle is the share of questions that the best fixed score serves within the budget, for
// one who knows all probabilities.
func oracle(maxWrong float64, users int) float64 {
	var scores []float64
	for i := range users {
		u := newUser(world{}, uint64(i))
		for range questions {
			scores = append(scores, u.score())
		}
	}
	slices.Sort(scores)
	all, wrong, best := 0.0, 0.0, 0.0
	for _, s := range slices.Backward(scores) {
		if all, wrong = all+1, wrong+1-s; wrong <= maxWrong*all {
			best = all
		}
	}
	return best / float64(len(scores))
}

// If the calibration holds, at most one user in twenty gets more wrong answers than the
// budget, and the gate serves at least half of what the best fixed score would. The
// constants were chosen on these seeds; doc.go has what other seeds give.
func TestBudgetHolds(t *testing.T) {
	for _, fit := range []int{800, 5000} { // questions that the calibration rests on
		for _, maxWrong := range []float64{0.005, 0.01, 0.05} {
			t.Run(fmt.Sprint(fit, " ", maxWrong), func(t *testing.T) {
				t.Parallel()
				users := 200
				if testing.Short() {
					users = 20
				}
				over, _, all := simulate(t, world{truth: calibrated}, calibration(fit, 64), maxWrong, users)
				best := oracle(maxWrong, users)
				hits := float64(all.served) / float64(users*questions)
				t.Logf("the best fixed score serves %.1f %%", 100*best)
				if over > users/20 {
					t.Errorf("%d of %d users got more wrong answers", over, users)
				}
				if hits < best/2 {
					t.Errorf("%.3f are served, the best fixed score serves %.3f", hits, best)
				}
			})
		}
	}
}

// A user for whom the scores promise too much gets a few wrong answers more than the budget
// allows. The gate then serves less or nothing.
func TestWrongScoresAreFoundOut(t *testing.T) {
	change := func(s float64, i, n int) float64 {
		if i < n/2 {
			return s
		}
		return overconfident(3)(s, i, n)
	}
	for _, test := range []struct {
		name   string
		truth  func(score float64, i, n int) float64
		excess float64 // wrong answers beyond the budget, at most
		late   float64 // wrong answers a user in the last quarter, at most
	}{
		{"twice the log odds", overconfident(2), 25, 2},
		{"five times the log odds", overconfident(5), 30, 1},
		{"never right", func(float64, int, int) float64 { return 0 }, 30, 0.5},
		{"thrice the log odds, from half way", change, 25, 2},
	} {
		for _, maxWrong := range []float64{0.01, 0.05} {
			t.Run(fmt.Sprint(test.name, " ", maxWrong), func(t *testing.T) {
				t.Parallel()
				users := 40
				if testing.Short() {
					users = 10
				}
				_, most, all := simulate(t, world{truth: test.truth}, calibration(5000, 64), maxWrong, users)
				if most > test.excess {
					t.Errorf("a user got %.1f wrong answers more than the budget allows", most)
				}
				if late := (float64(all.lateWrong) - maxWrong*float64(all.late)) / float64(users); late > test.late {
					t.Errorf("in the last quarter a user got %.2f wrong answers more than the budget allows", late)
				}
			})
		}
	}
}

// A region of questions whose answers are all wrong is shut before 50 of them were asked,
// and the others are still served.
func TestBadRegionIsShut(t *testing.T) {
	for _, maxWrong := range []float64{0.01, 0.05} {
		t.Run(fmt.Sprint(maxWrong), func(t *testing.T) {
			t.Parallel()
			const users = 40
			_, _, all := simulate(t, world{truth: calibrated, bad: 0.1}, calibration(5000, 64), maxWrong, users)
			t.Logf("of %d questions in the bad region %d were served, %d after the first 50 of a user", all.badAsked, all.bad, all.badLate)
			if float64(all.badLate) > 0.002*float64(all.badAsked) {
				t.Errorf("%d questions in the bad region were served after 50", all.badLate)
			}
			if hits := float64(all.late) / (users * questions / 4); hits < oracle(maxWrong, users)/3 {
				t.Errorf("of the others, only %.3f are served at last", hits)
			}
		})
	}
}

// False labels that say right cannot get more served than the budget allows, if the
// calibration holds. Labels that say the contrary of the truth make the gate serve less.
func TestFalseLabels(t *testing.T) {
	for name, lie := range map[string]func(bool, int) bool{
		"always right":      func(bool, int) bool { return true },
		"the contrary":      func(right bool, _ int) bool { return !right },
		"wrong for a while": func(right bool, i int) bool { return right && (i < 500 || i >= 700) },
	} {
		for _, maxWrong := range []float64{0.01, 0.05} {
			t.Run(fmt.Sprint(name, " ", maxWrong), func(t *testing.T) {
				t.Parallel()
				_, _, all := simulate(t, world{truth: calibrated, lie: lie}, calibration(5000, 64), maxWrong, 40)
				if all.share() > maxWrong {
					t.Errorf("wrong %.4f of %d", all.share(), all.served)
				}
			})
		}
	}
}
