package percached

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
)

// Planes says which tensors a slice holds.
type Planes uint8

// What a slice can hold. Restoring needs KV alone.
const (
	KV  Planes = iota // keys and values
	QKV               // and queries, after rotation
)

func (p Planes) String() string { return nameOf([]string{"kv", "qkv"}, int(p)) }

// MarshalText writes the planes' name.
func (p Planes) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the planes' name.
func (p *Planes) UnmarshalText(b []byte) error {
	for _, known := range []Planes{KV, QKV} {
		if string(b) == known.String() {
			*p = known
			return nil
		}
	}
	return fmt.Errorf("planes are kv or qkv, not %q", b)
}

// Path names a segment behind all earlier ones: the chained hash of the token
// ids of every segment from the root. The zero Path stands before the root.
type Path [sha256.Size]byte

// Child is the path of a segment with these tokens behind p.
func (p Path) Child(tokens []int32) Path {
	b := make([]byte, 0, len(p)+8+4*len(tokens))
	b = append(b, p[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(tokens)))
	for _, t := range tokens {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	return sha256.Sum256(b)
}

func (p Path) String() string { return hex.EncodeToString(p[:8]) }

// Slice is the stored attention tensors of one segment, valid behind exactly
// one path of earlier segments, for one model fingerprint.
type Slice struct {
	Model  string // fingerprint of all that shapes the tensors
	Path   Path   // through this segment
	Start  int    // position of the first token
	Tokens []int32
	Planes Planes
	Pieces []Piece // token ranges in order, none missing
}

// Piece is a token range of a slice that can be restored by itself. Its bytes
// are the engine's own and may be memory that the caller only lends: an engine
// never keeps or changes them.
type Piece struct {
	From, To int    // tokens [From, To) of the slice
	KV       []byte // keys and values
	Q        []byte // queries, under Planes QKV
	Sum      uint32 // Checksum of both
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Checksum is the CRC-32C over the piece's range, keys, values and queries.
func (p *Piece) Checksum() uint32 {
	var head [24]byte
	binary.LittleEndian.PutUint64(head[0:], uint64(p.From))
	binary.LittleEndian.PutUint64(head[8:], uint64(p.To))
	binary.LittleEndian.PutUint64(head[16:], uint64(len(p.KV)))
	sum := crc32.Update(0, castagnoli, head[:])
	sum = crc32.Update(sum, castagnoli, p.KV)
	return crc32.Update(sum, castagnoli, p.Q)
}

// Bytes is the size of the tensors.
func (s *Slice) Bytes() int64 {
	var n int64
	for i := range s.Pieces {
		n += int64(len(s.Pieces[i].KV)) + int64(len(s.Pieces[i].Q))
	}
	return n
}

// SliceError refuses a slice before anything was computed: the caller drops
// the slice and asks again without it.
type SliceError struct {
	Segment int    // index in the prompt
	Reason  string // what is wrong with it
}

func (e *SliceError) Error() string { return "slice refused: " + e.Reason }
