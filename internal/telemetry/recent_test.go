package telemetry

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
)

// The ratios cover the latest thousand answers only.
func TestRecent(t *testing.T) {
	r := newRecent(registrar{prometheus.NewRegistry()})
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
		latest := asked[max(0, len(asked)-recentAnswers):]
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

// The event of an answer names its chunks in order, with the space's public ids.
func TestEventNamesChunks(t *testing.T) {
	a, b := percached.ChunkID{1}, percached.ChunkID{2}
	ids := percached.NewPublicIDs([16]byte{1})
	r := &Recorder{IDs: func(space string) (percached.PublicIDs, error) {
		if space != "mail" {
			return percached.PublicIDs{}, errors.New("it is gone")
		}
		return ids, nil
	}}
	for name, tt := range map[string]struct {
		cited []answer.Citation
		want  []percached.ChunkID
	}{
		"some": {[]answer.Citation{{Chunk: b}, {Chunk: a}}, ids.Chunks([]percached.ChunkID{b, a})},
		"none": {nil, []percached.ChunkID{}},
	} {
		if got := r.chunksOf("gone", answer.Answer{Citations: tt.cited}); len(got) > 0 {
			t.Errorf("%s: %v in no space", name, got)
		}
		if d := cmp.Diff(tt.want, r.chunksOf("mail", answer.Answer{Citations: tt.cited})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
