package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// scaleCurve is one thing that grows.
type scaleCurve struct {
	name   string
	points []int
	// The estimated seconds before the first point, of a point, and of a thousand more.
	first, fixed, thousand float64
	measure                func(ctx context.Context, r *scaleRun, d *scaleDaemon, points []int) error
	columns                []scaleColumn
}

// scaleColumn is a value in the table. The figure shows those that have a series.
type scaleColumn struct {
	value, head, series string
}

const (
	scaleBatch   = 1000 // mails of an upload
	scaleCold    = 10   // questions that are computed
	scaleSpaces  = 16   // spaces that a daemon keeps open
	scaleWorkers = 4    // that create spaces at a time
	scaleNew     = 20   // of so many questions, one is new
	scaleLatest  = 100  // questions that a point of the questions measures
)

// scaleCurves are all curves. Their estimated times are those of two quiet cores.
func scaleCurves() []*scaleCurve {
	start := []scaleColumn{{"ready_ms", "ready ms", ""}, {"first_search_ms", "searched ms", "start to first search"}, {"disk_bytes", "disk MiB", "disk without tensors"}, {"tensors_bytes", "tensors MiB", "tensors on disk"}}
	usage := []scaleColumn{{"memory_bytes", "anonymous MiB", "anonymous memory"}, {"resident_bytes", "resident MiB", ""}}
	columns := func(own []scaleColumn, more ...[]scaleColumn) []scaleColumn {
		return slices.Concat(append([][]scaleColumn{own}, more...)...)
	}
	return []*scaleCurve{
		{"chunks", []int{1000, 5000, 20_000, 50_000, 100_000, 200_000}, 1, 6, 1, scaleChunks, columns([]scaleColumn{
			{"added_per_s", "added/s", "documents added"},
			{"search_median_ms", "search ms", "search"},
			{"search_p99_ms", "p99", ""},
			{"outside_median_ms", "outside model ms", "outside the model"},
		}, start, usage)},
		{"entries", []int{10, 100, 1000, 10_000, 100_000}, 3, 5, 2, scaleEntries, columns([]scaleColumn{
			{"same_median_ms", "same words ms", "same words"},
			{"same_p99_ms", "p99", ""},
			{"same_served_share", "served", ""},
			{"other_median_ms", "other words ms", "other words"},
			{"other_p99_ms", "p99", ""},
			{"other_served_share", "served", ""},
			{"outside_median_ms", "outside model ms", "outside the model"},
		}, start, usage)},
		{"spaces", []int{1, 10, 100, 1000, 10_000}, 1, 3, 28, scaleOfSpaces, columns([]scaleColumn{
			{"added_per_s", "added/s", ""},
			{"closed_median_ms", "closed space ms", "search, closed space"},
			{"closed_p99_ms", "p99", ""},
			{"search_median_ms", "open space ms", "search"},
			{"search_p99_ms", "p99", ""},
			{"open_files", "files", ""},
			{"settled_ms", "busy after start ms", ""},
		}, start, usage)},
		{"clients", []int{1, 4, 16, 64, 256}, 25, 7, 0, scaleClients, columns([]scaleColumn{
			{"same_per_s", "same words/s", "same words"},
			{"same_median_ms", "ms", "same words"},
			{"same_p99_ms", "p99", ""},
			{"same_refused", "refused", ""},
			{"other_per_s", "other words/s", "other words"},
			{"other_median_ms", "ms", "other words"},
			{"other_p99_ms", "p99", ""},
			{"other_refused", "refused", ""},
			{"failed", "failed", ""},
		}, usage)},
		{"questions", []int{100, 1000, 5000, 20_000}, 2, 2, 10, scaleQuestions, columns([]scaleColumn{
			{"same_median_ms", "same words ms", "same words"},
			{"same_p99_ms", "p99", ""},
			{"other_median_ms", "other words ms", "other words"},
			{"other_p99_ms", "p99", ""},
			{"served_share", "served", ""},
			{"outside_median_ms", "outside model ms", "outside the model"},
		}, start, usage)},
	}
}

// scaleNames are the names of the curves.
func scaleNames() (names []string) {
	for _, c := range scaleCurves() {
		names = append(names, c.name)
	}
	return names
}

// cost is the estimated time of points in seconds, if there are some already.
func (c *scaleCurve) cost(done int, points []int) (s float64) {
	if done == 0 && len(points) > 0 {
		s = c.first
	}
	for _, n := range points {
		s += c.fixed + c.thousand*float64(n-done)/1000
		done = n
	}
	return s
}

// part begins a point in the progress.
func (r *scaleRun) part(done, n int) {
	for _, c := range scaleCurves() {
		if c.name == r.of {
			r.progress.begin(fmt.Sprintf("%s: %d", r.of, n), c.cost(done, []int{n}))
		}
	}
}

// latency records the median and the slowest hundredth.
func (v scaleValues) latency(name string, took []time.Duration) {
	if len(took) > 0 {
		v[name+"_median_ms"], v[name+"_p99_ms"] = ms(quantile(took, 0.5)), ms(quantile(took, 0.99))
	}
}
