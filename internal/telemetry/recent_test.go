package telemetry

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// The ratios are those of the latest thousand questions, whatever came before.
func TestRecent(t *testing.T) {
	r := newRecent(maker{prometheus.NewRegistry()})
	if !math.IsNaN(r.ratio(inBank)) || !math.IsNaN(r.ratio(inTensors)) {
		t.Error("a ratio of nothing")
	}
	type answer struct {
		hit         bool
		stored, all int
	}
	var asked []answer
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 3500 {
		a := answer{hit: rnd.IntN(3) == 0}
		if !a.hit {
			a.all = rnd.IntN(6)
			a.stored = rnd.IntN(a.all + 1)
		}
		if i >= 2000 && i < 3100 { // a thousand without any chunk
			a = answer{hit: true}
		}
		asked = append(asked, a)
		r.add(a.hit, a.stored, a.all)
		var hits, stored, all float64
		latest := asked[max(0, len(asked)-recently):]
		for _, a := range latest {
			if a.hit {
				hits++
			}
			stored, all = stored+float64(a.stored), all+float64(a.all)
		}
		for layer, want := range map[int]float64{inBank: hits / float64(len(latest)), inTensors: stored / all} {
			if got := r.ratio(layer); fmt.Sprint(got) != fmt.Sprint(want) { // NaN, too
				t.Fatalf("after %d questions layer %d: %v, want %v", i+1, layer, got, want)
			}
		}
	}
}
