package inbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"

	"github.com/percached/percached/internal/base/fault"
)

// Kept is a file of a Snapshot. The caller closes it.
type Kept struct {
	Name string
	Size int64
	io.ReadCloser
}

// Snapshot returns the files of all uploads that have not ended and the list of
// withheld documents, as files that Open of any version can read. It calls at while
// no upload ends and no document is withheld, so that what at sees of the documents
// fits these files. It leaves out uploads whose spool file is gone.
func (in *Inbox) Snapshot(at func() error) (files []Kept, err error) {
	const op = "inbox.Snapshot"
	defer func() {
		if err != nil {
			CloseAll(files)
			files = nil
		}
	}()
	in.writing.Lock()
	defer in.writing.Unlock()
	in.mu.Lock()
	denied, queue := slices.Clone(in.withheld), slices.Clone(in.queue)
	in.mu.Unlock()
	if err := at(); err != nil {
		return nil, err
	}
	for _, e := range queue {
		r, err := in.stored(e.ID)
		if err != nil {
			return files, unavailable(op, err)
		}
		spool, err := in.disk.open(e.ID + spoolEnd)
		if errors.Is(err, fs.ErrNotExist) {
			in.o.Logger.Warn("left an upload out of the backup: its file is gone", "id", e.ID)
			continue
		}
		if err != nil {
			return files, unavailable(op, err)
		}
		kept := Kept{e.ID + spoolEnd, spool.Size(), spool} // readable after it is removed
		b, err := encodeFormer("upload", r)
		if err != nil {
			return append(files, kept), fault.New(fault.Internal, op, "%w", err)
		}
		files = append(files, inMemory(e.ID+formerEnd, b), kept)
	}
	if len(denied) == 0 {
		return files, nil
	}
	b, err := encodeFormer("withheld", withheldList{denied})
	return append(files, inMemory(formerDenied, b)), err
}

// SnapshotSpace calls at while no upload ends, unless uploads of the space wait.
func (in *Inbox) SnapshotSpace(space string, at func() error) error {
	in.writing.Lock()
	defer in.writing.Unlock()
	in.mu.Lock()
	waiting := 0
	for _, e := range in.queue {
		if e.Space == space {
			waiting++
		}
	}
	in.mu.Unlock()
	if waiting > 0 {
		return fault.New(fault.Conflict, "inbox.SnapshotSpace", "uploads of the space are not processed yet (%d); wait until they have ended", waiting)
	}
	return at()
}

func inMemory(name string, b []byte) Kept {
	return Kept{name, int64(len(b)), io.NopCloser(bytes.NewReader(b))}
}

// CloseAll closes the files of a Snapshot.
func CloseAll(files []Kept) {
	for _, f := range files {
		f.Close() //nolint:errcheck // it was only read
	}
}
