package qkvtree

import (
	"time"

	"github.com/percached/percached"
)

// node is a stored slice without its bytes.
type node struct {
	counters
	group  *group
	path   percached.Path
	above  percached.Path // zero for a root
	parent *node          // nil for a root, and where it is not stored
	chunk  percached.ChunkID
	tokens int
	pieces int
	planes percached.Planes
	bytes  int64  // of all its records, keys too
	local  uint64 // priority among the slices of its space; not on disk
	kids   int    // stored nodes right behind it
	slot   int    // in the heap of leaves; -1: it is not there
}

// group holds the nodes that can stand in one prompt.
type group struct {
	id     groupID
	prefix [groupSize]byte
	nodes  map[percached.Path]*node
}

func (n *node) root() bool { return n.above == percached.Path{} }

// Info describes a stored slice.
type Info struct {
	Space     string
	Model     string
	Placement percached.Placement
	Path      percached.Path
	Chunk     percached.ChunkID // zero for a system segment
	Depth     int               // 0 for a system segment
	Tokens    int
	Bytes     int64
	Planes    percached.Planes
	Hits      uint64    // uses since it was stored, that first one among them; 0: idle work stored it
	Priority  uint64    // what eviction goes by: the lowest goes first
	Used      time.Time // zero: nobody has used it
}

func (n *node) info() Info {
	depth := 0
	if !n.root() {
		depth = 1
	}
	for p := n.parent; p != nil && !p.root(); p = p.parent {
		depth++
	}
	return Info{
		Space: n.group.id.space, Model: n.group.id.model, Placement: n.group.id.placement, Path: n.path, Chunk: n.chunk,
		Depth: depth, Tokens: n.tokens, Bytes: n.bytes, Planes: n.planes, Hits: n.hits, Priority: n.priority, Used: moment(n.used),
	}
}

// moment reads the time of a use off its counters.
func moment(used int64) time.Time {
	if used == 0 {
		return time.Time{}
	}
	return time.Unix(used, 0).UTC()
}

// newNode reads a node off its header.
func newNode(g *group, h *header) *node {
	n := &node{
		group: g, path: h.slice.Path, above: h.parent, chunk: h.chunk, tokens: len(h.slice.Tokens),
		pieces: len(h.sizes), planes: h.slice.Planes, slot: -1,
	}
	n.bytes = int64(nodeSize + h.len() + nodeSize + counterSize)
	for _, s := range h.sizes {
		n.bytes += pieceSize + int64(s.kv) + int64(s.q)
	}
	return n
}
