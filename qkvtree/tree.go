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

// Tree stores slices by path within a byte limit. It is safe for concurrent use.
//
// Locks: writing is held while the stored slices change, mu briefly while memory is read
// or changed. writing is taken before mu, and both may be taken inside a View. No lock is
// held while waiting for the end of a View.
type Tree struct {
	o       Options
	store   *store
	writing sync.Mutex
	space   diskSpace // guarded by writing
	overdue bool      // an eviction to a limit failed; guarded by writing

	mu    sync.Mutex
	f     *forest
	limit int64
	stats tally
	// changed are the nodes with unwritten counters.
	changed map[*node]bool
	written age // as on disk
	closed  bool
}

// Open reads which slices are stored in db, and deletes what a crash left incomplete or
// damaged. db must hold nothing else. The caller closes it.
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

// Close writes the counters. The tree cannot be used afterwards.
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

// begin locks writing.
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

// Has returns which segments of a request are stored, without counting a use. Under
// sequential placement segments after a missing one do not count.
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

// Lacks returns which segments of a request are not stored but can be: under sequential
// placement, what follows a packed slice cannot, because it would not be exact.
func (t *Tree) Lacks(r Request) []bool {
	lacks := make([]bool, len(r.Segments))
	ps, err := r.positions("qkvtree.Lacks")
	if err != nil {
		return lacks
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i, p := range ps {
		n := t.f.find(r.group(), p.path)
		lacks[i] = n == nil
		if n != nil && n.form != percached.Exact && r.Placement == percached.Sequential {
			break
		}
	}
	return lacks
}

// match finds the nodes that a request can use.
func (t *Tree) match(r Request, ps []position) []*node {
	nodes := make([]*node, len(ps))
	for i, p := range ps {
		nodes[i] = t.f.find(r.group(), p.path)
		if nodes[i] != nil && nodes[i].form > r.Form {
			nodes[i] = nil
		}
		if nodes[i] == nil && r.Placement == percached.Sequential {
			break
		}
	}
	return nodes
}

// SetLimit changes the byte limit. If less is allowed than is stored, it evicts at once
// and returns the disk space before it returns, except for Stats.Slack and files that a
// View still reads.
func (t *Tree) SetLimit(n int64) error {
	const op = "qkvtree.SetLimit"
	if n < 0 {
		return fault.New(fault.Invalid, op, "invalid limit: it is negative")
	}
	if err := t.begin(op); err != nil {
		return err
	}
	defer t.writing.Unlock()
	t.mu.Lock()
	t.overdue = t.overdue || n < t.limit
	t.limit = n
	t.mu.Unlock()
	return fault.Wrap(op, t.evictOverdue())
}

// SetSpaceLimit sets a space's own limit within the tree's; negative: none. Only the
// space's own slices are evicted for it. It takes effect like SetLimit and is not stored.
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
	t.overdue = t.overdue || s.excess(0) > 0
	t.mu.Unlock()
	return fault.Wrap(op, t.evictOverdue())
}

// MinKey is the minimum length of Options.Key.
const MinKey = 16

// Options configure a Tree. Start from Default.
type Options struct {
	// Key signs headers. A header signed with another key is damaged.
	Key []byte
	// Limit is the maximum size of everything stored: keys, headers, tensors and
	// counters. Tree.SetLimit changes it.
	Limit int64
	// Spare keeps slices beyond the limit when the tree is opened, until something is
	// inserted. It is for read-only use.
	Spare bool
	// FlushEvery is the maximum number of nodes with unwritten counters.
	FlushEvery int
	// Now is the clock for the last use of slices.
	Now      func() time.Time
	Observer Observer
}

// Observer receives events. Each func may be nil; none may call the tree.
type Observer struct {
	// Dropped is called after an unreadable slice was deleted.
	Dropped func(n Info, cause error)
	// Stored is called after an Insert with the slices stored and their bytes as the
	// limit counts them.
	Stored func(slices int, bytes int64)
	// Evicted is called after a slice was evicted.
	Evicted func(n Info)
}

// Default leaves Key unset.
func Default() Options {
	return Options{Limit: 2 << 30, FlushEvery: 256, Now: time.Now}
}

// Validate reports all faults together.
func (o Options) Validate() error {
	var errs []error
	if len(o.Key) < MinKey {
		errs = append(errs, fmt.Errorf("the key has %d bytes, fewer than %d", len(o.Key), MinKey))
	}
	if o.Limit < 0 {
		errs = append(errs, errors.New("invalid limit: it is negative"))
	}
	if o.FlushEvery < 1 {
		errs = append(errs, errors.New("invalid flush interval: use at least 1"))
	}
	if o.Now == nil {
		errs = append(errs, errors.New("missing clock"))
	}
	return errors.Join(errs...)
}

// Node is a segment of a prompt.
type Node struct {
	Tokens []int32
	// Chunk of the segment; zero for the system segment. Turns have the chunk ID of their
	// conversation.
	Chunk percached.ChunkID
	// Turn marks a turn of a conversation: under parallel placement too it follows the turn
	// before, the first the root. Its slice expires; see Tree.Expire.
	Turn bool
}

// Request names the segments of a prompt that may be stored.
type Request struct {
	Space     string
	Model     string // fingerprint
	Placement percached.Placement
	// Segments are the system segment, which is the root, and then the turns and the chunks
	// in prompt order.
	Segments []Node
	// Idle marks a request of idle work. View then counts no use, and Insert evicts only
	// slices that were not used since the last eviction.
	Idle bool
	// Form is the least exact form that serves the request: to it, other slices are not
	// stored. Exact ones that it computes and inserts replace them. The zero value admits
	// exact slices alone.
	Form percached.Form
}

// Match counts the stored segments of a request.
type Match struct {
	Segments int // including the root
	Tokens   int
	Bytes    int64
	Damaged  int // stored but unreadable, now deleted
}

// position is a node's position in the tree.
type position struct {
	path, parent percached.Path // parent is zero for the root
	chunk        percached.ChunkID
	tokens       []int32
	turn         bool
}

// positions arranges the segments by placement: in a chain, or as branches of the root.
func (r *Request) positions(op string) ([]position, error) {
	if r.Placement > percached.Parallel {
		return nil, fault.New(fault.Invalid, op, "unknown placement %d", r.Placement)
	}
	ps := make([]position, len(r.Segments))
	var root, last percached.Path
	for i, n := range r.Segments {
		parent := last
		if r.Placement == percached.Parallel && !n.Turn {
			parent = root
		}
		ps[i] = position{path: parent.Child(n.Tokens), parent: parent, chunk: n.Chunk, tokens: n.Tokens, turn: n.Turn}
		if i == 0 {
			root = ps[i].path
		}
		if i == 0 || n.Turn || r.Placement == percached.Sequential {
			last = ps[i].path
		}
	}
	return ps, nil
}

// Why a stored slice is unusable; see Observer.Dropped.
var (
	ErrMissing = errors.New("a part of the slice is missing")
	ErrDamaged = errors.New("the stored slice is damaged")
	ErrNewer   = errors.New("the stored slice is of a newer format")
	ErrOrphan  = errors.New("the slice before it is not stored")
)

// SliceError names an unusable slice and wraps one of the errors above.
type SliceError struct {
	Path   percached.Path
	Err    error
	Detail string // what is wrong, if known
}

func (e *SliceError) Error() string {
	if e.Detail == "" {
		return "slice " + e.Path.String() + ": " + e.Err.Error()
	}
	return "slice " + e.Path.String() + ": " + e.Err.Error() + ": " + e.Detail
}

// Unwrap returns one of the errors above.
func (e *SliceError) Unwrap() error { return e.Err }

// Forget deletes every slice of a space that depends on one of these chunks, for all
// models and placements: the chunks' own slices and, under sequential placement, all
// slices after them. It returns their number and bytes. The bytes stay in the database's
// files until those are rewritten; see Compact.
//
// An answer in progress could insert them again; the caller must prevent that.
func (t *Tree) Forget(space string, chunks []percached.ChunkID) (n int, bytes int64, err error) {
	named := map[percached.ChunkID]bool{}
	for _, c := range chunks {
		named[c] = c != percached.ChunkID{} // zero is not a chunk
	}
	return t.clear("qkvtree.Forget", func(o *node) bool { return o.group.id.space == space && named[o.chunk] })
}

// Clear deletes all slices of a space.
func (t *Tree) Clear(space string) (n int, bytes int64, err error) {
	return t.clear("qkvtree.Clear", func(o *node) bool { return o.group.id.space == space })
}

// ClearAll deletes all slices.
func (t *Tree) ClearAll() (n int, bytes int64, err error) {
	return t.clear("qkvtree.ClearAll", func(*node) bool { return true })
}

// clear deletes the selected nodes and all that depend on them.
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
