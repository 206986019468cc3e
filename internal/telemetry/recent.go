package telemetry

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// recently is how many questions the ratios of hits look back.
const recently = 1000

// recent knows of the latest questions what each layer was asked for, and what it
// had.
type recent struct {
	mu    sync.Mutex
	ring  [recently][2]share
	asked uint64
	sum   [2]share
}

// share is how much of what was wanted of a layer was there.
type share struct{ had, wanted int }

// The layers of recent, as in caches.
const (
	inBank = iota
	inTensors
)

func newRecent(to maker) *recent {
	r := &recent{}
	for i, layer := range caches {
		to.in.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name:        "percached_recent_hit_ratio",
			Help:        "Of the latest 1,000 answers, the share that came from the bank, and the share of the chunks in their prompts whose tensors were stored; NaN where there was none.",
			ConstLabels: prometheus.Labels{"layer": layer},
		}, func() float64 { return r.ratio(i) }))
	}
	return r
}

// add notes an answer: whether it came from the bank, and of its prompt the
// chunks whose tensors were stored, and all.
func (r *recent) add(hit bool, stored, all int) {
	now := [2]share{inBank: {wanted: 1}, inTensors: {had: stored, wanted: all}}
	if hit {
		now[inBank].had = 1
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := &r.ring[r.asked%recently]
	for i := range now {
		r.sum[i].had += now[i].had - old[i].had
		r.sum[i].wanted += now[i].wanted - old[i].wanted
	}
	*old = now
	r.asked++
}

// ratio is what there was of what was wanted; NaN if nothing was.
func (r *recent) ratio(layer int) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return float64(r.sum[layer].had) / float64(r.sum[layer].wanted)
}
