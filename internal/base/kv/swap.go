package kv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/fault"
)

// What may lie beside the folder.
const (
	nextSuffix  = ".new"   // a rewritten database; whole once its folder is renamed
	lastSuffix  = ".old"   // the one it replaces
	asideSuffix = ".aside" // one that could not be opened
)

// swap puts dir.new in dir's place, step by step: dir is whole, or dir.old
// and dir.new both are. Nobody may have either open.
func swap(dir string) error {
	for _, step := range swapSteps(dir) {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func swapSteps(dir string) []func() error {
	parent := filepath.Dir(filepath.Clean(dir))
	return []func() error{
		func() error { return os.Rename(dir, dir+lastSuffix) },
		func() error { return syncFile(parent) },
		func() error { return os.Rename(dir+nextSuffix, dir) },
		func() error { return syncFile(parent) },
	}
}

// settleSwap ends what a crash or a failure left of a swap, and removes what is
// not needed then. What a rewrite had not finished has no dir.old beside it.
func settleSwap(dir string) error {
	_, err := os.Stat(dir)
	switch {
	case err == nil:
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case exists(dir+lastSuffix) && exists(dir+nextSuffix):
		err = os.Rename(dir+nextSuffix, dir)
	case exists(dir + lastSuffix):
		err = os.Rename(dir+lastSuffix, dir)
	default:
		err = nil
	}
	if err != nil {
		return err
	}
	if !exists(dir+lastSuffix) && !exists(dir+nextSuffix) {
		return nil
	}
	parent := filepath.Dir(filepath.Clean(dir))
	return errors.Join(syncFile(parent), os.RemoveAll(dir+lastSuffix), os.RemoveAll(dir+nextSuffix), syncFile(parent))
}

// Exists says whether Open would find a database at dir, or what a rewrite that was
// cut short has left of one.
func Exists(dir string) bool {
	files, _ := os.ReadDir(dir)
	return len(files) > 0 || exists(dir+lastSuffix)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// syncTree makes all files of a folder durable. An open database may remove some
// meanwhile.
func syncTree(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = syncFile(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// RemoveAside removes a database that was set aside, if there is one.
func (db *DB) RemoveAside() error {
	if err := os.RemoveAll(db.dir + asideSuffix); err != nil {
		return fault.New(fault.Unavailable, "kv.RemoveAside", "%w", err)
	}
	return nil
}
