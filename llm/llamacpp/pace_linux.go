package llamacpp

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// tick is the unit of /proc/stat on every Linux platform.
const tick = 10 * time.Millisecond

// lookAtLoad reads the load of these processors, or of all if none are named, and of this
// process.
func lookAtLoad(cpus []int) (l load, ok bool) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return l, false
	}
	average, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return l, false
	}
	var own syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil {
		return l, false
	}
	priority, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	if err != nil {
		return l, false
	}
	l.own = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	return l, l.read(stat, average, priority < usual, cpus)
}

// usual is the kernel's priority of a process with nice value 0.
const usual = 20

// read parses the busy times from the line of all processors, or of some: user, nice, system, idle,
// iowait, irq, softirq, steal. Time stolen from a virtual machine counts as busy; niced
// programs count only for a niced process. From the load average it takes the runnable
// threads, as in "0.31 0.42 0.40 3/411 2077".
func (l *load) read(stat, average []byte, nice bool, cpus []int) bool {
	for line := range bytes.Lines(stat) {
		f := bytes.Fields(line)
		switch {
		case len(f) < 9 || !bytes.HasPrefix(f[0], []byte("cpu")):
			continue
		case len(f[0]) > len("cpu"):
			cpu, err := strconv.Atoi(string(f[0][len("cpu"):]))
			if err != nil || len(cpus) > 0 && !slices.Contains(cpus, cpu) {
				continue
			}
			if l.processors++; len(cpus) == 0 {
				continue // the line of all has it
			}
		case len(cpus) > 0:
			continue
		}
		for i, word := range f[1:9] {
			n, err := strconv.ParseInt(string(word), 10, 64)
			if err != nil {
				return false
			}
			if idle := i == 3 || i == 4; !idle && (i != 1 || nice) {
				l.busy += time.Duration(n) * tick
			}
		}
	}
	f := bytes.Fields(average)
	if len(f) < 4 {
		return false
	}
	running, _, _ := bytes.Cut(f[3], []byte("/"))
	var err error
	l.runnable, err = strconv.Atoi(string(running))
	return err == nil && l.processors > 0
}
