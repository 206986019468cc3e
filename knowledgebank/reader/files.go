package reader

import "github.com/percached/percached/internal/base/fault"

// Files calls visit for every file that Path would read, and failed for what
// stands in the way. Its error is that of the path itself.
func Files(path string, visit func(path string, size int64), failed func(path string, err error)) error {
	err := walk(path, func(e entry) error {
		if e.err != nil {
			failed(e.path, e.err)
		} else {
			visit(e.path, e.size)
		}
		return nil
	})
	return fault.Wrap("reader.Files", err)
}
