package llamacpp

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
)

// llama.cpp's threads wait for each other after each operation, so that one thread on a
// slow core slows down all. Where a machine has two kinds of cores, the threads are bound
// to the fast ones, one for each. Where it has one kind, nothing is bound.

// cores are the logical processors to which threads are bound; none: to no particular one.
type cores struct {
	cpus    []int
	threads int    // as many as there are cores: two logical processors may share one
	why     string // why these, or why none
}

// FastCores says which logical processors compute and why; none if the threads are not
// bound.
func FastCores() (cpus []int, why string) {
	c := machineCores()
	return c.cpus, c.why
}

// machineCores chooses among the processors that this process may use, by its affinity
// mask and its control group.
func machineCores() cores { return chooseCores(os.DirFS("/sys"), allowedCPUs()) }

// slowFrequency is the share of the highest frequency below which a core is of a slow
// kind. Cores of one kind differ by a few percent.
const slowFrequency = 0.8

// slowCapacity is the same for the kernel's measure of what a core can do.
const slowCapacity = 0.75

// chooseCores finds the fast cores in Linux's /sys. Allowed is nil where the system does
// not say what this process may use.
func chooseCores(sys fs.FS, allowed []int) cores {
	if len(allowed) == 0 {
		return cores{why: "this system does not say which processors may be used"}
	}
	for _, look := range []func(fs.FS, []int) (fast []int, why string){hybridCores, capableCores, frequentCores} {
		fast, why := look(sys, allowed)
		if len(fast) == 0 || len(fast) == len(allowed) {
			continue
		}
		return cores{
			cpus: fast, threads: countCores(sys, fast),
			why: fmt.Sprintf("%d of %d processors are fast ones, by %s", len(fast), len(allowed), why),
		}
	}
	return cores{why: "all processors are of one kind, as far as the system says"}
}

// hybridCores are the performance cores of an Intel processor with two kinds.
func hybridCores(sys fs.FS, allowed []int) ([]int, string) {
	core, ok := cpuList(sys, "devices/cpu_core/cpus")
	if _, both := cpuList(sys, "devices/cpu_atom/cpus"); !ok || !both {
		return nil, ""
	}
	return slices.DeleteFunc(core, func(cpu int) bool { return !slices.Contains(allowed, cpu) }), "cpu_core"
}

// capableCores are chosen by the kernel's capacity of each core. Of three kinds the middle
// one counts if more is computed with it than without: each operation takes as long as its
// slowest core.
func capableCores(sys fs.FS, allowed []int) ([]int, string) {
	of, ok := figures(sys, allowed, "cpu_capacity")
	if !ok {
		return nil, ""
	}
	byCapacity := slices.Clone(allowed)
	slices.SortStableFunc(byCapacity, func(a, b int) int { return of[b] - of[a] })
	top, least := of[byCapacity[0]], of[byCapacity[len(byCapacity)-1]]
	if float64(least) >= slowCapacity*float64(top) {
		return nil, ""
	}
	best := 0
	for n := range byCapacity {
		if n+1 < len(byCapacity) && of[byCapacity[n+1]] == of[byCapacity[n]] || of[byCapacity[n]] == least {
			continue // all of a kind, and not the slowest
		}
		if best == 0 || (n+1)*of[byCapacity[n]] > best*of[byCapacity[best-1]] {
			best = n + 1
		}
	}
	fast := byCapacity[:best]
	slices.Sort(fast)
	return fast, "cpu_capacity"
}

// frequentCores are chosen by the highest frequency of each core.
func frequentCores(sys fs.FS, allowed []int) ([]int, string) {
	of, ok := figures(sys, allowed, "cpufreq/cpuinfo_max_freq")
	if !ok {
		return nil, ""
	}
	top := 0
	for _, f := range of {
		top = max(top, f)
	}
	return slices.DeleteFunc(slices.Clone(allowed), func(cpu int) bool { return float64(of[cpu]) < slowFrequency*float64(top) }), "cpuinfo_max_freq"
}

// figures reads a positive number of each processor.
func figures(sys fs.FS, cpus []int, file string) (map[int]int, bool) {
	of := map[int]int{}
	for _, cpu := range cpus {
		n, err := strconv.Atoi(line(sys, fmt.Sprintf("devices/system/cpu/cpu%d/%s", cpu, file)))
		if err != nil || n <= 0 {
			return nil, false
		}
		of[cpu] = n
	}
	return of, true
}

// countCores counts cores; logical processors that share one count once.
func countCores(sys fs.FS, cpus []int) int {
	seen := map[int]bool{}
	for _, cpu := range cpus {
		first := cpu
		if same, ok := cpuList(sys, fmt.Sprintf("devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu)); ok {
			first = slices.Min(same)
		}
		seen[first] = true
	}
	return len(seen)
}

// maxCPUs bounds the numbers of processors.
const maxCPUs = 8192

// cpuList reads a list such as 0-3,8.
func cpuList(sys fs.FS, name string) (cpus []int, ok bool) {
	for part := range strings.SplitSeq(line(sys, name), ",") {
		low, high, isRange := strings.Cut(part, "-")
		if !isRange {
			high = low
		}
		from, err := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err != nil || err2 != nil || from < 0 || to < from || to >= maxCPUs {
			return nil, false
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, len(cpus) > 0
}

func line(sys fs.FS, name string) string {
	b, err := fs.ReadFile(sys, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// limit returns the number of threads for these cores.
func (c cores) limit(threads int) int {
	if len(c.cpus) == 0 {
		return threads
	}
	return min(threads, c.threads)
}

// onFastCores finds the cores, unless a test has set them, and limits the threads.
func (c Config) onFastCores() Config {
	if c.cores.why == "" {
		c.cores = machineCores()
	}
	c.Threads = c.cores.limit(c.Threads)
	return c
}
