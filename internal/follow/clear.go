package follow

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/percached/percached"
)

// clear deletes the documents whose files are gone.
func (r *run) clear(ctx context.Context) error {
	var gone []string // files
	for _, root := range r.Roots {
		if r.refused(root) {
			continue
		}
		for _, path := range r.State.below(root) {
			if r.vanished(root, path) {
				gone = append(gone, path)
			}
		}
	}
	slices.Sort(gone)
	gone = slices.Compact(gone)
	held := map[percached.DocumentID]bool{}
	due := map[percached.DocumentID]string{} // by the file that held it
	for path, f := range r.State.kept.Files {
		if _, removed := slices.BinarySearch(gone, path); removed {
			for _, id := range f.Documents {
				due[id] = path
			}
		} else {
			for _, id := range f.Documents {
				held[id] = true
			}
		}
		for _, id := range f.Lost {
			due[id] = path
		}
	}
	if r.Full {
		for id, d := range r.have {
			if root, ok := r.rootOf(d.Path); ok && !r.refused(root) && r.vanishedDocument(d) {
				due[id] = d.Path
			}
		}
	}
	maps.DeleteFunc(due, func(id percached.DocumentID, _ string) bool { return held[id] })
	return r.delete(ctx, gone, due)
}

// refused says that the documents of a root stay because it is empty or missing.
func (r *run) refused(root string) bool {
	return !r.Empty && slices.Contains(r.found.bare, root) || slices.Contains(r.found.blocked, root)
}

// vanished says that a known file is gone, and not only out of sight.
func (r *run) vanished(root, path string) bool {
	if r.found.files[path] != nil || r.isBlocked(path) || exists(path) {
		return false
	}
	if known := r.State.kept.Files[path]; known.Mounted && !r.Empty && unmounted(root, path) {
		r.block(path, errUnmounted)
		return false
	}
	return true
}

var errUnmounted = errors.New("its file system is not mounted, so its documents stay")

// vanishedDocument says that no followed file holds a document any more.
func (r *run) vanishedDocument(d Document) bool {
	if r.isBlocked(d.Path) {
		return false
	}
	known := r.State.kept.Files[d.Path] != nil
	if known || r.found.files[d.Path] != nil {
		return known && r.found.files[d.Path] != nil // it was read
	}
	_, err := os.Lstat(filepath.Clean(d.Path))
	return errors.Is(err, fs.ErrNotExist)
}

// delete deletes documents from the space, then drops what is known of their files.
func (r *run) delete(ctx context.Context, gone []string, due map[percached.DocumentID]string) error {
	if len(due) > 0 && (r.have == nil || len(r.sent) > 0 && !r.Full) {
		if err := r.list(ctx); err != nil {
			return err
		}
	}
	var ids []string
	of := map[string]int{}
	for id, path := range due {
		if d, ok := r.have[id]; ok {
			ids = append(ids, d.ID)
			of[path]++
		}
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		if err := r.State.save(); err != nil { // with the files that hold other documents
			return err
		}
		if err := r.Space.Delete(ctx, ids); err != nil {
			return err
		}
	}
	r.report.Deleted += len(ids)
	for _, path := range gone {
		if of[path] == 0 { // it moved, or held no document
			delete(of, path)
		}
		r.State.drop(path)
	}
	for path, f := range r.State.kept.Files {
		if len(f.Lost) > 0 {
			of[path] += 0 // it is told of, also if nothing was there to delete
			f.Lost = nil
			r.State.set(path, f)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(of)) {
		what := Removed
		if r.found.files[path] != nil {
			what = Changed
		}
		r.changed(Change{what, path, of[path]})
	}
	return nil
}
