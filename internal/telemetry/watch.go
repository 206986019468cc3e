package telemetry

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
)

// patience is how long a scrape waits for the state: a small part of the ten
// seconds that Prometheus itself waits.
const patience = 2 * time.Second

// Watch sets where to look how things stand. Each scrape looks, and those that
// come meanwhile share the look. Where it fails, or takes longer than two seconds,
// or nothing is watched yet, the scrape goes without.
func (m *Metrics) Watch(look func() (State, error)) { m.watcher.look.Store(&look) }

// watcher collects the State.
type watcher struct {
	look     atomic.Pointer[func() (State, error)]
	looks    singleflight.Group
	patience time.Duration

	up *prometheus.Desc

	bytes, limit                *prometheus.Desc // by layer
	slices                      *prometheus.Desc
	entries, answered, stale    *prometheus.Desc
	spaces, documents, chunks   *prometheus.Desc
	queue, parked, idle         *prometheus.Desc
	spent, saved                *prometheus.Desc
	uploads, waiting, listeners *prometheus.Desc
}

func newWatcher() *watcher {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &watcher{
		patience: patience,

		up: desc("percached_state_up", "Whether the state could be read for this scrape; if not, the metrics read from it are absent."),

		bytes:     desc("percached_layer_bytes", "Bytes that are stored: slices, entries, and what the files of the slices really take.", "layer"),
		limit:     desc("percached_layer_limit_bytes", "Bytes that may be stored.", "layer"),
		slices:    desc("percached_slices", "Slices that are stored."),
		entries:   desc("percached_entries", "Entries of the bank."),
		answered:  desc("percached_entries_answered", "Entries that have an answer."),
		stale:     desc("percached_entries_stale", "Entries whose answer must be made anew."),
		spaces:    desc("percached_spaces", "Spaces that there are."),
		documents: desc("percached_documents", "Documents in all spaces."),
		chunks:    desc("percached_chunks", "Chunks in all spaces."),
		queue:     desc("percached_queue_jobs", "Jobs that wait, without those that are parked.", "kind"),
		parked:    desc("percached_queue_parked_jobs", "Jobs that failed too often and are parked."),
		idle:      desc("percached_idle_state", "What idle work is at: 1 at the state that it is in, 0 at the others.", "state"),
		spent:     desc("percached_ledger_spent_seconds", "What idle work cost, as far back as the ledger is read.", "kind"),
		saved:     desc("percached_ledger_saved_seconds", "What idle work saved those who asked, as far back as the ledger is read.", "kind"),
		uploads:   desc("percached_uploads_waiting", "Uploads that are not yet in."),
		waiting:   desc("percached_engine_waiting_questions", "Questions that wait for the engine."),
		listeners: desc("percached_event_listeners", "Clients that listen to events."),
	}
}

// Describe is for the registry.
func (w *watcher) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		w.up, w.bytes, w.limit, w.slices, w.entries, w.answered, w.stale, w.spaces, w.documents, w.chunks,
		w.queue, w.parked, w.idle, w.spent, w.saved, w.uploads, w.waiting, w.listeners,
	} {
		ch <- d
	}
}

// Collect is for the registry.
func (w *watcher) Collect(ch chan<- prometheus.Metric) {
	s, ok := w.read()
	g := gauges{ch}
	if !ok {
		g.count(w.up, 0)
		return
	}
	g.count(w.up, 1)
	for layer, r := range map[string]Room{"tensors": s.Tensors, "bank": s.Bank, "disk": s.Disk} {
		g.set(w.bytes, float64(r.Bytes), layer)
		g.set(w.limit, float64(r.Limit), layer)
	}
	g.count(w.slices, s.Slices)
	g.count(w.entries, s.Entries)
	g.count(w.answered, s.Answered)
	g.count(w.stale, s.Stale)
	g.count(w.spaces, s.Spaces)
	g.count(w.documents, s.Documents)
	g.count(w.chunks, s.Chunks)
	g.count(w.parked, s.Parked)
	g.count(w.uploads, s.Uploads)
	g.count(w.waiting, s.Questions)
	g.count(w.listeners, s.Listeners)

	queue, spent, saved := map[string]float64{}, map[string]float64{}, map[string]float64{}
	for kind, n := range s.Queue {
		queue[kind] = float64(n)
	}
	for kind, a := range s.Ledger {
		spent[kind], saved[kind] = a.Spent, a.Saved
	}
	g.sums(w.queue, jobKinds, queue)
	g.sums(w.spent, jobKinds, spent)
	g.sums(w.saved, jobKinds, saved)
	g.sums(w.idle, idleStates, map[string]float64{s.Idle: 1})
}

// read looks how things stand.
func (w *watcher) read() (State, bool) {
	look := w.look.Load()
	if look == nil {
		return State{}, false
	}
	seen := w.looks.DoChan("", func() (any, error) { return (*look)() })
	late := time.NewTimer(w.patience)
	defer late.Stop()
	select {
	case got := <-seen:
		if got.Err != nil {
			return State{}, false
		}
		return got.Val.(State), true
	case <-late.C:
		return State{}, false
	}
}

// gauges are told to the registry.
type gauges struct{ to chan<- prometheus.Metric }

func (g gauges) set(d *prometheus.Desc, v float64, labels ...string) {
	g.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (g gauges) count(d *prometheus.Desc, n int) { g.set(d, float64(n)) }

// sums tells what there is of each word, and of all others together.
func (g gauges) sums(d *prometheus.Desc, words []string, of map[string]float64) {
	sums := each(words, func(string) *float64 { return new(float64) })
	for word, v := range of {
		*sums.of(word) += v
	}
	for word, sum := range sums {
		g.set(d, *sum, word)
	}
}
