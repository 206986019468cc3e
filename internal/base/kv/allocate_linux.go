package kv

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
	_ "unsafe" // for go:linkname

	"golang.org/x/sys/unix"
)

// mapper holds the func through which badger maps its files. It is the only hook between creating a
// file and writing to it.
//
//go:linkname mapper golang.org/x/sys/unix.mapper
var mapper *unixMapper

// unixMapper has the first fields of unix.mapper; a test compares it with the source.
type unixMapper struct {
	sync.Mutex
	_    map[*byte][]byte
	mmap mapFunc
}

type mapFunc = func(addr, length uintptr, prot, flags, fd int, offset int64) (uintptr, error)

// guarded holds the open folders. From its first call on, a file mapped in one of them gets its
// blocks first.
var guarded = sync.OnceValue(func() *folders {
	all := &folders{by: map[string]*allocation{}}
	next := mapper.mmap
	mapper.mmap = func(addr, length uintptr, prot, flags, fd int, offset int64) (uintptr, error) {
		if prot&unix.PROT_WRITE != 0 && flags&unix.MAP_SHARED != 0 && offset == 0 {
			switch inMemory, err := all.allocate(fd, int64(length)); {
			case err != nil:
				return 0, err
			case inMemory:
				return next(addr, length, prot, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, -1, 0)
			}
		}
		return next(addr, length, prot, flags, fd, offset)
	}
	return all
})

// allocate gives a new file of an open folder its blocks. If the disk is full, a memtable's log
// stays in memory, a value log fails, and a table waits.
func (f *folders) allocate(fd int, length int64) (inMemory bool, err error) {
	path, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
	if err != nil {
		return false, nil // unknown path
	}
	files := f.of(filepath.Dir(path))
	if files == nil || !hasNoBlocks(fd) {
		return false, nil
	}
	switch filepath.Ext(path) {
	case ".mem":
		n := min(length, files.memBytes)
		if files.waitsForLogs() {
			files.waitForBlocks(func() error { return fallocate(fd, 0, 0, n) })
		}
		full := noBlocks(fallocate(fd, 0, 0, n))
		if full { // drop the blocks that it got
			err = errors.Join(unix.Ftruncate(fd, 0), unix.Ftruncate(fd, length))
		}
		files.setVolatile(full)
		return full, err
	case ".vlog":
		if err = fallocate(fd, 0, 0, min(length, files.logBytes)); noBlocks(err) {
			files.setStuck(true)
			return false, errors.Join(err, os.Remove(path)) // badger must be able to create it again
		}
		files.setStuck(false)
	case ".sst":
		manifest := filepath.Join(filepath.Dir(path), "MANIFEST")
		files.waitForBlocks(func() error {
			if err := fallocate(fd, 0, 0, length); err != nil {
				return err
			}
			return allocateLine(manifest)
		})
	}
	return false, nil
}

// waitForBlocks returns when a file has its blocks.
func (a *allocation) waitForBlocks(allocate func() error) {
	for waits := false; noBlocks(allocate()); time.Sleep(retryEvery) {
		if !waits {
			waits = true
			a.addWaiting(1)
			defer a.addWaiting(-1)
		}
	}
}

// allocateLine allocates blocks after the end of the manifest, for the line that will name a
// table. Half a line would make all later lines unreadable.
func allocateLine(manifest string) error {
	f, err := os.OpenFile(manifest, os.O_RDWR, 0)
	if err != nil {
		return nil // badger reports the error
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	return fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, info.Size(), 64<<10)
}

// countsBytes is the length of badger's new DISCARD file, which counts garbage.
const countsBytes = 1 << 20

// allocateCounts creates badger's DISCARD file if necessary, and gives it its blocks.
func allocateCounts(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	err = fallocate(int(f.Fd()), 0, 0, max(info.Size(), countsBytes))
	if err == nil {
		return nil
	}
	if info.Size() == 0 { // badger creates it then
		err = errors.Join(err, os.Remove(path))
	}
	if !noBlocks(err) {
		return nil
	}
	return syscall.ENOSPC
}

// hasNoBlocks says whether a file has no blocks yet. An old log is only read, and must not be
// replaced by memory.
func hasNoBlocks(fd int) bool {
	var s unix.Stat_t
	return unix.Fstat(fd, &s) == nil && s.Blocks == 0
}

func fallocate(fd int, mode uint32, offset, length int64) error {
	for {
		if err := unix.Fallocate(fd, mode, offset, length); err != unix.EINTR {
			return err
		}
	}
}

// noBlocks says that the disk or the user's quota is full. A file system without preallocation
// is no error.
func noBlocks(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}
