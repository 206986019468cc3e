package qkvtree

import (
	"slices"
	"sync"

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
	space   space // under writing

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
	ps, err := r.places("qkvtree.Has")
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
func (t *Tree) match(r Request, ps []place) []*node {
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
	return fault.Wrap(op, t.lower(""))
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
	s := t.f.share(space)
	if s.limit = max(n, -1); s.limit < 0 {
		s.clock = 0
	}
	lower := s.over(0) > 0
	t.mu.Unlock()
	if !lower {
		return nil
	}
	return fault.Wrap(op, t.lower(space))
}

// lower makes a limit hold that is lower than it was: the tree's, or a space's.
func (t *Tree) lower(space string) error {
	if _, err := t.evict(space, 0, nil, false); err != nil {
		return err
	}
	return t.space.shrink()
}
