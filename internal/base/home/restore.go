package home

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// A restore writes new folders and files beside those that they replace. Until CommitRestore the data
// folder keeps its content. After it, the restored content counts; if the process ends before
// EndRestore, the next Open calls it.
const (
	stagedPrefix = "restore-"
	committed    = "restore-committed"
)

// Version is the version of the data folder, as backups record it.
const Version = version

// replacedParts are the parts of the folder that a restore replaces.
var replacedParts = []string{"meta", "inbox", "prompts", "percached.conf"}

// rebuiltParts are rebuilt after a restore.
var rebuiltParts = []string{"tensors", "tensors.aside", "index"}

// Staged returns where to write a part that is being restored: beside the part that it
// replaces.
func (h *Home) Staged(part string) string {
	at := h.target(part)
	return filepath.Join(filepath.Dir(at), stagedPrefix+filepath.Base(at))
}

// target returns the path that a restore replaces. percached's own parts may be behind a link;
// the owner's files are replaced at the link itself.
func (h *Home) target(part string) string {
	if part == "prompts" || part == "percached.conf" {
		return h.Path(part)
	}
	return resolveLink(h.Path(part))
}

// resolveLink follows a link, even a broken one.
func resolveLink(path string) string {
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

// DropRestore removes a restore that was not committed. It removes the commit mark first,
// because a failed commit may have left it.
func (h *Home) DropRestore() error {
	errs := []error{os.RemoveAll(h.Path(committed + durable.Unfinished))}
	if Exists(h.Path(committed)) {
		if err := errors.Join(os.Remove(h.Path(committed)), durable.Folder(h.dir)); err != nil {
			return restoreError(err)
		}
	}
	for _, part := range replacedParts {
		errs = append(errs, os.RemoveAll(h.Staged(part)))
	}
	return restoreError(errors.Join(errs...))
}

// CommitRestore makes the staged parts durable and then decides that they replace the current
// ones.
func (h *Home) CommitRestore() error {
	for _, part := range replacedParts {
		if err := syncTree(h.Staged(part)); err != nil {
			return restoreError(err)
		}
		if err := durable.Folder(filepath.Dir(h.Staged(part))); err != nil {
			return restoreError(err)
		}
	}
	return restoreError(durable.Write(h.Path(committed), nil))
}

// EndRestore replaces the current parts if a restore was committed, and otherwise removes the
// staged ones. Nothing in the folder may be open. If it is interrupted, the next call
// continues.
func (h *Home) EndRestore() error {
	if !Exists(h.Path(committed)) {
		return h.DropRestore()
	}
	for _, step := range h.restoreSteps() {
		if err := step(); err != nil {
			return restoreError(err)
		}
	}
	h.Unclean = true // the rebuilt parts must be synchronised with the restored ones
	return nil
}

func (h *Home) restoreSteps() (steps []func() error) {
	for _, part := range rebuiltParts {
		steps = append(steps, func() error { return os.RemoveAll(resolveLink(h.Path(part))) })
	}
	for _, part := range replacedParts {
		staged, real := h.Staged(part), h.target(part)
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

// syncTree makes a file or a whole folder durable, if it exists.
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

func restoreError(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.Unavailable, "home.restore", "cannot restore: %w", err)
}
