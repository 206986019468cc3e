package machine

import (
	"os"
	"syscall"
	"unsafe"
)

// Cached returns how many bytes of these parts of a file are in memory; false: the system does not
// say.
func Cached(path string, parts []Part) (int64, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return 0, false
	}
	// Of a file that others own and that this process may not write, Linux says that all is there.
	owner, ok := st.Sys().(*syscall.Stat_t)
	if ok && int(owner.Uid) != os.Geteuid() && syscall.Access(path, 2) != nil {
		return 0, false
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, int(st.Size()), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return 0, false
	}
	defer syscall.Munmap(b) //nolint:errcheck // nothing else uses it
	page := int64(os.Getpagesize())
	var n int64
	for _, p := range parts {
		p.Size = min(p.Size, st.Size()-p.Offset)
		if p.Offset < 0 || p.Size <= 0 {
			continue
		}
		first := p.Offset / page * page
		in := make([]byte, (p.Offset+p.Size-first+page-1)/page)
		_, _, e := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&b[first])), uintptr(p.Offset+p.Size-first), uintptr(unsafe.Pointer(&in[0])))
		if e != 0 {
			return 0, false
		}
		for i, v := range in {
			if at := first + int64(i)*page; v&1 != 0 {
				n += min(at+page, p.Offset+p.Size) - max(at, p.Offset)
			}
		}
	}
	return n, true
}
