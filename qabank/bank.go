package qabank

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qabank/gate"
)

// deleteBatch is the maximum number of records in one transaction.
const deleteBatch = 500

// Bank holds the entries of all spaces.
type Bank struct {
	db *kv.DB
	o  Options
	// write is held during a change of the disk, from reading memory to updating it.
	write sync.Mutex
	// mu guards the fields below. It is never held during a disk write.
	mu     sync.RWMutex
	spaces map[string]*spaceIndex
	age    float64 // rank of the last evicted entry
	bytes  int64
	limit  int64

	teach func([]*check) *gate.Gate // taught; tests replace it
}

// Open loads db into memory. The caller closes the database after the bank.
func Open(db *kv.DB, o Options) (*Bank, error) {
	const op = "qabank.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	b := &Bank{db: db, o: o, limit: o.Limit, spaces: map[string]*spaceIndex{}}
	b.teach = b.taught
	l := loader{bank: b, indexes: map[kv.SpaceID]*spaceIndex{}, states: map[string]state{}}
	if err := db.View(l.load); err != nil {
		return nil, fault.Wrap(op, err)
	}
	if err := b.deleteKeys(l.damaged); err != nil {
		return nil, fault.Wrap(op, err)
	}
	b.age = l.lowestRank()
	return b, nil
}

// LoadSpace reads the entries of a space whose records were written into the database since
// Open, by an import.
func (b *Bank) LoadSpace(space string) error {
	const op = "qabank.LoadSpace"
	b.write.Lock()
	defer b.write.Unlock()
	id := kv.NewSpaceID(space)
	read := &Bank{db: b.db, o: b.o, spaces: map[string]*spaceIndex{}}
	l := loader{bank: read, only: id[:], indexes: map[kv.SpaceID]*spaceIndex{}, states: map[string]state{}}
	err := b.db.View(l.load)
	if err == nil {
		err = b.deleteKeys(l.damaged)
	}
	if err != nil || read.spaces[space] == nil {
		return fault.Wrap(op, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.spaces[space] = read.spaces[space]
	b.bytes += read.bytes
	return nil
}

func (b *Bank) deleteKeys(keys [][]byte) error {
	for part := range slices.Chunk(keys, deleteBatch) {
		err := b.db.Update(func(tx *kv.Tx) error {
			for _, k := range part {
				if err := tx.Delete(k); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Flush writes pending hits and confirmations.
func (b *Bank) Flush(ctx context.Context) error {
	b.write.Lock()
	defer b.write.Unlock()
	var dirty []*item
	b.mu.RLock()
	for _, s := range b.spaces {
		for _, it := range s.items {
			if it.dirty {
				dirty = append(dirty, it)
			}
		}
	}
	b.mu.RUnlock()
	for part := range slices.Chunk(dirty, deleteBatch) {
		if err := b.saveStates(ctx, part, nil); err != nil {
			return fault.Wrap("qabank.Flush", err)
		}
	}
	return fault.Wrap("qabank.Flush", b.flushChecks())
}

// Close writes pending changes like Flush. The bank cannot be used afterwards.
func (b *Bank) Close() error {
	return fault.Wrap("qabank.Close", b.Flush(context.Background()))
}

// saveStates changes the states of items on disk and then in memory. The caller holds
// write.
func (b *Bank) saveStates(ctx context.Context, items []*item, change func(*state)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	values := make([][]byte, len(items))
	written := make([]state, len(items))
	b.mu.RLock()
	for i, it := range items {
		written[i] = it.state
		if change != nil {
			change(&written[i])
		}
		values[i] = encodeState(written[i])
	}
	b.mu.RUnlock()
	err := b.db.Update(func(tx *kv.Tx) error {
		for i, it := range items {
			if err := tx.Set(key(stateByte, it.space.hash, it.id), values[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, it := range items {
		grown := int64(len(values[i]) - len(encodeState(it.state)))
		it.size += grown
		b.bytes += grown
		// Hits that came meanwhile are not on disk yet.
		it.dirty = it.state.hits != written[i].hits || it.state.seen != written[i].seen
		it.state.stale, it.state.staleWhy = written[i].stale, written[i].staleWhy
	}
	return nil
}

func chunksOf(evidence []percached.Evidence) []percached.ChunkID {
	out := make([]percached.ChunkID, len(evidence))
	for i, e := range evidence {
		out[i] = e.Chunk
	}
	return out
}

// Options configure a bank. Start from Default.
type Options struct {
	// Limit is the maximum size of the records of all entries in bytes.
	Limit int64
	// Start is what the gate of a space knows before its first check; the zero value lets
	// only proven answers pass. Scorer names what the scores come from: checks of other
	// scorers do not count.
	Start  gate.Calibration
	Scorer string
	// Now is the clock.
	Now      func() time.Time
	Observer Observer
}

// Observer receives events. Each func may be nil; none may call the bank.
type Observer struct {
	// Stored is called with the number and bytes of stored entries.
	Stored func(entries int, bytes int64)
	// Evicted is called with the number and bytes of evicted entries.
	Evicted func(entries int, bytes int64)
	// Damaged is called after an unreadable record was deleted.
	Damaged func(err error)
}

// Default keeps 100 MiB.
func Default() Options { return Options{Limit: 100 << 20, Now: time.Now} }

// Validate reports all faults together.
func (o Options) Validate() error {
	var errs []error
	if o.Limit < 1 {
		errs = append(errs, fmt.Errorf("invalid limit of %d bytes: it is negative", o.Limit))
	}
	if o.Now == nil {
		errs = append(errs, errors.New("missing clock"))
	}
	return errors.Join(errs...)
}

// ID identifies an entry: a hash of its space, its normalised question, and what it was
// answered under.
type ID [16]byte

// NewID is the ID of the entry for this question in this space, whether or not it exists.
func NewID(space, question string) ID { return NewIDUnder(space, question, "") }

// NewIDUnder is NewID for an answer under a client's instructions; see Entry.Under.
func NewIDUnder(space, question, under string) ID {
	text := "entry\x00" + space + "\x00" + Normalise(question)
	if under != "" {
		text += "\x00" + under
	}
	sum := sha256.Sum256([]byte(text))
	return ID(sum[:16])
}

// UnderOf names a client's instructions, for Entry.Under.
func UnderOf(instructions string) string {
	if instructions = strings.TrimSpace(instructions); instructions == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(instructions))
	return hex.EncodeToString(sum[:16])
}

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText returns the ID in hexadecimal digits.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText parses the output of MarshalText.
func (id *ID) UnmarshalText(b []byte) error {
	if len(b) != 2*len(id) {
		return fmt.Errorf("an ID has %d hexadecimal digits, not %d", 2*len(id), len(b))
	}
	_, err := hex.Decode(id[:], b)
	return err
}

// Entry is a question with what is known of its answer.
type Entry struct {
	ID       ID // set by Put
	Space    string
	Question string
	Answer   string
	Answered bool // false: prefilled only, never served
	Refused  bool // the answer says that the documents do not contain one
	Cut      bool // the answer reached the token limit of its settings
	// Changed says that the question was answered anew in the background, and that the
	// answer is another than before. It ends when the entry serves somebody.
	Changed bool
	// Vector is the question's embedding and Embedder the fingerprint of its embedder. An
	// entry without them matches exact repeats only.
	Vector   []float32
	Embedder string
	// Evidence is every chunk of the answer's prompt, most relevant first.
	Evidence []percached.Evidence
	// Sources are the chunks of a predicted question, which contains their text. The
	// entry is deleted with any of them, as with its evidence.
	Sources  []percached.ChunkID
	Seen     uint64 // the space's seq when the answer was generated or last confirmed
	Origin   string // asked, predicted, ...
	Settings string // hash of model, prompt and retrieval settings
	// Under names what the client demanded: its instructions, beside the service's own, and the
	// form of the answer, as hashes. Clients that demand something else do not get the answer.
	Under    string
	Made     time.Time
	Expires  time.Time // the zero time: never
	Used     time.Time
	Hits     uint64
	Stale    bool
	StaleWhy string
	// Vetoed names the questions that this entry must never answer. Reading an entry sets
	// it; Put ignores it.
	Vetoed []ID
}

// citedChunks lists the chunks of the evidence and the sources, each once.
func (e *Entry) citedChunks() []percached.ChunkID {
	out := chunksOf(e.Evidence)
	for _, c := range e.Sources {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// Candidate is an entry with its similarity to the question.
type Candidate struct {
	Entry
	Similarity float64 // cosine
}

const (
	maxQuestion = 64 << 10
	maxAnswer   = 1 << 20
	maxName     = 1 << 10
	maxVector   = 1 << 16
	// MaxEvidence bounds the evidence of an entry, and its sources.
	MaxEvidence = 1 << 10
)

// validate reports all faults that prevent storing the entry.
func (e *Entry) validate() error {
	var errs []error
	text := func(what, s string, limit int) {
		if len(s) > limit || !utf8.ValidString(s) {
			errs = append(errs, fmt.Errorf("%s is not UTF-8 of at most %d bytes", what, limit))
		}
	}
	text("the question", e.Question, maxQuestion)
	text("the answer", e.Answer, maxAnswer)
	text("the space", e.Space, maxName)
	text("the embedder", e.Embedder, maxName)
	text("the origin", e.Origin, maxName)
	text("the settings", e.Settings, maxName)
	text("the stale reason", e.StaleWhy, maxName)
	if e.Space == "" {
		errs = append(errs, errors.New("missing space"))
	}
	if Normalise(e.Question) == "" {
		errs = append(errs, errors.New("the question is empty"))
	}
	if len(e.Evidence) > MaxEvidence {
		errs = append(errs, fmt.Errorf("%d pieces of evidence exceed the maximum of %d", len(e.Evidence), MaxEvidence))
	}
	if len(e.Sources) > MaxEvidence {
		errs = append(errs, fmt.Errorf("%d sources exceed the maximum of %d", len(e.Sources), MaxEvidence))
	}
	if len(e.Vector) > maxVector || (len(e.Vector) == 0) != (e.Embedder == "") {
		errs = append(errs, fmt.Errorf("a vector of %d values needs an embedder, and an embedder a vector", len(e.Vector)))
	}
	for _, t := range []time.Time{e.Made, e.Expires, e.Used} {
		if !t.IsZero() && (t.Year() < 1700 || t.Year() > 2200) {
			errs = append(errs, errors.New("a time is out of range"))
		}
	}
	for _, x := range e.Vector {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			errs = append(errs, errors.New("the vector contains a value that is not finite"))
			break
		}
	}
	return errors.Join(errs...)
}
