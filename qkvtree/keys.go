package qkvtree

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// The kinds of record; FORMAT.md describes them.
const (
	headerKind  = 'H'
	pieceKind   = 'P'
	counterKind = 'C'
	ageKind     = 'A'
)

const (
	groupSize = 16 + 16 + 1        // space, model, placement
	nodeSize  = 1 + groupSize + 32 // kind, group, path
	pieceSize = nodeSize + 4       // and the piece's index
)

// groupID names the slices that can stand in one prompt.
type groupID struct {
	space, model string
	placement    percached.Placement
}

// prefix is what stands for the group in keys.
func (g groupID) prefix() (p [groupSize]byte) {
	s, m := kv.NewSpaceID(g.space), sha256.Sum256([]byte(g.model))
	copy(p[:], s[:])
	copy(p[16:32], m[:])
	p[32] = byte(g.placement)
	return p
}

// nodeKey is the key of a node's header or counters, and what the keys of its
// pieces begin with.
func nodeKey(kind byte, group [groupSize]byte, p percached.Path) []byte {
	k := append(make([]byte, 0, pieceSize), kind)
	return append(append(k, group[:]...), p[:]...)
}

func pieceKey(group [groupSize]byte, p percached.Path, i int) []byte {
	return binary.BigEndian.AppendUint32(nodeKey(pieceKind, group, p), uint32(i))
}
