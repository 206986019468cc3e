package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// A restore fills folders and files beside those that they replace. Up to
// CommitRestore the data folder is what it was; from then on it is what was
// restored, though the next Open may have to end it.
const (
	stagedBegin = "restore-"
	committed   = "restore-committed"
)

// Version is the version of the data folder, as a backup names it.
const Version = version

// restored are the parts of the folder that a restore replaces.
var restored = []string{"meta", "inbox", "prompts", "percached.conf"}

// derived are those that are made anew from what was restored.
var derived = []string{"tensors", "tensors.aside", "index"}

// Staged is where a part lies that is to be restored: beside what it replaces.
func (h *Home) Staged(part string) string {
	at := h.place(part)
	return filepath.Join(filepath.Dir(at), stagedBegin+filepath.Base(at))
}

// place is what a restore replaces: what percached has written behind a link, but not
// what the owner has there.
func (h *Home) place(part string) string {
	if part == "prompts" || part == "percached.conf" {
		return h.Path(part)
	}
	return realPath(h.Path(part))
}

// realPath follows a link, even one that leads to nothing.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if to, err := os.Readlink(path); err == nil {
		if filepath.IsAbs(to) {
			return to
		}
		return filepath.Join(filepath.Dir(path), to)
	}
	return path
}

// DropRestore removes what was staged and not committed, the decision first: one that
// failed may have left it.
func (h *Home) DropRestore() error {
	errs := []error{os.RemoveAll(h.Path(committed + durable.Unfinished))}
	if Exists(h.Path(committed)) {
		if err := errors.Join(os.Remove(h.Path(committed)), durable.Folder(h.dir)); err != nil {
			return unrestored(err)
		}
	}
	for _, part := range restored {
		errs = append(errs, os.RemoveAll(h.Staged(part)))
	}
	return unrestored(errors.Join(errs...))
}

// CommitRestore makes what is staged durable, and decides that it replaces what is
// there.
func (h *Home) CommitRestore() error {
	for _, part := range restored {
		if err := syncTree(h.Staged(part)); err != nil {
			return unrestored(err)
		}
		if err := durable.Folder(filepath.Dir(h.Staged(part))); err != nil {
			return unrestored(err)
		}
	}
	return unrestored(durable.Write(h.Path(committed), nil))
}

// EndRestore replaces what is there, if a restore was committed, and removes what
// one has left that was not. Nothing of the folder may be open. What it has not done
// when it is cut short, the next call does.
func (h *Home) EndRestore() error {
	if !Exists(h.Path(committed)) {
		return h.DropRestore()
	}
	for _, step := range h.restoreSteps() {
		if err := step(); err != nil {
			return unrestored(err)
		}
	}
	h.Unclean = true // what is derived must be brought together with what was restored
	return nil
}

func (h *Home) restoreSteps() (steps []func() error) {
	for _, part := range derived {
		steps = append(steps, func() error { return os.RemoveAll(realPath(h.Path(part))) })
	}
	for _, part := range restored {
		staged, real := h.Staged(part), h.place(part)
		here := func() bool { return Exists(staged) }
		steps = append(steps,
			func() error {
				if !here() {
					return nil
				}
				return os.RemoveAll(real)
			},
			func() error {
				if err := os.Rename(staged, real); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
				return durable.Folder(filepath.Dir(real))
			},
		)
	}
	return append(steps, func() error {
		if err := os.Remove(h.Path(committed)); err != nil {
			return err
		}
		return durable.Folder(h.dir)
	})
}

// syncTree makes a file durable, or all of a folder, if there is one.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if path == root && errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}

func unrestored(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.Unavailable, "home.restore", "cannot restore: %w", err)
}
