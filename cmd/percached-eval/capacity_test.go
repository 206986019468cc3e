package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/commands"
)

// smallCapacity are users of one node whose questions wait for each other.
func smallCapacity(users int) (*capacity, persona.Profile) {
	p, _ := persona.Find("typical")
	return &capacity{
		users: users, peak: 2, seed: 7, sample: 1 << 30, spread: 1.5, cores: 2,
		front: 4 * time.Millisecond, cold: 20 * time.Second, warm: 5 * time.Second,
	}, p
}

func TestCapacityServe(t *testing.T) {
	o := &capacity{cores: 2, front: time.Second}
	var got served
	o.serve([]question{
		{at: 0, model: 10},              // front until 1, model until 11
		{at: 0, bank: true},             // on the other core until 1
		{at: 0, model: 3, stored: true}, // front from 1 to 2, model from 11 to 14
		{at: 20, bank: true},            // nothing is busy any more
		{at: 20.5, model: 1},            // nor is the other core
	}, &got)
	want := served{
		asked: 5, bank: 2, warm: 1, cold: 2, model: 14, front: 5,
		waits: []float64{0, 0, 10, 0, 0}, took: []float64{11, 1, 14, 1, 2},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(served{})); d != "" {
		t.Error(d)
	}
}

// Whatever the nodes, the same questions come in, each comes out once, and the model computes as long.
func TestCapacityConservation(t *testing.T) {
	o, p := smallCapacity(500)
	c := chances{repeat: 0.9, paraphrase: 0.3, warm: 0.5}
	in := 0
	for user := range o.users {
		n := len(o.day(p, c, user, nil))
		if n < p.Questions.Least || n > p.Questions.Most {
			t.Fatalf("%d questions of a user", n)
		}
		in += n
	}
	one := o.play(p, c, 1, 1)
	for _, nodes := range []int{1, 7, 500} {
		s := o.play(p, c, nodes, nodes)
		if s.asked != in || s.bank+s.warm+s.cold != in || len(s.waits) != in || len(s.took) != in {
			t.Errorf("%d nodes: %d questions in; out %d, outcomes %d, waits %d", nodes, in, s.asked, s.bank+s.warm+s.cold, len(s.waits))
		}
		if s.bank != one.bank || s.warm != one.warm || math.Abs(s.model-one.model) > 1e-6*one.model {
			t.Errorf("%d nodes: other outcomes than with one", nodes)
		}
	}
}

func noneLonger(t *testing.T, name string, than, now *served) {
	t.Helper()
	less := 0
	for i := range now.waits {
		if now.waits[i] > than.waits[i]+1e-6 {
			t.Fatalf("%s: of %d waits, the one at place %d is %f, before %f", name, len(now.waits), i, now.waits[i], than.waits[i])
		}
		if now.waits[i] < than.waits[i] {
			less++
		}
	}
	if less == 0 {
		t.Errorf("%s: no wait became shorter", name)
	}
}

func TestCapacityMoreIsNeverSlower(t *testing.T) {
	o, p := smallCapacity(1000)
	c := chances{repeat: 0.9, paraphrase: 0.3, warm: 0.5}
	last := o.play(p, chances{}, 1, 1)
	next := o.play(p, c, 1, 1)
	noneLonger(t, "stored answers and tensors", last, next)
	for nodes := 2; nodes <= 64; nodes *= 2 {
		last, next = next, o.play(p, c, nodes, nodes)
		noneLonger(t, "twice the nodes", last, next)
	}
}

// The wait for one server is the one of Pollaczek and Khinchine, here with equal service times.
func TestCapacityIsAQueue(t *testing.T) {
	o, p := smallCapacity(200)
	o.peak, o.spread, o.front = 1, 1, time.Nanosecond
	service := 0.6 * 15 * 3600 / (5.5 * float64(o.users)) // a load of 0.6
	o.cold = time.Duration(service * float64(time.Second))
	var waits []float64
	for o.seed = range 40 {
		waits = append(waits, o.play(p, chances{}, 1, 1).waits...)
	}
	want := 0.6 * service / (2 * (1 - 0.6))
	if got := mean(waits); math.Abs(got-want) > 0.1*want {
		t.Errorf("the mean wait is %.2f s, by the formula %.2f s", got, want)
	}
}

func TestCapacityDay(t *testing.T) {
	o, p := smallCapacity(0)
	var all []question
	for user := range 20_000 {
		all = o.day(p, chances{repeat: 1, warm: 0.25}, user, all)
	}
	var sum float64
	bank, warm, noon := 0, 0, 0
	for _, q := range all {
		if q.at < 8*3600 || q.at > 23*3600 {
			t.Fatalf("a question at %f", q.at)
		}
		if q.bank {
			bank++
		}
		if q.stored {
			warm++
			sum += q.model / 5
		} else {
			sum += q.model / 20
		}
		if math.Abs(q.at-15.5*3600) < 1800 {
			noon++
		}
	}
	n := float64(len(all))
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"questions of a user", n / 20_000, 5.5},
		{"repeats", float64(bank) / n, p.Repeats},
		{"warm", float64(warm) / n, 0.25},
		{"time over the mean", sum / n, 1},
		{"in the busiest hour", float64(noon) / n, 2.0 / 15},
	} {
		if math.Abs(c.got-c.want) > 0.03*c.want {
			t.Errorf("%s: %f, not %f", c.name, c.got, c.want)
		}
	}
	for room, want := range map[float64]float64{0: 0, 0.05: 0.117, 0.125: (0.117 + 0.337) / 2, 0.5: 0.676, 1: 0.96} {
		if got := stored(room); math.Abs(got-want) > 1e-9 {
			t.Errorf("room %g: %f", room, got)
		}
	}
}

func capacityOf(t *testing.T, args ...string) capacityReport {
	t.Helper()
	var out bytes.Buffer
	if err := run(t.Context(), append([]string{"capacity", "--json"}, args...), strings.NewReader(""), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var r capacityReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCapacityPlan(t *testing.T) {
	args := []string{"--users", "2000", "--sample", "20000", "--idle", "0"}
	r := capacityOf(t, args...)
	if d := cmp.Diff(r, capacityOf(t, args...)); d != "" {
		t.Error("not the same again", d)
	}
	if other := capacityOf(t, append(args, "--seed", "2")...); cmp.Equal(r.With, other.With) {
		t.Error("another seed gives the same")
	}
	for _, p := range []capacityPlan{r.With, r.Without} {
		if p.Wait99 > 2 || p.Nodes < p.Pooled || p.Nodes != max(p.ForWaits, p.ForIdle, p.ForMemory) || p.Load > 1 {
			t.Errorf("%+v", p)
		}
	}
	if r.With.Nodes >= r.Without.Nodes || r.Without.Bank+r.Without.Warm > 0 {
		t.Errorf("%+v", r)
	}
	if half := capacityOf(t, "--users", "2000", "--nodes", "1"); half.Without.Wait99 <= 2 || half.Without.Nodes != 1 {
		t.Errorf("%+v", half.Without)
	}
	// 2,000 users ask 11,000 questions; 3 nodes cost 3 * 24 * 0.5 = 36 dollars.
	got := capacityOf(t, "--users", "2000", "--nodes", "3", "--node-hour", "0.5", "--gb-month", "3", "--user-bytes", "1000000", "--room", "0").Without
	if math.Abs(got.Machines-36.0/11) > 1e-9 || math.Abs(got.Disk-2*3.0/30/11) > 1e-9 || math.Abs(got.Bill-got.Machines-got.Disk) > 1e-9 {
		t.Errorf("%+v", got)
	}
}

// With nothing stored, percached is no other system.
func TestCapacityNothingStored(t *testing.T) {
	r := capacityOf(t, "--users", "3000", "--sample", "10000", "--stored-repeats", "0", "--stored-paraphrases", "0", "--room", "0", "--idle", "0")
	if d := cmp.Diff(r.With, r.Without); d != "" {
		t.Error(d)
	}
	if r.With.Asked == 0 || r.With.Cold != r.With.Asked {
		t.Errorf("%+v", r.With)
	}
}

func TestCapacityMisuse(t *testing.T) {
	for _, args := range [][]string{
		{"--users", "0"},
		{"--nodes", "2000"},
		{"--profile", "nobody"},
		{"--peak", "3"},
		{"--room", "2"},
		{"--warm", "2h"},
		{"--spread", "0.5"},
		{"--stored-repeats", "NaN"},
		{"--user-memory", "much"},
		{"--cores", "0"},
		{"--wait", "0s"},
		{"--node-hour", "-1"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"capacity"}, args...), strings.NewReader(""), &out, io.Discard)
		if !commands.Misused(err) || !slices.Contains(strings.Fields(strings.NewReplacer(":", " ", ",", " ", "\"", " ").Replace(err.Error())), args[0]) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
