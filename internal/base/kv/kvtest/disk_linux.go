package kvtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Disk is a small file system of its own.
type Disk struct {
	Dir     string
	ballast string
}

// Kinds are the file systems that NewDisk makes.
func Kinds() []string { return []string{"tmpfs", "ext4"} }

// NewDisk mounts a file system of the kind, with so many MiB, for as long as the
// test runs. Where it may not, the test is skipped, or fails if CI is set.
func NewDisk(t testing.TB, kind, mib string) *Disk {
	t.Helper()
	d := &Disk{Dir: t.TempDir()}
	d.ballast = filepath.Join(d.Dir, "ballast")
	var err error
	switch kind {
	case "tmpfs":
		err = syscall.Mount("tmpfs", d.Dir, "tmpfs", 0, "size="+mib+"m")
	case "ext4":
		image := filepath.Join(t.TempDir(), "image")
		err = errors.Join(
			command("truncate", "-s", mib+"M", image), command("mkfs.ext4", "-q", "-m", "0", image), command("mount", "-o", "loop", image, d.Dir),
		)
	}
	if err != nil {
		say := t.Skipf
		if os.Getenv("CI") != "" && kind == "tmpfs" {
			say = t.Fatalf
		}
		say("NOT TESTED: no small disk (%s) can be mounted here, which takes root: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(d.Dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return d
}

func command(name string, args ...string) error {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		return errors.Join(err, errors.New(string(out)))
	}
	return nil
}

// Free is how many bytes of the disk are free.
func (d *Disk) Free() int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(d.Dir, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}

// Fill puts ballast on the disk until so many bytes are free, or none.
func (d *Disk) Fill(leave int64) error {
	f, err := os.OpenFile(d.ballast, os.O_CREATE|os.O_WRONLY, 0o600)
	if errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	end := info.Size()
	for n := int64(64 << 20); n >= 512; {
		if leave > 0 && d.Free()-leave < n {
			n /= 2
			continue
		}
		switch err := syscall.Fallocate(int(f.Fd()), 0, end, n); {
		case err == nil:
			end += n
		case errors.Is(err, syscall.ENOSPC):
			n /= 2
		case !errors.Is(err, syscall.EINTR):
			return err
		}
	}
	return nil
}

// Empty takes the ballast away, or all but so many bytes of it.
func (d *Disk) Empty(keep int64) error {
	if keep == 0 {
		return os.Remove(d.ballast)
	}
	if info, err := os.Stat(d.ballast); err != nil || info.Size() <= keep {
		return err
	}
	return os.Truncate(d.ballast, keep)
}
