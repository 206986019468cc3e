package trial

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Free says why a folder cannot be made here; nil if it can.
func Free(dir string) error {
	there, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if info, err := os.Stat(filepath.Dir(filepath.Clean(dir))); err != nil {
			return err
		} else if !info.IsDir() {
			return fmt.Errorf("%s is no folder", filepath.Dir(filepath.Clean(dir)))
		}
		return nil
	case err != nil:
		return err
	case len(there) > 0:
		return fmt.Errorf("%s is there already, and not empty", dir)
	}
	return nil
}

// Save writes a report and its answers to a new folder, all of it or nothing.
func Save(dir string, r *Report, answers []Answer) (err error) {
	dir = filepath.Clean(dir)
	if err := Free(dir); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), "."+filepath.Base(dir)+"-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(part))
		}
	}()
	for name, content := range map[string]func(io.Writer) error{
		"report.json": r.JSON,
		"report.md":   r.Markdown,
		"answers.jsonl": func(w io.Writer) error {
			lines := json.NewEncoder(w)
			for _, a := range answers {
				if err := lines.Encode(a); err != nil {
					return err
				}
			}
			return nil
		},
	} {
		if err := write(filepath.Join(part, name), content); err != nil {
			return err
		}
	}
	// An empty folder of this name gives way, as Free has seen.
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(part, dir)
}

// JSON writes it for programs.
func (r *Report) JSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

// write writes a file and waits until it is on the disk.
func write(path string, content func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(content(f), f.Sync(), f.Close())
}
