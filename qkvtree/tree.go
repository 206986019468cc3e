package qkvtree

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Tree keeps slices by path inside a byte limit. It is safe for concurrent use.
//
// Locks: writing is held by who changes what is stored, mu for a moment by who
// reads or changes what is in memory. writing is taken before mu, and either
// may be taken inside a View. Nobody holds one of them while waiting for the
// end of a View.
type Tree struct {
	o       Options
	store   *store
	writing sync.Mutex
	space   diskSpace // under writing

	mu    sync.Mutex
	f     *forest
	limit int64
	stats tally
	// changed are the nodes whose counters differ from those on disk.
	changed map[*node]bool
	written age // as it is on disk
	closed  bool
}

// Open reads which slices are stored in db, which stays the caller's to close.
// What a crash has left half done, and what is damaged, goes. Nothing else may
// be kept in db.
func Open(db *kv.DB, o Options) (*Tree, error) {
	const op = "qkvtree.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	o.Key = slices.Clone(o.Key)
	t := &Tree{o: o, store: &store{db: db, key: o.Key}, f: newForest(), changed: map[*node]bool{}, limit: o.Limit}
	t.space.db = db
	if err := t.load(); err != nil {
		return nil, fault.Wrap(op, err)
	}
	return t, nil
}

// Close writes the counters. The tree is of no use then.
func (t *Tree) Close() error {
	t.writing.Lock()
	defer t.writing.Unlock()
	if t.isClosed() {
		return nil
	}
	err := t.flush()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	return fault.Wrap("qkvtree.Close", err)
}

func (t *Tree) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

// begin takes the lock of those who change what is stored.
func (t *Tree) begin(op string) error {
	t.writing.Lock()
	if t.isClosed() {
		t.writing.Unlock()
		return closed(op)
	}
	return nil
}

func closed(op string) error {
	return fault.New(fault.Unavailable, op, "the tree is closed")
}

// Has says what of a request is stored, without counting that as a use. Under
// sequential placement nothing counts behind the first that is not.
func (t *Tree) Has(r Request) []bool {
	has := make([]bool, len(r.Segments))
	ps, err := r.positions("qkvtree.Has")
	if err != nil {
		return has
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, n := range t.match(r, ps) {
		has[i] = n != nil
	}
	return has
}

// match finds the nodes that a request can use.
func (t *Tree) match(r Request, ps []position) []*node {
	nodes := make([]*node, len(ps))
	for i, p := range ps {
		nodes[i] = t.f.find(r.group(), p.path)
		if nodes[i] == nil && r.Placement == percached.Sequential {
			break
		}
	}
	return nodes
}

// SetLimit changes how many bytes may be stored. Lower than what is stored, it
// evicts at once and gives the space back to the disk before it returns, but
// for what Stats.Slack says and what a View still reads.
func (t *Tree) SetLimit(n int64) error {
	const op = "qkvtree.SetLimit"
	if n < 0 {
		return fault.New(fault.Invalid, op, "the limit is negative")
	}
	if err := t.begin(op); err != nil {
		return err
	}
	defer t.writing.Unlock()
	t.mu.Lock()
	lower := n < t.limit
	t.limit = n
	t.mu.Unlock()
	if !lower {
		return nil
	}
	return fault.Wrap(op, t.evictToLimit(""))
}

// SetSpaceLimit gives a space a limit of its own, inside the tree's; negative: none.
// Only the space's own slices make room for it. It takes effect as SetLimit does,
// and is forgotten with the Tree.
func (t *Tree) SetSpaceLimit(space string, n int64) error {
	const op = "qkvtree.SetSpaceLimit"
	if err := t.begin(op); err != nil {
		return err
	}
	defer t.writing.Unlock()
	t.mu.Lock()
	s := t.f.shareOf(space)
	if s.limit = max(n, -1); s.limit < 0 {
		s.clock = 0
	}
	lower := s.excess(0) > 0
	t.mu.Unlock()
	if !lower {
		return nil
	}
	return fault.Wrap(op, t.evictToLimit(space))
}

// lower makes a limit hold that is lower than it was: the tree's, or a space's.
func (t *Tree) evictToLimit(space string) error {
	if _, err := t.evict(space, 0, nil, false); err != nil {
		return err
	}
	return t.space.shrink()
}

// MinKey is the shortest key that Options.Key may be.
const MinKey = 16

// Options of a Tree. Start from Default.
type Options struct {
	// Key signs headers: what was signed by another is damaged.
	Key []byte
	// Limit is how many bytes may be stored: keys, headers, tensors and
	// counters. Tree.SetLimit changes it.
	Limit int64
	// Spare: what is over the limit when the tree is opened stays, until something
	// else comes in. For those who only look.
	Spare bool
	// FlushEvery is how many nodes' counters may differ from those on disk
	// before they are written.
	FlushEvery int
	// Now is the clock that says when a slice was last used.
	Now      func() time.Time
	Observer Observer
}

// Observer is told what nobody asked for. Any func may be nil; none may call
// the tree.
type Observer struct {
	// Dropped: a slice could not be read as it was written, and went.
	Dropped func(n Info, cause error)
	// Stored: slices that Insert stored, and their bytes as the limit counts them.
	Stored func(slices int, bytes int64)
	// Evicted: a slice made room.
	Evicted func(n Info)
}

// Default needs a Key.
func Default() Options {
	return Options{Limit: 2 << 30, FlushEvery: 256, Now: time.Now}
}

// Validate joins all that is wrong.
func (o Options) Validate() error {
	var errs []error
	if len(o.Key) < MinKey {
		errs = append(errs, fmt.Errorf("the key has %d bytes, it needs %d", len(o.Key), MinKey))
	}
	if o.Limit < 0 {
		errs = append(errs, errors.New("the limit is negative"))
	}
	if o.FlushEvery < 1 {
		errs = append(errs, errors.New("counters must be written after at least one change"))
	}
	if o.Now == nil {
		errs = append(errs, errors.New("there is no clock"))
	}
	return errors.Join(errs...)
}

// Node is a segment of a prompt as the tree knows it.
type Node struct {
	Tokens []int32
	// Chunk that the segment holds; zero for the system segment.
	Chunk percached.ChunkID
}

// Request names the segments of a prompt that may be stored.
type Request struct {
	Space     string
	Model     string // fingerprint
	Placement percached.Placement
	// Segments are the system segment, which is the root, and then the chunks in
	// the order of the prompt.
	Segments []Node
	// Idle says that nobody waits for it. View then counts no use, and Insert
	// evicts nothing that is worth more than what nobody has used yet.
	Idle bool
}

// Match counts what of a request is stored.
type Match struct {
	Segments int // the root among them
	Tokens   int
	Bytes    int64
	Damaged  int // were stored, and went because they could not be read
}

// place is a node's place in the tree.
type position struct {
	path, parent percached.Path // parent is zero for the root
	chunk        percached.ChunkID
	tokens       []int32
}

// places lays the segments out as the placement has them: a chain, or branches
// behind the root.
func (r *Request) positions(op string) ([]position, error) {
	if r.Placement > percached.Parallel {
		return nil, fault.New(fault.Invalid, op, "placement %d is unknown", r.Placement)
	}
	ps := make([]position, len(r.Segments))
	var parent percached.Path
	for i, n := range r.Segments {
		ps[i] = position{path: parent.Child(n.Tokens), parent: parent, chunk: n.Chunk, tokens: n.Tokens}
		if i == 0 || r.Placement == percached.Sequential {
			parent = ps[i].path
		}
	}
	return ps, nil
}

// Why a stored slice cannot be had. Observer.Dropped is told.
var (
	ErrMissing = errors.New("a part of the slice is missing")
	ErrDamaged = errors.New("the stored slice is damaged")
	ErrNewer   = errors.New("the stored slice is of a newer format")
	ErrOrphan  = errors.New("the slice before it is not stored")
)

// SliceError says which slice cannot be had, and wraps one of the errors above.
type SliceError struct {
	Path   percached.Path
	Err    error
	Detail string // what is wrong with it, if more is known
}

func (e *SliceError) Error() string {
	if e.Detail == "" {
		return "slice " + e.Path.String() + ": " + e.Err.Error()
	}
	return "slice " + e.Path.String() + ": " + e.Err.Error() + ": " + e.Detail
}

// Unwrap gives one of the errors above.
func (e *SliceError) Unwrap() error { return e.Err }

// Forget removes every slice of a space that depends on one of these chunks,
// whatever its model and placement: the chunks' own and, under sequential
// placement, all behind them. It says how many went, and their bytes. The
// bytes stay in the database's files until that is rewritten: see Compact.
//
// An answer that was being computed meanwhile can bring them back: who forgets
// keeps such answers from being inserted.
func (t *Tree) Forget(space string, chunks []percached.ChunkID) (n int, bytes int64, err error) {
	named := map[percached.ChunkID]bool{}
	for _, c := range chunks {
		named[c] = c != percached.ChunkID{} // which is no chunk
	}
	return t.clear("qkvtree.Forget", func(o *node) bool { return o.group.id.space == space && named[o.chunk] })
}

// Clear removes all slices of a space.
func (t *Tree) Clear(space string) (n int, bytes int64, err error) {
	return t.clear("qkvtree.Clear", func(o *node) bool { return o.group.id.space == space })
}

// ClearAll removes all slices.
func (t *Tree) ClearAll() (n int, bytes int64, err error) {
	return t.clear("qkvtree.ClearAll", func(*node) bool { return true })
}

// clear removes the nodes that take says to take, and what depends on them.
func (t *Tree) clear(op string, take func(*node) bool) (n int, bytes int64, err error) {
	if err := t.begin(op); err != nil {
		return 0, 0, err
	}
	defer t.writing.Unlock()
	t.mu.Lock()
	var gone []*node
	for _, g := range t.f.groups {
		gone = append(gone, t.f.subtree(g, take)...)
	}
	t.mu.Unlock()
	for _, o := range gone {
		if _, err := t.remove(o); err != nil {
			return n, bytes, fault.Wrap(op, err)
		}
		n++
		bytes += o.bytes
	}
	return n, bytes, nil
}
