package inbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
)

// Kept is a file of the inbox at the moment of a Snapshot. Who has it closes it.
type Kept struct {
	Name string
	Size int64
	io.ReadCloser
}

// Snapshot gives the files of the uploads that have not ended, and of documents
// that are withheld from them, as they are at one moment. It calls at in that moment:
// no upload ends and no document is withheld before at returns, so that what at sees
// of the documents and these files belong together. An upload whose spool is gone
// is left out.
func (in *Inbox) Snapshot(at func() error) (files []Kept, err error) {
	defer func() {
		if err != nil {
			CloseAll(files)
			files = nil
		}
	}()
	in.writing.Lock()
	defer in.writing.Unlock()
	in.mu.Lock()
	all := slices.Clone(in.withheld)
	var ids []string
	for _, e := range in.queue {
		ids = append(ids, e.ID)
	}
	in.mu.Unlock()
	if err := at(); err != nil {
		return nil, err
	}
	for _, id := range ids {
		r, err := in.keep(id + recordEnd)
		if err != nil {
			return files, err
		}
		files = append(files, r)
		s, err := in.keep(id + spoolEnd)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return files, err
		}
		if err != nil {
			in.o.Logger.Warn("an upload whose file is gone is not in the backup", "id", id, "error", err)
			CloseAll(files[len(files)-1:])
			files = files[:len(files)-1]
			continue
		}
		files = append(files, s)
	}
	if len(all) == 0 {
		return files, nil
	}
	b, err := seal("withheld", withheldFile{all})
	if err != nil {
		return files, err
	}
	return append(files, Kept{withheldName, int64(len(b)), io.NopCloser(bytes.NewReader(b))}), nil
}

// keep opens a file, which then stays readable although it is replaced or removed.
func (in *Inbox) keep(name string) (Kept, error) {
	f, err := os.Open(in.disk.path(name))
	if err != nil {
		return Kept{}, unavailable("inbox.Snapshot", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errDamaged
	}
	if err != nil {
		return Kept{}, unavailable("inbox.Snapshot", errors.Join(err, f.Close()))
	}
	return Kept{name, info.Size(), f}, nil
}

// CloseAll closes files of a Snapshot.
func CloseAll(files []Kept) {
	for _, f := range files {
		f.Close() //nolint:errcheck // nothing was written
	}
}
