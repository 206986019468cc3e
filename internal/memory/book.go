package memory

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
	"github.com/percached/percached/internal/memory/fact"
	"github.com/percached/percached/knowledgebank"
)

const (
	// Format is the format and the source of documents that are facts.
	Format = "memory"
	// MaxFacts is the most facts of a space. All of them are in memory while it is used.
	MaxFacts = 1000

	version      = 1
	adding, done = 0, 1
)

// knowledge keeps documents.
type knowledge interface {
	Seq(space string) (uint64, error)
	Document(space string, id percached.DocumentID) (percached.Document, error)
	Chunks(space string, ids []percached.ChunkID) ([]percached.Chunk, error)
}

// Options are what a Book works with. All are required.
type Options struct {
	DB        *kv.DB
	Knowledge knowledge
	// Store adds a document to all layers, or replaces the one with its key.
	Store func(ctx context.Context, space string, s *knowledgebank.Source) error
	Now   func() time.Time
}

// Fact is a fact with its document.
type Fact struct {
	fact.Record
	ID    percached.DocumentID
	Chunk percached.ChunkID
	Added time.Time

	key string
}

// Book keeps the facts of all spaces.
type Book struct {
	o     Options
	write sync.Mutex // held by one change at a time; locked before mu
	mu    sync.Mutex // guards spaces
	// spaces holds what is known of a space: the IDs since they were read from the disk, and
	// the facts at one count of changes.
	spaces map[string]*known
}

type known struct {
	ids   map[percached.DocumentID]byte
	read  bool
	seq   uint64
	facts []Fact
}

// New creates a Book.
func New(o Options) *Book { return &Book{o: o, spaces: map[string]*known{}} }

func prefix(space string) []byte {
	sum := sha256.Sum256([]byte(space))
	return append([]byte{'M'}, sum[:16]...)
}

func key(space string, id percached.DocumentID) []byte { return append(prefix(space), id[:]...) }

// of returns what is known of a space. The caller holds mu.
func (b *Book) of(space string) (*known, error) {
	if k := b.spaces[space]; k != nil {
		return k, nil
	}
	k := &known{ids: map[percached.DocumentID]byte{}}
	err := b.o.DB.View(func(tx *kv.Tx) error {
		return tx.Each(prefix(space), func(key, value []byte) error {
			if len(key) != 1+16+16 {
				return nil
			}
			state := byte(adding) // a damaged record still names a fact
			if r, err := sealed.NewReader(key, value, version, version); err == nil {
				state = r.Byte()
			}
			k.ids[percached.DocumentID(key[17:])] = state
			return nil
		})
	})
	if err == nil {
		b.spaces[space] = k
	}
	return k, err
}

// mark records the state of a document that is a fact.
func (b *Book) mark(space string, id percached.DocumentID, state byte) error {
	at := key(space, id)
	w := sealed.NewWriter(version, at)
	w.Byte(state)
	if err := b.o.DB.Update(func(tx *kv.Tx) error { return tx.Set(at, w.Seal()) }); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k, err := b.of(space)
	if err == nil {
		k.ids[id], k.read = state, false
	}
	return err
}

// List returns the facts of a space, the latest first. The caller does not change them.
func (b *Book) List(space string) ([]Fact, error) {
	const op = "memory.List"
	seq, err := b.o.Knowledge.Seq(space)
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k, err := b.of(space)
	if err != nil || len(k.ids) == 0 {
		return nil, fault.Wrap(op, err)
	}
	if k.read && k.seq == seq {
		return k.facts, nil
	}
	var facts []Fact
	for id := range k.ids {
		f, err := b.fact(space, id)
		switch fault.KindOf(err) {
		case fault.NotFound, fault.Internal: // deleted or damaged
			continue
		}
		if err != nil {
			return nil, fault.Wrap(op, err)
		}
		facts = append(facts, f)
	}
	slices.SortFunc(facts, func(a, b Fact) int {
		return cmp.Or(b.Said.Compare(a.Said), b.Added.Compare(a.Added), slices.Compare(a.ID[:], b.ID[:]))
	})
	k.facts, k.seq, k.read = facts, seq, true
	return facts, nil
}

// fact reads a fact from its document.
func (b *Book) fact(space string, id percached.DocumentID) (Fact, error) {
	const op = "memory.fact"
	d, err := b.o.Knowledge.Document(space, id)
	if err != nil {
		return Fact{}, err
	}
	chunks, err := b.o.Knowledge.Chunks(space, d.Chunks)
	if err != nil {
		return Fact{}, err
	}
	if len(chunks) != 1 || d.Format != Format {
		return Fact{}, fault.New(fault.NotFound, op, "the document is not a fact")
	}
	r, err := fact.Parse(d.Title, chunks[0].Body)
	if err != nil {
		return Fact{}, fault.New(fault.NotFound, op, "%w", err)
	}
	return Fact{Record: r, ID: id, Chunk: chunks[0].ID, Added: d.Added, key: d.Key}, nil
}

// Get returns one fact.
func (b *Book) Get(space string, id percached.DocumentID) (Fact, error) {
	const op = "memory.Get"
	facts, err := b.List(space)
	if err != nil {
		return Fact{}, fault.Wrap(op, err)
	}
	if i := slices.IndexFunc(facts, func(f Fact) bool { return f.ID == id }); i >= 0 {
		return facts[i], nil
	}
	return Fact{}, fault.New(fault.NotFound, op, "there is no such fact; percached facts list shows all")
}

// Add adds a fact. If the space has it already, Add returns that one and false.
func (b *Book) Add(ctx context.Context, space string, r fact.Record) (Fact, bool, error) {
	b.write.Lock()
	defer b.write.Unlock()
	f, added, err := b.add(ctx, space, r, b.o.Now())
	return f, added, fault.Wrap("memory.Add", err)
}

// add adds a fact that was said at a moment. The caller holds write.
func (b *Book) add(ctx context.Context, space string, r fact.Record, at time.Time) (Fact, bool, error) {
	const op = "memory.add"
	if err := r.Check(); err != nil {
		return Fact{}, false, fault.New(fault.Invalid, op, "%w", err)
	}
	facts, err := b.List(space)
	if err != nil {
		return Fact{}, false, err
	}
	for _, f := range facts {
		if f.Same(r) && f.Until.IsZero() == r.Until.IsZero() {
			return f, false, nil
		}
	}
	if len(facts) >= MaxFacts {
		return Fact{}, false, fault.New(fault.Conflict, op, "the space has %d facts, the limit; delete some", len(facts))
	}
	if r.Single() && r.Until.IsZero() {
		// The older fact ends first: after a crash in between, the statement is read again.
		for _, f := range facts {
			from := cmp.Or(r.Since, r.Said)
			switch {
			case !f.About(r) || !f.Until.IsZero():
			case from.Before(cmp.Or(f.Since, f.Said)):
				r.Until = cmp.Or(f.Since, f.Said)
			case r.Heard && !f.Heard && !from.After(cmp.Or(f.Since, f.Said)): // what was entered that day is a correction
				r.Until = from
			default:
				if f.Until = from; f.Until.Before(f.Since) {
					f.Until = f.Since
				}
				if err := b.put(ctx, space, f.key, f.Record); err != nil {
					return Fact{}, false, err
				}
			}
		}
	}
	name := documentKey(r, at)
	if err := b.put(ctx, space, name, r); err != nil {
		return Fact{}, false, err
	}
	f, err := b.Get(space, percached.NewDocumentID(name))
	return f, err == nil, err
}

// documentKey is the same for the same fact in the same statement.
func documentKey(r fact.Record, at time.Time) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %d", r.Who, r.What, r.Value, at.UnixNano()))
	return Format + ":" + hex.EncodeToString(sum[:16])
}

// put stores a fact under a document's key.
func (b *Book) put(ctx context.Context, space, name string, r fact.Record) error {
	id := percached.NewDocumentID(name)
	if err := b.mark(space, id, adding); err != nil {
		return err
	}
	err := b.o.Store(ctx, space, &knowledgebank.Source{
		Key: name, Title: r.Title(), Source: Format, Format: Format, Date: r.Said, Blocks: []knowledgebank.Block{{Text: r.Body()}}, Whole: true,
	})
	if err != nil {
		return err
	}
	return b.mark(space, id, done)
}

// Change replaces a fact's record by what change makes of it.
func (b *Book) Change(ctx context.Context, space string, id percached.DocumentID, change func(*fact.Record) error) (Fact, error) {
	const op = "memory.Change"
	b.write.Lock()
	defer b.write.Unlock()
	f, err := b.Get(space, id)
	if err != nil {
		return f, fault.Wrap(op, err)
	}
	if err := change(&f.Record); err != nil {
		return f, fault.Wrap(op, err)
	}
	if err := f.Check(); err != nil {
		return f, fault.New(fault.Invalid, op, "%w", err)
	}
	if err := b.put(ctx, space, f.key, f.Record); err != nil {
		return f, fault.Wrap(op, err)
	}
	f, err = b.Get(space, id)
	return f, fault.Wrap(op, err)
}

// LoadSpace makes the book read a space anew whose records were written into the database by
// an import.
func (b *Book) LoadSpace(space string) error {
	b.write.Lock()
	defer b.write.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.spaces, space)
	return nil
}

// DropSpace forgets which documents of a space are facts.
func (b *Book) DropSpace(space string) error {
	const op = "memory.DropSpace"
	b.write.Lock()
	defer b.write.Unlock()
	var keys [][]byte
	err := b.o.DB.View(func(tx *kv.Tx) error {
		return tx.Keys(prefix(space), func(k []byte, _ int64) error {
			keys = append(keys, slices.Clone(k))
			return nil
		})
	})
	if err != nil {
		return fault.Wrap(op, err)
	}
	bulk := b.o.DB.Bulk()
	defer bulk.Cancel()
	for _, k := range keys {
		if err := bulk.Delete(k); err != nil {
			return fault.Wrap(op, err)
		}
	}
	if err := bulk.Flush(); err != nil {
		return fault.Wrap(op, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.spaces, space)
	return nil
}
