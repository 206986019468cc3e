package scheduler

import (
	"io/fs"
	"path"
	"strings"
)

// energy adds up what the processors' counters of energy say. Where the system
// has none, or keeps them from us, the total stays zero.
type energy struct {
	last  map[string]float64 // µJ by zone
	total float64            // J
}

// sample adds what the counters counted since they were last read. They begin
// anew at their range. One that is seen for the first time adds nothing yet.
func (e *energy) sample(sys fs.FS) {
	const (
		dir  = "class/powercap"
		most = 1e15 // µJ; a counter says less
	)
	names, ok := list(sys, dir)
	if !ok {
		return
	}
	for _, name := range names {
		// The zones below, like intel-rapl:0:0, are part of these; psys is the
		// whole machine, with the processors in it.
		id, found := strings.CutPrefix(name, "intel-rapl:")
		if !found || strings.Contains(id, ":") || value(sys, path.Join(dir, name, "name")) == "psys" {
			continue
		}
		is, ok := number(value(sys, path.Join(dir, name, "energy_uj")), 0, most)
		if !ok {
			continue
		}
		was, seen := e.last[name]
		if e.last == nil {
			e.last = map[string]float64{}
		}
		e.last[name] = is
		switch {
		case !seen:
		case is >= was:
			e.total += (is - was) / 1e6
		default:
			// Without a range it cannot be told from a counter that was reset.
			if top, ok := number(value(sys, path.Join(dir, name, "max_energy_range_uj")), 0, most); ok && was <= top {
				e.total += (top - was + is) / 1e6
			}
		}
	}
}
