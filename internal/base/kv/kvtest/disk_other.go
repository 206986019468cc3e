//go:build !linux

package kvtest

import "testing"

// Disk is a small file system of its own.
type Disk struct{ Dir string }

// Kinds are the file systems that NewDisk makes.
func Kinds() []string { return []string{"tmpfs"} }

// NewDisk skips the test: such a disk is made under Linux alone.
func NewDisk(t testing.TB, _, _ string) *Disk {
	t.Helper()
	t.Skip("NOT TESTED: small disks are made under Linux alone")
	return nil
}

// Free is how many bytes of the disk are free.
func (d *Disk) Free() int64 { return 0 }

// Fill puts ballast on the disk until so many bytes are free.
func (d *Disk) Fill(int64) error { return nil }

// Empty takes the ballast away, or all but so many bytes of it.
func (d *Disk) Empty(int64) error { return nil }
