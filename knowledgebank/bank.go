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

// Options say how a bank takes documents in. Start from Default.
type Options struct {
	// ChunkWords is how long a chunk is, about.
	ChunkWords int
	// Now is the clock.
	Now func() time.Time
	// Random is where the secrets of spaces come from.
	Random   io.Reader
	Observer Observer
}

// Observer is told what nobody asked for. Any func may be nil.
type Observer struct {
	// Damaged: a record cannot be read, and its chunk was passed over.
	Damaged func(err error)
}

// Default is what the built-in models were made for.
func Default() Options { return Options{ChunkWords: 100, Now: time.Now, Random: rand.Reader} }

// Validate joins all that is wrong.
func (o Options) Validate() error {
	var errs []error
	if o.ChunkWords < 20 || o.ChunkWords > 400 {
		errs = append(errs, fmt.Errorf("chunks of %d words are not between 20 and 400", o.ChunkWords))
	}
	if o.Now == nil {
		errs = append(errs, errors.New("there is no clock"))
	}
	if o.Random == nil {
		errs = append(errs, errors.New("there is no randomness"))
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

// space is what is known in memory of a space that is, or once was.
type space struct {
	id spaceID

	// writing is held by the one who changes the space.
	writing sync.Mutex
	// begin is held shared while a view of the database is begun, and alone
	// while a change that takes several transactions is brought in: so no view
	// sees half of one.
	begin sync.RWMutex
	// unfinished says that a change may be half in: its journal must be brought in
	// before anybody reads. litter says that rows of a journal are left, which only
	// the next writer has to remove. Guarded by begin.
	unfinished, litter bool

	record atomic.Pointer[spaceRecord] // nil if it is damaged
}

// publicIDs are those of the space as it is now.
func (sp *space) publicIDs() percached.PublicIDs {
	if r := sp.record.Load(); r != nil {
		return r.ids
	}
	return percached.PublicIDs{}
}

// told is the id by which an error names a document.
func (sp *space) told(id percached.DocumentID) percached.DocumentID {
	return sp.publicIDs().Document(id)
}

// Open opens the bank that lies in db, and ends what a crash left unfinished.
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
				b.spaces[id].litter = b.spaces[id].litter || typ != spaceType
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

// recover reads a space's record and ends what was left unfinished. What cannot
// be ended, be it for damage or a full disk, is tried again when the space is
// used: the other spaces go on.
func (b *Bank) recover(sp *space) error {
	err := b.load(sp)
	switch r := sp.record.Load(); {
	case err == nil && !r.Live:
		_ = b.sweep(sp) // of a journal that is left, nothing may come back
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
	if err != nil || !r.Secret { // it was created before there were public ids
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

// read gives the payload of a record; NotFound if there is none.
func read(tx *kv.Tx, key []byte) ([]byte, error) {
	value, err := tx.Get(key)
	if err != nil {
		return nil, err
	}
	return unseal(key, value)
}

// damaged says that a record cannot be read, whoever found that out.
func damaged(err error) bool {
	return errors.Is(err, ErrDamaged) || errors.Is(err, ErrNewer) || errors.Is(err, kv.ErrDamaged)
}

// find gives a space that lives, and its record.
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

// lock takes a space that lives for writing.
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

// view runs fn over a view of a space that no change is half in.
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
		sp.begin.RUnlock() // fn may take long, and may come back here
		return fn(tx)
	})
	if !begun {
		sp.begin.RUnlock()
	}
	return err
}
