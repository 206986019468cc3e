package telemetry

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
)

// State is the current state, read at each scrape. Counts are sums over all spaces.
type State struct {
	Tensors Room // slices
	Bank    Room // entries
	Disk    Room // disk usage of the slices' files
	Hot     Room // slices in memory

	Slices int
	// Entries of the bank: all, those with an answer, and those whose answer is outdated.
	Entries, Answered, Stale int

	Spaces, Documents, Chunks int

	Queue  map[string]int     // waiting jobs by kind
	Parked int                // jobs set aside after repeated failures
	Idle   string             // working, idle, waiting, paused
	Ledger map[string]Account // by kind of job

	Uploads   int // not processed yet
	Questions int // waiting for the engine
	Listeners int // open event streams

	BackupLag      time.Duration // of backups in object storage; 0 without them
	BackupFailures int           // attempts that failed since the start
}

// Room is the size of something and its limit, in bytes.
type Room struct{ Bytes, Limit int64 }

// Account is the cost and the savings of one kind of job, in seconds, within the ledger's
// period.
type Account struct{ Spent, Saved float64 }

// readTimeout is how long a scrape waits for the state. Prometheus waits ten seconds for the
// whole scrape.
const readTimeout = 2 * time.Second

// WatchState sets the func that reads the state. Each scrape calls it; concurrent scrapes share
// one call. If the call fails or takes longer than two seconds, or no func is set, the scrape
// leaves these metrics out.
func (m *Metrics) WatchState(look func() (State, error)) { m.watcher.source.Store(&look) }

// watcher collects the State.
type watcher struct {
	source  atomic.Pointer[func() (State, error)]
	reads   singleflight.Group
	timeout time.Duration

	up *prometheus.Desc

	bytes, limit                *prometheus.Desc // by layer
	slices                      *prometheus.Desc
	entries, answered, stale    *prometheus.Desc
	spaces, documents, chunks   *prometheus.Desc
	queue, parked, idle         *prometheus.Desc
	spent, saved                *prometheus.Desc
	uploads, waiting, listeners *prometheus.Desc
	backupLag, backupFailures   *prometheus.Desc
}

func newWatcher() *watcher {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &watcher{
		timeout: readTimeout,

		up: desc("percached_state_up", "1 if the state could be read for this scrape; otherwise its metrics are absent."),

		bytes:     desc("percached_layer_bytes", "Stored bytes: slices, entries, the disk usage of the slices' files, and slices in memory.", "layer"),
		limit:     desc("percached_layer_limit_bytes", "Limit of stored bytes.", "layer"),
		slices:    desc("percached_slices", "Stored slices."),
		entries:   desc("percached_entries", "Entries of the bank."),
		answered:  desc("percached_entries_answered", "Entries with an answer."),
		stale:     desc("percached_entries_stale", "Entries whose answer is outdated."),
		spaces:    desc("percached_spaces", "Number of spaces."),
		documents: desc("percached_documents", "Documents in all spaces."),
		chunks:    desc("percached_chunks", "Chunks in all spaces."),
		queue:     desc("percached_queue_jobs", "Waiting jobs, without parked ones.", "kind"),
		parked:    desc("percached_queue_parked_jobs", "Jobs parked after repeated failures."),
		idle:      desc("percached_idle_state", "State of idle work: 1 for the current state, 0 for the others.", "state"),
		spent:     desc("percached_ledger_spent_seconds", "Cost of idle work within the ledger's period.", "kind"),
		saved:     desc("percached_ledger_saved_seconds", "Time saved by idle work within the ledger's period.", "kind"),
		uploads:   desc("percached_uploads_waiting", "Uploads that are not processed yet."),
		waiting:   desc("percached_engine_waiting_questions", "Questions that wait for the engine."),
		listeners: desc("percached_event_listeners", "Open event streams."),

		backupLag:      desc("percached_backup_lag_seconds", "Age of the last backup in object storage; 0 without such backups."),
		backupFailures: desc("percached_backup_failures_total", "Attempts to back up to object storage that failed."),
	}
}

// Describe implements prometheus.Collector.
func (w *watcher) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		w.up, w.bytes, w.limit, w.slices, w.entries, w.answered, w.stale, w.spaces, w.documents, w.chunks,
		w.queue, w.parked, w.idle, w.spent, w.saved, w.uploads, w.waiting, w.listeners, w.backupLag, w.backupFailures,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (w *watcher) Collect(ch chan<- prometheus.Metric) {
	s, ok := w.read()
	g := gauges{ch}
	if !ok {
		g.count(w.up, 0)
		return
	}
	g.count(w.up, 1)
	for layer, r := range map[string]Room{"tensors": s.Tensors, "bank": s.Bank, "disk": s.Disk, "memory": s.Hot} {
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
	g.set(w.backupLag, s.BackupLag.Seconds())
	g.to <- prometheus.MustNewConstMetric(w.backupFailures, prometheus.CounterValue, float64(s.BackupFailures))

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

// read reads the state, with a timeout.
func (w *watcher) read() (State, bool) {
	look := w.source.Load()
	if look == nil {
		return State{}, false
	}
	seen := w.reads.DoChan("", func() (any, error) { return (*look)() })
	late := time.NewTimer(w.timeout)
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

// gauges sends values to the registry.
type gauges struct{ to chan<- prometheus.Metric }

func (g gauges) set(d *prometheus.Desc, v float64, labels ...string) {
	g.to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (g gauges) count(d *prometheus.Desc, n int) { g.set(d, float64(n)) }

// sums sends the value of each known word, and the sum of all others.
func (g gauges) sums(d *prometheus.Desc, words []string, of map[string]float64) {
	sums := forLabels(words, func(string) *float64 { return new(float64) })
	for word, v := range of {
		*sums.of(word) += v
	}
	for word, sum := range sums {
		g.set(d, *sum, word)
	}
}
