package lines

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Walk calls do for a file, or for every file below a folder, with what it goes by
// there; hidden hears of what is passed over.
func Walk(root string, hidden func(name string), do func(path, name string) error) error {
	info, err := os.Stat(root)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return do(root, filepath.Base(root))
	}
	if root, err = filepath.EvalSymlinks(root); err != nil { // WalkDir follows no link
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != root && strings.HasPrefix(d.Name(), "."):
			hidden(d.Name())
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return do(path, filepath.ToSlash(name))
	})
}
