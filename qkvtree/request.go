package qkvtree

import (
	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

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
type place struct {
	path, parent percached.Path // parent is zero for the root
	chunk        percached.ChunkID
	tokens       []int32
}

// places lays the segments out as the placement has them: a chain, or branches
// behind the root.
func (r *Request) places(op string) ([]place, error) {
	if r.Placement > percached.Parallel {
		return nil, fault.New(fault.Invalid, op, "placement %d is unknown", r.Placement)
	}
	ps := make([]place, len(r.Segments))
	var parent percached.Path
	for i, n := range r.Segments {
		ps[i] = place{path: parent.Child(n.Tokens), parent: parent, chunk: n.Chunk, tokens: n.Tokens}
		if i == 0 || r.Placement == percached.Sequential {
			parent = ps[i].path
		}
	}
	return ps, nil
}
