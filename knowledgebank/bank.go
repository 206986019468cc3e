package knowledgebank

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Options say how a bank stores documents. Start from Default.
type Options struct {
	// ChunkWords is the approximate length of a chunk.
	ChunkWords int
	// Now is the clock.
	Now func() time.Time
	// Random is the source of the secrets of spaces.
	Random   io.Reader
	Observer Observer
}

// Observer receives events. Any func may be nil.
type Observer struct {
	// Damaged is called when a record cannot be read and its chunk is passed over.
	Damaged func(err error)
}

// Default returns the options that the built-in models were made for.
func Default() Options { return Options{ChunkWords: 100, Now: time.Now, Random: rand.Reader} }

// Validate joins all errors in the options.
func (o Options) Validate() error {
	var errs []error
	if o.ChunkWords < 20 || o.ChunkWords > 400 {
		errs = append(errs, fmt.Errorf("the option ChunkWords is %d, not between 20 and 400", o.ChunkWords))
	}
	if o.Now == nil {
		errs = append(errs, errors.New("the option Now is not set"))
	}
	if o.Random == nil {
		errs = append(errs, errors.New("the option Random is not set"))
	}
	return errors.Join(errs...)
}

// Bank is the knowledge bank. It is safe for concurrent use.
type Bank struct {
	db *kv.DB
	o  Options

	mu     sync.RWMutex // guards the map
	spaces map[spaceID]*space
}

// space is the state in memory of a space, possibly a deleted one.
type space struct {
	id spaceID

	// writing is held by the goroutine that changes the space.
	writing sync.Mutex
	// begin is held shared while a view of the database begins, and alone while a
	// change of several transactions is written. So no view sees half of a change.
	begin sync.RWMutex
	// unfinished: a change may be half written, and its journal must be finished before
	// anybody reads. staleRows: rows of a finished journal remain, which the next writer
	// removes. Guarded by begin.
	unfinished, staleRows bool

	record atomic.Pointer[spaceRecord] // nil if it is damaged
}

// publicIDs returns the public ids of the space.
func (sp *space) publicIDs() percached.PublicIDs {
	if r := sp.record.Load(); r != nil {
		return r.ids
	}
	return percached.PublicIDs{}
}

// publicDocument is the id by which an error names a document.
func (sp *space) publicDocument(id percached.DocumentID) percached.DocumentID {
	return sp.publicIDs().Document(id)
}

// Open opens the bank in db and finishes what a crash interrupted.
func Open(db *kv.DB, o Options) (*Bank, error) {
	const op = "knowledgebank.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	b := &Bank{db: db, o: o, spaces: map[spaceID]*space{}}
	for _, typ := range []byte{spaceType, markType, journalType} {
		if err := db.View(func(tx *kv.Tx) error {
			return tx.Keys([]byte{owner, typ}, func(key []byte, _ int64) error {
				if len(key) < 18 {
					return nil
				}
				id := spaceID(key[2:18])
				if b.spaces[id] == nil {
					b.spaces[id] = &space{id: id}
				}
				b.spaces[id].unfinished = b.spaces[id].unfinished || typ == markType
				b.spaces[id].staleRows = b.spaces[id].staleRows || typ != spaceType
				return nil
			})
		}); err != nil {
			return nil, fault.Wrap(op, err)
		}
	}
	for _, sp := range b.spaces {
		sp.writing.Lock()
		err := b.recover(sp)
		sp.writing.Unlock()
		if err != nil {
			return nil, fault.Wrap(op, err)
		}
	}
	return b, nil
}

// recover reads a space's record and finishes what was interrupted. If damage or a full
// disk prevents that, the next use of the space tries again; other spaces are not
// affected.
func (b *Bank) recover(sp *space) error {
	err := b.load(sp)
	switch r := sp.record.Load(); {
	case err == nil && !r.Live:
		_ = b.sweep(sp) // the remains of a journal must not come back
	case err == nil || damaged(err) || fault.KindOf(err) == fault.NotFound:
		_ = b.finish(sp)
	default:
		return err
	}
	return nil
}

// load reads a space's record.
func (b *Bank) load(sp *space) error {
	var r *spaceRecord
	err := b.db.View(func(tx *kv.Tx) error {
		var err error
		r, err = readSpace(tx, sp.id)
		return err
	})
	if err == nil || damaged(err) {
		sp.record.Store(r)
	}
	return err
}

func readSpace(tx *kv.Tx, id spaceID) (*spaceRecord, error) {
	key := id.key(spaceType)
	payload, err := read(tx, key)
	if err != nil {
		return nil, err
	}
	r, err := decodeSpace(payload)
	if err != nil || !r.Secret { // the space is older than public ids
		return r, err
	}
	if r.ids, err = readIDs(tx, id); fault.KindOf(err) == fault.NotFound {
		err = ErrDamaged
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// read returns the payload of a record; NotFound if there is none.
func read(tx *kv.Tx, key []byte) ([]byte, error) {
	value, err := tx.Get(key)
	if err != nil {
		return nil, err
	}
	return unseal(key, value)
}

// damaged reports whether an error means that a record cannot be read.
func damaged(err error) bool {
	return errors.Is(err, ErrDamaged) || errors.Is(err, ErrNewer) || errors.Is(err, kv.ErrDamaged)
}

// find returns an existing space and its record.
func (b *Bank) find(op, name string) (*space, *spaceRecord, error) {
	b.mu.RLock()
	sp := b.spaces[newSpaceID(name)]
	b.mu.RUnlock()
	if sp == nil {
		return nil, nil, fault.New(fault.NotFound, op, "there is no space %q", name)
	}
	r := sp.record.Load()
	switch {
	case r == nil:
		return nil, nil, fault.New(fault.Internal, op, "space %q: %w", name, ErrDamaged)
	case !r.Live:
		return nil, nil, fault.New(fault.NotFound, op, "there is no space %q", name)
	}
	return sp, r, nil
}

// lock returns an existing space for writing.
func (b *Bank) lock(op, name string) (*space, *spaceRecord, error) {
	sp, _, err := b.find(op, name)
	if err != nil {
		return nil, nil, err
	}
	sp.writing.Lock()
	if err := b.finish(sp); err != nil {
		sp.writing.Unlock()
		return nil, nil, fault.Wrap(op, err)
	}
	_, r, err := b.find(op, name) // it may have been deleted meanwhile
	if err != nil {
		sp.writing.Unlock()
		return nil, nil, err
	}
	return sp, r, nil
}

// view runs fn over a view of a space that holds no half of a change.
func (b *Bank) view(sp *space, fn func(*kv.Tx) error) error {
	sp.begin.RLock()
	for sp.unfinished {
		sp.begin.RUnlock()
		sp.writing.Lock()
		err := b.finish(sp)
		sp.writing.Unlock()
		if err != nil {
			return err
		}
		sp.begin.RLock()
	}
	if r := sp.record.Load(); r == nil || !r.Live {
		sp.begin.RUnlock()
		return fault.New(fault.NotFound, "knowledgebank.view", "the space was deleted meanwhile")
	}
	begun := false
	err := b.db.View(func(tx *kv.Tx) error {
		begun = true
		sp.begin.RUnlock() // fn may take long, and may call view
		return fn(tx)
	})
	if !begun {
		sp.begin.RUnlock()
	}
	return err
}
