package cmdline

import (
	"os"
	"syscall"
	"unsafe"
)

// isTerminal asks for terminal attributes, which only terminals have.
func isTerminal(f *os.File) bool {
	way, err := f.SyscallConn() // Fd would make reads block
	if err != nil {
		return false
	}
	is := false
	err = way.Control(func(fd uintptr) {
		var t syscall.Termios
		_, _, failed := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TCGETS, uintptr(unsafe.Pointer(&t)))
		is = failed == 0
	})
	return err == nil && is
}
