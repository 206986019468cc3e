package predictor

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// group is the maximum number of records in one transaction.
const group = 500

// Predictor holds the abstracts and predictions of all spaces.
type Predictor struct {
	o Options
	// write is held during a change of the disk, from checking the chunks to updating
	// memory.
	write sync.Mutex
	// mu guards the fields below. It is never held during disk access.
	mu     sync.RWMutex
	states map[kv.SpaceID]*spaceState
	tasks  map[*task]struct{} // in progress
}

// Open loads the database into memory, except for texts. The caller closes the database
// after the predictor.
func Open(o Options) (*Predictor, error) {
	const op = "predictor.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	p := &Predictor{o: o, states: map[kv.SpaceID]*spaceState{}, tasks: map[*task]struct{}{}}
	l := loader{to: p, states: map[string]state{}}
	if err := o.DB.View(l.load); err != nil {
		return nil, fault.Wrap(op, err)
	}
	if err := p.deleteKeys(l.gone); err != nil {
		return nil, fault.Wrap(op, err)
	}
	return p, nil
}

// LoadSpace reads what was predicted in a space whose records were written into the database
// since Open, by an import.
func (p *Predictor) LoadSpace(space string) error {
	const op = "predictor.LoadSpace"
	p.write.Lock()
	defer p.write.Unlock()
	id := kv.NewSpaceID(space)
	read := &Predictor{o: p.o, states: map[kv.SpaceID]*spaceState{}}
	l := loader{to: read, only: id[:], states: map[string]state{}}
	err := p.o.DB.View(l.load)
	if err == nil {
		err = p.deleteKeys(l.gone)
	}
	if err != nil {
		return fault.Wrap(op, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.states[id] = read.stateOf(id)
	return nil
}

// Flush writes pending hits.
func (p *Predictor) Flush() error {
	p.write.Lock()
	defer p.write.Unlock()
	type dirty struct {
		g     *storedPrediction
		key   []byte
		state state
	}
	var all []dirty
	p.mu.RLock()
	for space, s := range p.states {
		for id, g := range s.predictions {
			if g.dirty {
				all = append(all, dirty{g, key(stateByte, space, id[:]...), g.state})
			}
		}
	}
	p.mu.RUnlock()
	for part := range slices.Chunk(all, group) {
		err := p.o.DB.Update(func(tx *kv.Tx) error {
			for _, d := range part {
				if err := tx.Set(d.key, encodeState(d.key, d.state)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fault.Wrap("predictor.Flush", err)
		}
		p.mu.Lock()
		for _, d := range part {
			d.g.dirty = d.g.state != d.state // hits that came meanwhile
		}
		p.mu.Unlock()
	}
	return nil
}

// Close writes pending hits like Flush. The predictor cannot be used afterwards.
func (p *Predictor) Close() error { return fault.Wrap("predictor.Close", p.Flush()) }

func (p *Predictor) deleteKeys(keys [][]byte) error {
	for part := range slices.Chunk(keys, group) {
		err := p.o.DB.Update(func(tx *kv.Tx) error {
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

// knowledge is the source of documents and chunks.
type knowledge interface {
	Space(name string) (percached.Space, error)
	// Documents returns up to limit documents by ID, after the given one. An Internal
	// error together with documents names damaged ones.
	Documents(space string, after percached.DocumentID, limit int) ([]percached.Document, error)
	// Chunks leaves out deleted chunks. An Internal error together with chunks names
	// damaged ones.
	Chunks(space string, ids []percached.ChunkID) ([]percached.Chunk, error)
}

// engine is the language model.
type engine interface {
	Generate(ctx context.Context, p percached.Prompt, emit func(piece string) error) (percached.Result, error)
	Info() percached.ModelInfo
}

// check decides which predicted questions are useful.
type check interface {
	// Known reports whether the bank already has the question.
	Known(ctx context.Context, space, question string) (bool, error)
	// Supported reports whether the documents say anything about it.
	Supported(ctx context.Context, space, question string) (bool, error)
}

// Options configure a predictor. Start from Default.
type Options struct {
	DB        *kv.DB
	Knowledge knowledge
	Engine    engine
	Check     check
	// Prompts returns a space's own prompt: abstract, knowledge or history. It may be
	// nil.
	Prompts func(space, name string) (text string, ok bool, err error)
	// FollowsPrompts says that the model follows the built-in prompts: it was trained on
	// them, or is large. Another model is asked for summaries and lists only in a space
	// with prompts of its own; else a summary is the beginning of its chunk, and the model
	// continues questions from their first words.
	FollowsPrompts bool
	// PromptWords is how many words of documents one prompt contains.
	PromptWords int
	// Asked returns the questions asked so far, oldest first. It may be nil.
	Asked func(space string) ([]Asked, error)
	Now   func() time.Time
	// AbstractLimit is the maximum size in bytes of the texts of a space's abstract.
	AbstractLimit int64
	// Stride is how many questions one round asks for.
	Stride int
	// Buffer is how many questions of the history one prompt contains.
	Buffer int
	// SummaryTokens is the maximum length of a summary, QuestionTokens that of each
	// question in a list.
	SummaryTokens  int
	QuestionTokens int
	Observer       Observer
}

// Observer receives events. Each func may be nil.
type Observer struct {
	// Damaged is called after an unreadable record was deleted, and for each unreadable
	// document that was skipped.
	Damaged func(err error)
}

const (
	maxStride = 64
	maxBuffer = 256
)

// Default keeps 256 KiB of a space's abstract and asks for five questions.
func Default() Options {
	return Options{
		Now: time.Now, AbstractLimit: 256 << 10, Stride: 5, Buffer: 8,
		SummaryTokens: 128, QuestionTokens: 48, PromptWords: 120, FollowsPrompts: true,
	}
}

// Validate reports all faults together.
func (o Options) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(o.DB == nil, "missing database")
	bad(o.Knowledge == nil, "missing knowledge bank")
	bad(o.Engine == nil, "missing engine")
	bad(o.Check == nil, "missing check")
	bad(o.Now == nil, "missing clock")
	bad(o.AbstractLimit < 0, "invalid abstract limit of %d bytes: it is negative", o.AbstractLimit)
	bad(o.Stride < 1 || o.Stride > maxStride, "invalid stride %d: it is not between 1 and %d", o.Stride, maxStride)
	bad(o.Buffer < 1 || o.Buffer > maxBuffer, "invalid buffer %d: it is not between 1 and %d", o.Buffer, maxBuffer)
	bad(o.PromptWords < 1, "invalid prompt length of %d words: use at least 1", o.PromptWords)
	bad(o.SummaryTokens < 1, "invalid summary length of %d tokens: use at least 1", o.SummaryTokens)
	bad(o.QuestionTokens < 1, "invalid question length of %d tokens: use at least 1", o.QuestionTokens)
	return errors.Join(errs...)
}

func (p *Predictor) damaged(err error) {
	if p.o.Observer.Damaged != nil {
		p.o.Observer.Damaged(err)
	}
}

// spaceState is what memory holds of one space: everything except texts.
type spaceState struct {
	parts       map[percached.ChunkID]*part
	bytes       int64 // total size of the parts' texts
	predictions map[[16]byte]*storedPrediction
	dropped     map[Drop]uint64
}

// part is a part of the abstract.
type part struct {
	chunk   percached.ChunkID
	version uint64
	made    time.Time
	bytes   int
	used    bool // a prediction was made from it
	at      recency
}

// storedPrediction is what memory holds of a prediction.
type storedPrediction struct {
	from   From
	made   time.Time
	chunks []percached.ChunkID
	state  state
	dirty  bool // state is newer than on disk
}

// recency is how new a chunk is: its place in the newest document that contains it.
type recency struct {
	date, added time.Time // of the document
	document    percached.DocumentID
	number      int // within the document
}

// recencyOf is the recency of a document's first chunk. A document without a date uses
// its arrival time.
func recencyOf(d *percached.Document) recency {
	p := recency{date: truncateTime(d.Date), added: truncateTime(d.Added), document: d.ID}
	if p.date.IsZero() {
		p.date = p.added
	}
	return p
}

// byRecency sorts newer documents first, and the chunks of a document in their order.
func byRecency(a, b recency) int {
	return cmp.Or(b.date.Compare(a.date), b.added.Compare(a.added), bytes.Compare(a.document[:], b.document[:]), cmp.Compare(a.number, b.number))
}

// partsByRecency sorts parts by recency, then by chunk.
func partsByRecency(a, b *part) int {
	return cmp.Or(byRecency(a.at, b.at), bytes.Compare(a.chunk[:], b.chunk[:]))
}

// stateOf returns the state of a space and creates it if necessary. The caller holds mu.
func (p *Predictor) stateOf(space kv.SpaceID) *spaceState {
	s := p.states[space]
	if s == nil {
		s = &spaceState{parts: map[percached.ChunkID]*part{}, predictions: map[[16]byte]*storedPrediction{}, dropped: map[Drop]uint64{}}
		p.states[space] = s
	}
	return s
}

func (s *spaceState) addPart(pt *part) {
	s.removePart(pt.chunk)
	s.parts[pt.chunk] = pt
	s.bytes += int64(pt.bytes)
}

func (s *spaceState) removePart(chunk percached.ChunkID) {
	if old := s.parts[chunk]; old != nil {
		s.bytes -= int64(old.bytes)
		delete(s.parts, chunk)
	}
}

// isUnused reports whether a prediction can still be made from a part.
func (pt *part) isUnused() bool { return !pt.used && pt.bytes > 0 }

// unusedParts lists the parts without a prediction, newest first.
func (s *spaceState) unusedParts() []*part {
	var out []*part
	for _, pt := range s.parts {
		if pt.isUnused() {
			out = append(out, pt)
		}
	}
	slices.SortFunc(out, partsByRecency)
	return out
}
