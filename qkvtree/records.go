package qkvtree

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// The kinds of record; see FORMAT.md.
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

// groupID identifies the slices that one prompt can combine.
type groupID struct {
	space, model string
	placement    percached.Placement
}

// prefix is the group's part of a key.
func (g groupID) prefix() (p [groupSize]byte) {
	s, m := kv.NewSpaceID(g.space), sha256.Sum256([]byte(g.model))
	copy(p[:], s[:])
	copy(p[16:32], m[:])
	p[32] = byte(g.placement)
	return p
}

// nodeKey is the key of a node's header or counters, and the prefix of its pieces' keys.
func nodeKey(kind byte, group [groupSize]byte, p percached.Path) []byte {
	k := append(make([]byte, 0, pieceSize), kind)
	return append(append(k, group[:]...), p[:]...)
}

func pieceKey(group [groupSize]byte, p percached.Path, i int) []byte {
	return binary.BigEndian.AppendUint32(nodeKey(pieceKind, group, p), uint32(i))
}

// See FORMAT.md.
const (
	magic     = "PQKV"
	version   = 1         // of exact slices of documents
	extended  = 2         // of all others
	moreSize  = 1 + 1 + 8 // what version 2 has in addition
	macSize   = sha256.Size
	fixedSize = 4 + 2 + 1 + 1 + 32 + 32 + 16 + 8 + 2 + 2
	entrySize = 20
)

// header is a slice without its tensors, and its position.
type header struct {
	slice     percached.Slice // pieces have only their range and Sum
	placement percached.Placement
	parent    percached.Path
	chunk     percached.ChunkID
	space     string
	sizes     []size
	turn      bool  // of a conversation
	made      int64 // Unix seconds; only of a turn
}

type size struct{ kv, q uint32 }

func (h *header) id() groupID {
	return groupID{space: h.space, model: h.slice.Model, placement: h.placement}
}

// newHeader takes from a slice what its header stores, including checksums.
func newHeader(g groupID, at position, s *percached.Slice, now time.Time) (*header, error) {
	switch {
	case len(g.space) > math.MaxUint16:
		return nil, errors.New("the space's name is too long")
	case len(g.model) > math.MaxUint16:
		return nil, errors.New("the fingerprint is too long")
	case s.Model != g.model || s.Path != at.path || !slices.Equal(s.Tokens, at.tokens):
		return nil, errors.New("the slice belongs to another model or position")
	case len(s.Tokens) > math.MaxInt32:
		return nil, errors.New("too many tokens")
	}
	h := &header{slice: *s, placement: g.placement, parent: at.parent, chunk: at.chunk, space: g.space, sizes: make([]size, len(s.Pieces))}
	if at.turn {
		h.turn, h.made = true, max(0, now.Unix())
	}
	h.slice.Pieces = make([]percached.Piece, len(s.Pieces))
	for i := range s.Pieces {
		p := &s.Pieces[i]
		if len(p.KV) > math.MaxInt32 || len(p.Q) > math.MaxInt32-len(p.KV) {
			return nil, fmt.Errorf("piece %d is too large", i)
		}
		if p.Sum != p.Checksum() {
			return nil, fmt.Errorf("piece %d does not match its checksum", i)
		}
		h.sizes[i] = size{uint32(len(p.KV)), uint32(len(p.Q))}
		h.slice.Pieces[i] = percached.Piece{From: p.From, To: p.To, Sum: p.Sum}
	}
	return h, h.validate()
}

// validate checks every header that is written or read.
func (h *header) validate() error {
	s := &h.slice
	switch {
	case s.Planes > percached.QKV:
		return fmt.Errorf("unknown planes %d", s.Planes)
	case s.Form > percached.Q4:
		return fmt.Errorf("unknown form %d", s.Form)
	case s.Start < 0:
		return errors.New("the start is negative")
	case len(s.Tokens) == 0:
		return errors.New("the slice has no tokens")
	case h.parent.Child(s.Tokens) != s.Path:
		return errors.New("the path does not match the tokens and the parent")
	}
	at := 0
	for i, p := range s.Pieces {
		switch {
		case p.From != at || p.To <= p.From || p.To > len(s.Tokens):
			return fmt.Errorf("piece %d holds tokens %d to %d of %d, behind %d", i, p.From, p.To, len(s.Tokens), at)
		case h.sizes[i].kv == 0:
			return fmt.Errorf("piece %d is empty", i)
		case s.Planes == percached.KV && h.sizes[i].q != 0:
			return fmt.Errorf("piece %d has queries, but the slice has none", i)
		case s.Planes == percached.QKV && h.sizes[i].q == 0:
			return fmt.Errorf("piece %d has no queries", i)
		}
		at = p.To
	}
	if at != len(s.Tokens) {
		return fmt.Errorf("the pieces end at token %d of %d", at, len(s.Tokens))
	}
	return nil
}

func (h *header) len() int {
	s := &h.slice
	n := fixedSize + len(h.space) + len(s.Model) + 4 + 4*len(s.Tokens) + 4 + entrySize*len(s.Pieces) + macSize
	if h.version() == extended {
		n += moreSize
	}
	return n
}

// version is that of the header's bytes. Older releases read the first one.
func (h *header) version() uint16 {
	if h.turn || h.slice.Form != percached.Exact {
		return extended
	}
	return version
}

// encode returns the header's bytes; the MAC covers its key.
func (h *header) encode(mac, key []byte) []byte {
	s, le := &h.slice, binary.LittleEndian
	b := make([]byte, 0, h.len())
	b = append(b, magic...)
	b = le.AppendUint16(b, h.version())
	b = append(b, byte(s.Planes), byte(h.placement))
	if h.version() == extended {
		turn := byte(0)
		if h.turn {
			turn = 1
		}
		b = le.AppendUint64(append(b, byte(s.Form), turn), uint64(h.made))
	}
	b = append(b, s.Path[:]...)
	b = append(b, h.parent[:]...)
	b = append(b, h.chunk[:]...)
	b = le.AppendUint64(b, uint64(s.Start))
	b = le.AppendUint16(b, uint16(len(h.space)))
	b = append(b, h.space...)
	b = le.AppendUint16(b, uint16(len(s.Model)))
	b = append(b, s.Model...)
	b = le.AppendUint32(b, uint32(len(s.Tokens)))
	for _, t := range s.Tokens {
		b = le.AppendUint32(b, uint32(t))
	}
	b = le.AppendUint32(b, uint32(len(s.Pieces)))
	for i, p := range s.Pieces {
		for _, v := range []uint32{uint32(p.From), uint32(p.To), h.sizes[i].kv, h.sizes[i].q, p.Sum} {
			b = le.AppendUint32(b, v)
		}
	}
	return append(b, appendMAC(mac, key, b)...)
}

func appendMAC(mac, key, b []byte) []byte {
	m := hmac.New(sha256.New, mac)
	m.Write(key)
	m.Write(b)
	return m.Sum(nil)
}

// decode checks everything in b. The error is ErrNewer, or describes the damage.
func decode(b, mac, key []byte) (*header, error) {
	if len(b) < len(magic)+2 || string(b[:len(magic)]) != magic {
		return nil, errors.New("not a slice header")
	}
	if v := binary.LittleEndian.Uint16(b[len(magic):]); v > extended {
		return nil, ErrNewer
	} else if v < version {
		return nil, errors.New("invalid version 0")
	}
	if len(b) < fixedSize+macSize {
		return nil, errors.New("the header is truncated")
	}
	body := b[:len(b)-macSize]
	if !hmac.Equal(appendMAC(mac, key, body), b[len(body):]) {
		return nil, errors.New("the header's MAC is wrong")
	}
	return parse(body)
}

// parse reads a header without its MAC.
func parse(b []byte) (*header, error) {
	r := reader{b: b[len(magic)+2:]}
	h := &header{}
	s := &h.slice
	s.Planes, h.placement = percached.Planes(r.take(1)[0]), percached.Placement(r.take(1)[0])
	var made uint64
	if binary.LittleEndian.Uint16(b[len(magic):]) == extended {
		s.Form = percached.Form(r.take(1)[0])
		turn := r.take(1)[0]
		h.turn, made = turn == 1, binary.LittleEndian.Uint64(r.take(8))
		switch {
		case turn > 1, !h.turn && made != 0:
			return nil, errors.New("the mark of a turn is wrong")
		case h.version() != extended:
			return nil, errors.New("an exact slice of a document has a header of version 1")
		}
	}
	copy(s.Path[:], r.take(len(s.Path)))
	copy(h.parent[:], r.take(len(h.parent)))
	copy(h.chunk[:], r.take(len(h.chunk)))
	start := binary.LittleEndian.Uint64(r.take(8))
	h.space = string(r.take(int(binary.LittleEndian.Uint16(r.take(2)))))
	s.Model = string(r.take(int(binary.LittleEndian.Uint16(r.take(2)))))
	s.Tokens = make([]int32, r.count(4))
	for i := range s.Tokens {
		s.Tokens[i] = int32(r.u32())
	}
	n := r.count(entrySize)
	s.Pieces, h.sizes = make([]percached.Piece, n), make([]size, n)
	for i := range n {
		s.Pieces[i] = percached.Piece{From: int(r.u32()), To: int(r.u32())}
		h.sizes[i] = size{r.u32(), r.u32()}
		s.Pieces[i].Sum = r.u32()
	}
	switch {
	case r.short:
		return nil, errors.New("the header is truncated")
	case len(r.b) != 0:
		return nil, errors.New("extra bytes after the header")
	case start > math.MaxInt32:
		return nil, errors.New("the start is out of range")
	case made > math.MaxInt64:
		return nil, errors.New("the time is out of range")
	case h.placement > percached.Parallel:
		return nil, fmt.Errorf("unknown placement %d", h.placement)
	}
	s.Start, h.made = int(start), int64(made)
	return h, h.validate()
}

// reader reads fields from the start of b; past the end it returns zeros.
type reader struct {
	b     []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.b) {
		r.b, r.short = nil, true
		return make([]byte, max(n, 0))
	}
	f := r.b[:n]
	r.b = r.b[n:]
	return f
}

func (r *reader) u32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

// count reads a count of things of this size that must still follow.
func (r *reader) count(size int) int {
	n := int64(r.u32())
	if n*int64(size) > int64(len(r.b)) {
		r.b, r.short = nil, true
		return 0
	}
	return int(n)
}

// counters hold a node's value for eviction. See FORMAT.md.
type counters struct {
	hits uint64
	// priority is hits plus the tree's clock at the last use.
	priority uint64
	tick     uint64 // of the last use; unique for each request
	used     int64  // last use in Unix seconds
}

// age holds the tree's clocks.
type age struct {
	clock uint64 // priority of the last evicted node
	tick  uint64 // counts requests
}

const (
	counterSize = 1 + 4*8 + 4
	ageSize     = 1 + 2*8 + 4
	oneVersion  = 1 // of both records
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c counters) encode(key []byte) []byte {
	return sealCounters(key, c.hits, c.priority, c.tick, uint64(c.used))
}

func decodeCounters(b, key []byte) (counters, error) {
	v, err := openCounters(b, key, 4)
	if err != nil {
		return counters{}, err
	}
	return counters{hits: v[0], priority: v[1], tick: v[2], used: int64(v[3])}, nil
}

func (a age) encode(key []byte) []byte { return sealCounters(key, a.clock, a.tick) }

func decodeAge(b, key []byte) (age, error) {
	v, err := openCounters(b, key, 2)
	if err != nil {
		return age{}, err
	}
	return age{clock: v[0], tick: v[1]}, nil
}

// sealCounters writes numbers between a version and a checksum that covers the key.
func sealCounters(key []byte, vs ...uint64) []byte {
	b := append(make([]byte, 0, 1+8*len(vs)+4), oneVersion)
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return binary.LittleEndian.AppendUint32(b, checksum(key, b))
}

func openCounters(b, key []byte, n int) ([]uint64, error) {
	if len(b) != 1+8*n+4 || b[0] != oneVersion {
		return nil, errors.New("not counters of version 1")
	}
	body := b[:len(b)-4]
	if checksum(key, body) != binary.LittleEndian.Uint32(b[len(body):]) {
		return nil, errors.New("the counters do not match their checksum")
	}
	vs := make([]uint64, n)
	for i := range vs {
		vs[i] = binary.LittleEndian.Uint64(b[1+8*i:])
	}
	return vs, nil
}

func checksum(key, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, b)
}
