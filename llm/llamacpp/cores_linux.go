package llamacpp

import (
	"runtime"
	"syscall"
	"unsafe"
)

// cpuSet is the kernel's mask of processors.
type cpuSet [maxCPUs / 64]uint64

func (s *cpuSet) call(trap uintptr) (bytes uintptr, ok bool) {
	n, _, errno := syscall.RawSyscall(trap, 0, unsafe.Sizeof(*s), uintptr(unsafe.Pointer(s))) // 0: this thread
	return n, errno == 0
}

// allowedCPUs are the processors of this thread's affinity mask. The kernel leaves out
// those that the control group forbids.
func allowedCPUs() (cpus []int) {
	var s cpuSet
	if _, ok := s.call(syscall.SYS_SCHED_GETAFFINITY); !ok {
		return nil
	}
	for cpu := range maxCPUs {
		if s[cpu/64]&(1<<(cpu%64)) != 0 {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// bind binds this OS thread, to which the caller is locked, for good. If the system
// refuses, it computes wherever it is.
func (c cores) bind() {
	if len(c.cpus) == 0 {
		return
	}
	var s cpuSet
	for _, cpu := range c.cpus {
		s[cpu/64] |= 1 << (cpu % 64)
	}
	s.call(syscall.SYS_SCHED_SETAFFINITY)
}

// during calls f on the cores: threads that f starts stay there, the caller does not.
func (c cores) during(f func()) {
	if len(c.cpus) == 0 {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before cpuSet
	if _, ok := before.call(syscall.SYS_SCHED_GETAFFINITY); !ok {
		f()
		return
	}
	c.bind()
	defer before.call(syscall.SYS_SCHED_SETAFFINITY)
	f()
}
