package llamacpp

import (
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// chip makes the files of processors: a figure for each.
func chip(file string, figures ...int) fstest.MapFS {
	sys := fstest.MapFS{}
	for cpu, f := range figures {
		sys[fmt.Sprintf("devices/system/cpu/cpu%d/%s", cpu, file)] = &fstest.MapFile{Data: fmt.Appendln(nil, f)}
	}
	return sys
}

func also(sys fstest.MapFS, files map[string]string) fstest.MapFS {
	for name, text := range files {
		sys[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return sys
}

// Threads are bound to the fast cores that the process may use, and only if there are slow
// ones among them.
func TestChooseCores(t *testing.T) {
	const capacity, frequency = "cpu_capacity", "cpufreq/cpuinfo_max_freq"
	upTo := func(n int) (all []int) {
		for cpu := range n {
			all = append(all, cpu)
		}
		return all
	}
	hybrid := map[string]string{"devices/cpu_core/cpus": "0-3", "devices/cpu_atom/cpus": "4-7"}
	for cpu := range 4 {
		hybrid[fmt.Sprintf("devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu)] = []string{"0-1", "0-1", "2,3", "2,3"}[cpu]
	}
	for name, tt := range map[string]struct {
		sys     fstest.MapFS
		allowed []int
		cpus    []int
		threads int
	}{
		"nothing said":                    {fstest.MapFS{}, upTo(4), nil, 0},
		"the mask is unknown":             {chip(capacity, 400, 1024), nil, nil, 0},
		"one kind":                        {chip(capacity, 1024, 1024), upTo(2), nil, 0},
		"four and four":                   {chip(capacity, 400, 400, 400, 400, 1024, 1024, 1024, 1024), upTo(8), []int{4, 5, 6, 7}, 4},
		"one, three and four":             {chip(capacity, 250, 250, 250, 250, 800, 800, 800, 1024), upTo(8), []int{4, 5, 6, 7}, 4},
		"two, and the middle is slow":     {chip(capacity, 160, 160, 480, 1024, 1024), upTo(5), []int{3, 4}, 2},
		"some of the fast ones allowed":   {chip(capacity, 400, 400, 1024, 1024), []int{0, 1, 3}, []int{3}, 1},
		"only slow ones allowed":          {chip(capacity, 400, 400, 1024, 1024), []int{0, 1}, nil, 0},
		"only fast ones allowed":          {chip(capacity, 400, 400, 1024, 1024), []int{2, 3}, nil, 0},
		"a figure is missing":             {chip(capacity, 400, 1024), upTo(3), nil, 0},
		"a figure is zero":                {chip(capacity, 0, 1024), upTo(2), nil, 0},
		"by frequency":                    {chip(frequency, 1800000, 1800000, 2800000, 2800000), upTo(4), []int{2, 3}, 2},
		"a favoured core of one kind":     {chip(frequency, 5200000, 5000000, 4900000, 4900000), upTo(4), nil, 0},
		"capacity decides":                {also(chip(capacity, 1024, 400), map[string]string{"devices/system/cpu/cpu0/" + frequency: "1", "devices/system/cpu/cpu1/" + frequency: "9"}), upTo(2), []int{0}, 1},
		"hybrid":                          {also(fstest.MapFS{}, hybrid), upTo(8), []int{0, 1, 2, 3}, 2},
		"hybrid, a part allowed":          {also(fstest.MapFS{}, hybrid), []int{1, 2, 5}, []int{1, 2}, 2},
		"hybrid, the slow part allowed":   {also(fstest.MapFS{}, hybrid), []int{4, 5}, nil, 0},
		"a list that is none":             {also(fstest.MapFS{}, map[string]string{"devices/cpu_core/cpus": "0-", "devices/cpu_atom/cpus": "4"}), upTo(8), nil, 0},
		"a list beyond what there can be": {also(fstest.MapFS{}, map[string]string{"devices/cpu_core/cpus": "0-99999999", "devices/cpu_atom/cpus": "4"}), upTo(8), nil, 0},
	} {
		c := chooseCores(tt.sys, tt.allowed)
		if d := cmp.Diff(tt.cpus, c.cpus); d != "" || c.threads != tt.threads || c.why == "" {
			t.Errorf("%s: %+v\n%s", name, c, d)
		}
		if got, want := c.limit(64), max(tt.threads, 1); tt.cpus != nil && got != want || tt.cpus == nil && got != 64 {
			t.Errorf("%s: %d threads", name, got)
		}
	}
}
