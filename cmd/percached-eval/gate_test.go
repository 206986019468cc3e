package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// gateFile writes questions whose scores are right and whose similarities are worth less.
func gateFile(t *testing.T, n int) string {
	t.Helper()
	rnd := rand.New(rand.NewPCG(7, 8))
	var b bytes.Buffer
	for i := range n {
		score := 1 - math.Pow(rnd.Float64(), 4)
		q := gateQuestion{ID: fmt.Sprint(i), Entry: fmt.Sprint(rnd.IntN(40)), Score: score, Right: rnd.Float64() < score}
		q.Similarity = min(1, max(0, 0.6+0.3*score+0.08*rnd.NormFloat64()))
		line, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	name := filepath.Join(t.TempDir(), "questions.jsonl")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// The replay counts for each budget what each gate serves. The gate keeps the budget, and a fixed similarity has no
// higher share of wrong answers than the gate that it is compared with.
func TestGate(t *testing.T) {
	var out, errs bytes.Buffer
	if err := run(t.Context(), []string{"gate", "--json", gateFile(t, 2000)}, nil, &out, &errs); err != nil {
		t.Fatal(err, errs.String())
	}
	var r gateReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rows) != 10 {
		t.Fatalf("%d rows", len(r.Rows))
	}
	for i := 0; i < 9; i += 3 {
		ours, same := r.Rows[i], r.Rows[i+1]
		if ours.Served == 0 || ours.Low > ours.MaxWrong {
			t.Errorf("%+v", ours)
		}
		if same.Share > ours.Share {
			t.Errorf("%+v is worse than %+v", same, ours)
		}
	}
	for _, x := range r.Rows {
		if x.Questions != 2000 || x.Served > x.Questions || x.Wrong > x.Served || x.Low > x.Share || x.High < x.Share {
			t.Errorf("%+v", x)
		}
	}
	if last := r.Rows[9]; last.Threshold != gateDefault || last.Served == 0 {
		t.Errorf("%+v", last)
	}
}

// vCache explores an answer until it knows where it begins to be right, and serves it far
// above that place only.
func TestVCache(t *testing.T) {
	e := &seen{similarity: []float64{0, 1}, right: []bool{false, true}}
	if p := e.explore(0.99, 0.05); p != 1 {
		t.Errorf("an unknown answer is computed with probability %v", p)
	}
	for i := range 40 {
		s := 0.5 + float64(i%20)/40
		e.similarity, e.right = append(e.similarity, s), append(e.right, s > 0.7)
	}
	if low, high := e.explore(0.6, 0.05), e.explore(0.99, 0.05); low < 0.9 || high > 0.3 {
		t.Errorf("computed with probability %v below and %v above the place", low, high)
	}
}

// Faults of the input and of the flags are named.
func TestGateRefuses(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	if err := os.WriteFile(bad, []byte(`{"score":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"gate"}, {"gate", bad}, {"gate", bad + "x"}, {"gate", "--max-wrong", "0", bad}, {"gate", "--checked", "2", bad}} {
		if err := run(t.Context(), args, nil, &bytes.Buffer{}, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}
