package telemetry

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scraped is the result of a scrape.
type scraped struct {
	kinds  map[string]string                     // counter, gauge, histogram, by family
	words  map[string]map[string]map[string]bool // by family and label
	values map[string]float64                    // by series; of a histogram its _count and _sum
	upto   map[string]map[float64]uint64         // of a histogram's series, by bucket
}

// own returns percached's own metric families.
func (s scraped) own() (names []string) {
	for name := range s.kinds {
		if strings.HasPrefix(name, "percached_") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// get scrapes a URL in a format.
func get(t testing.TB, url, accept string) (body, contentType string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", res.Status, text)
	}
	return string(text), res.Header.Get("Content-Type")
}

// serve serves the metrics on a socket.
func serve(t testing.TB, m *Metrics) (url string) {
	t.Helper()
	s := httptest.NewServer(m.Handler())
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		s.Close()
	})
	return s.URL
}

func scrape(t testing.TB, m *Metrics) scraped {
	t.Helper()
	text, _ := get(t, serve(t, m), "text/plain")
	return parse(t, text)
}

func parse(t testing.TB, text string) scraped {
	t.Helper()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	s := scraped{kinds: map[string]string{}, words: map[string]map[string]map[string]bool{}, values: map[string]float64{}, upto: map[string]map[float64]uint64{}}
	for name, f := range families {
		s.kinds[name] = strings.ToLower(f.GetType().String())
		s.words[name] = map[string]map[string]bool{}
		for _, metric := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range metric.GetLabel() {
				labels[l.GetName()] = l.GetValue()
				if s.words[name][l.GetName()] == nil {
					s.words[name][l.GetName()] = map[string]bool{}
				}
				s.words[name][l.GetName()][l.GetValue()] = true
			}
			switch {
			case metric.Counter != nil:
				s.values[series(name, labels)] = metric.Counter.GetValue()
			case metric.Gauge != nil:
				s.values[series(name, labels)] = metric.Gauge.GetValue()
			case metric.Histogram != nil:
				h := metric.GetHistogram()
				s.values[series(name+"_count", labels)] = float64(h.GetSampleCount())
				s.values[series(name+"_sum", labels)] = h.GetSampleSum()
				upto := map[float64]uint64{}
				for _, b := range h.GetBucket() {
					upto[b.GetUpperBound()] = b.GetCumulativeCount()
				}
				s.upto[series(name, labels)] = upto
			}
		}
	}
	return s
}

func series(name string, labels map[string]string) string {
	var pairs []string
	for _, l := range slices.Sorted(maps.Keys(labels)) {
		pairs = append(pairs, fmt.Sprintf("%s=%q", l, labels[l]))
	}
	if pairs == nil {
		return name
	}
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// grown returns percached's series that changed since an earlier scrape.
func grown(before, after scraped) map[string]float64 {
	diff := map[string]float64{}
	for name, v := range after.values {
		if was, ok := before.values[name]; (!ok || was != v) && strings.HasPrefix(name, "percached_") {
			diff[name] = v - was
		}
	}
	return diff
}

// pedantic makes metrics with a registry that checks every series. Its state has no timeout, so
// that a busy machine does not matter.
func pedantic() *Metrics {
	m := newIn(prometheus.NewPedanticRegistry())
	m.watcher.timeout = time.Hour
	return m
}

// busy counts everything once, so that each metric has a series.
func busy(m *Metrics) {
	m.Request("ask", 200, 30*time.Millisecond)
	m.Answer(Answer{
		Outcome: "tensor_hit", Refused: true, Stages: []Stage{{"prefill", 20 * time.Millisecond}, {"store", 0}, {"total", time.Second}},
		Total: 40 * time.Millisecond, Prompt: 700, Reused: 500, Computed: 200, Generated: 12, ChunksStored: 4, ChunksAll: 5,
		GateRefusals: []string{"likeness", "stale", "likeness"}, Drafts: []Drafted{{"stored", 9, 8}, {"prompt", 4, 0}}, Saved: 3 * time.Second,
	})
	m.GateChecked(true)
	m.GateChecked(false)
	m.AnswerFailed("not found")
	m.Job("decode", "done", 2*time.Second, 100, 50, 4096)
	m.JobEnergy("decode", 25)
	m.RequestEnergy(2.5)
	m.Stored("tensors", 3, 300)
	m.Evicted("bank", 2, 20)
	m.Damaged("knowledge")
	m.Forgotten(7)
	m.Expired("turns", 4)
	m.Upload("done")
	m.EngineRestarted()
	m.Completed(40, 30, 20, 10)
	m.EngineCancelled()
	m.ConnectionDropped()
	m.WatchState(func() (State, error) { return standing(), nil })
}

func standing() State {
	return State{
		Tensors: Room{100, 1000}, Bank: Room{10, 50}, Disk: Room{120, 1200}, Hot: Room{30, 40}, Slices: 9, Entries: 8, Answered: 7, Stale: 6,
		Spaces: 2, Documents: 30, Chunks: 90, Queue: map[string]int{"answer": 4, "decode": 1}, Parked: 3, Idle: "waiting",
		Ledger: map[string]Account{"populate": {Spent: 60, Saved: 6}}, Uploads: 5, Questions: 11, Listeners: 12, BackupLag: 90 * time.Second, BackupFailures: 2,
	}
}
