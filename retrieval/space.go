package retrieval

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
)

// space is the open state of one space. Lock in the order write, life, the Index's
// mutex, mu.
type space struct {
	name string
	id   spaceID
	dir  string

	// write is held by the one goroutine that changes the space.
	write chan struct{}
	// filesInUse is held shared by readers, and alone to open, close or replace the index of
	// words. The holder of write may use text without it.
	filesInUse sync.RWMutex
	text       *text // nil: the space is not open
	// reembed is held by the goroutine that makes new vectors.
	reembed chan struct{}
	// deleted are the chunks deleted since a Reembed read the feed; nil while none runs.
	// It belongs to the holder of write.
	deleted map[percached.ChunkID]bool

	mu  sync.Mutex // guards what follows; only the holder of write changes it, except broken
	rec record
	vec *vectors // nil: there is no embedder, or the vectors are another's
	// behind: the index lacks what it once had and must catch up before it is searched.
	// broken: for that it must be rebuilt.
	behind, broken bool

	// The Index guards it.
	used uint64
}

// newSpace names the folder by the space, and in an encrypted index also by the key: nobody can guess the
// name of the space from it, and an index of another key is not opened.
func newSpace(name, dir string, key []byte) *space {
	id := idOf(name)
	folder := id[:]
	if key != nil {
		folder = encryption.Subkey(key, id[:], "space")[:len(id)]
	}
	return &space{name: name, id: id, dir: filepath.Join(dir, hex.EncodeToString(folder)), write: make(chan struct{}, 1), reembed: make(chan struct{}, 1)}
}

// idle takes the space to close it, if nobody uses it.
func (sp *space) idle() bool {
	select {
	case sp.write <- struct{}{}:
	default:
		return false
	}
	if sp.filesInUse.TryLock() {
		return true
	}
	<-sp.write
	return false
}

func (sp *space) unidle() {
	sp.filesInUse.Unlock()
	<-sp.write
}

// load opens the files and reads the vectors. It deletes what is unusable, and marks
// the space as behind. The caller holds life alone.
func (sp *space) load(x *Index) error {
	const op = "retrieval.load"
	if _, err := x.o.Feed.Seq(sp.name); err != nil { // make no folder for an unknown space
		return fault.Wrap(op, err)
	}
	rec, err := readRecord(x.o.DB, sp.id)
	if err != nil {
		return fault.Wrap(op, err)
	}
	t, err := openText(sp.dir, x.queue, filled(sp.dir) && x.checkRoom(sp.dir) != nil)
	if err == nil && t.seq.Load() > rec.Seen {
		err = errors.Join(fmt.Errorf("%w: it is ahead of the database", errDamaged), t.close())
	}
	behind := errors.Is(err, errDamaged)
	if behind {
		x.log("rebuild an index", "space", sp.name, "error", err)
		if t, err = emptyText(sp.dir, x.queue); err != nil {
			return fault.New(fault.Unavailable, op, "%w", err)
		}
	}
	if err != nil {
		return fault.Wrap(op, err)
	}
	_ = os.Remove(filepath.Join(sp.dir, "graph")) // earlier versions kept a graph of the vectors here
	vec, err := sp.loadVectors(x, &rec)
	if err != nil {
		return errors.Join(fault.Wrap(op, err), t.close())
	}
	sp.text = t
	sp.mu.Lock()
	sp.rec, sp.vec, sp.broken = rec, vec, false
	sp.behind = behind || t.seq.Load() < rec.Seen
	sp.mu.Unlock()
	return nil
}

// loadVectors reads the vectors of the current embedder and removes those of unused
// generations.
func (sp *space) loadVectors(x *Index, rec *record) (*vectors, error) {
	if x.o.Embedder == nil {
		return nil, nil
	}
	info := x.o.Embedder.Info()
	a := &rec.Active
	if a.Embedder == "" {
		*a = generation{Number: a.Number + 1, Embedder: info.Fingerprint, Dimensions: info.Dimensions}
	}
	if err := sp.sweep(x, *rec); err != nil {
		return nil, err
	}
	if !fits(*a, info) {
		return nil, nil
	}
	v, whole, err := loadVectors(x.o.DB, sp.id, *a)
	if err != nil {
		return nil, err
	}
	if !whole {
		x.log("embed again: some vectors cannot be read", "space", sp.name)
		a.Seq = 0
	}
	return v, nil
}

// sweep removes the vectors of old generations.
func (sp *space) sweep(x *Index, rec record) error {
	keep := [][]byte{sp.id.generation(rec.Active.Number)}
	if rec.Next != nil {
		keep = append(keep, sp.id.generation(rec.Next.Number))
	}
	return clearKeys(x.o.DB, sp.id.vectors(), func(key []byte) bool {
		for _, k := range keep {
			if len(key) >= len(k) && string(key[:len(k)]) == string(k) {
				return true
			}
		}
		return false
	})
}

// state returns what a reader needs; the record does not change afterwards.
func (sp *space) state() (rec record, vec *vectors, behind bool) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return sp.rec, sp.vec, sp.behind || sp.broken
}

// markBroken notes that the index cannot be read.
func (sp *space) markBroken() {
	sp.mu.Lock()
	sp.broken = true
	sp.mu.Unlock()
}

// mend replaces a broken index by an empty one, which is behind.
func (sp *space) mend(x *Index) error {
	sp.mu.Lock()
	broken := sp.broken
	sp.mu.Unlock()
	if !broken {
		return nil
	}
	if err := sp.replace(func() (*text, error) { return emptyText(sp.dir, x.queue) }); err != nil {
		return fault.New(fault.Unavailable, "retrieval.mend", "%w", err)
	}
	sp.mu.Lock()
	sp.behind, sp.broken = true, false
	sp.mu.Unlock()
	return nil
}

func (sp *space) caughtUp() {
	sp.mu.Lock()
	sp.behind, sp.broken = false, false
	sp.mu.Unlock()
}

// noteDeletions begins to note deleted chunks. The caller holds write.
func (sp *space) noteDeletions() { sp.deleted = map[percached.ChunkID]bool{} }

// closeFiles closes the files. The caller holds life alone.
func (sp *space) closeFiles() error {
	if sp.text == nil {
		return nil
	}
	err := sp.text.close()
	sp.text = nil
	sp.mu.Lock()
	sp.rec, sp.vec = record{}, nil
	sp.mu.Unlock()
	return err
}

// replace closes the index and puts the one that fn makes in its place. The caller
// holds write.
func (sp *space) replace(fn func() (*text, error)) error {
	sp.filesInUse.Lock()
	defer sp.filesInUse.Unlock()
	if sp.text != nil {
		if err := sp.text.close(); err != nil && !errors.Is(err, errDamaged) {
			return err
		}
		sp.text = nil
	}
	t, err := fn()
	if err != nil {
		return err
	}
	sp.text = t
	return nil
}

// remove deletes a folder durably.
func remove(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return durable.Folder(filepath.Dir(dir))
}
