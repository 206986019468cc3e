package percached

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
)

// Planes is which tensors a slice holds.
type Planes uint8

// The possible contents. Restoring needs only KV.
const (
	KV  Planes = iota // keys and values
	QKV               // and queries, after rotation
)

func (p Planes) String() string { return nameOf([]string{"kv", "qkv"}, int(p)) }

// MarshalText returns the planes' name.
func (p Planes) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses the planes' name.
func (p *Planes) UnmarshalText(b []byte) error {
	for _, known := range []Planes{KV, QKV} {
		if string(b) == known.String() {
			*p = known
			return nil
		}
	}
	return fmt.Errorf("planes are kv or qkv, not %q", b)
}

// Form is how a slice holds its keys and values.
type Form uint8

// The forms, most exact first. Only the first restores the bits that were computed: with
// another one an answer may differ from the one without stored tensors.
const (
	Exact Form = iota // as the engine computed them, F16 unless it is set otherwise
	Q8                // 8 bits a number
	Q4                // 4 bits a number
)

// Forms lists all forms, most exact first.
func Forms() []Form { return []Form{Exact, Q8, Q4} }

func (f Form) String() string { return nameOf([]string{"exact", "q8", "q4"}, int(f)) }

// MarshalText returns the form's name.
func (f Form) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText parses the form's name.
func (f *Form) UnmarshalText(b []byte) error {
	for _, known := range Forms() {
		if string(b) == known.String() {
			*f = known
			return nil
		}
	}
	return fmt.Errorf("a form is exact, q8 or q4, not %q", b)
}

// Path identifies a segment after all earlier ones: the chained hash of the token ids of
// every segment from the root. The zero Path precedes the root.
type Path [sha256.Size]byte

// Child is the path of a segment with these tokens after p.
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

// Slice holds the attention tensors of one segment, valid after exactly one path of
// earlier segments, for one model fingerprint.
type Slice struct {
	Model  string // fingerprint of everything that affects the tensors
	Path   Path   // including this segment
	Start  int    // position of the first token
	Tokens []int32
	Planes Planes
	Form   Form    // of keys and values; queries are always exact
	Pieces []Piece // token ranges in order, without gaps
}

// Piece is a token range of a slice that can be restored on its own. Its bytes have the
// engine's format and may be memory that the caller only lends: an engine neither keeps
// nor changes them.
type Piece struct {
	From, To int    // tokens [From, To) of the slice
	KV       []byte // keys and values
	Q        []byte // queries, for Planes QKV
	Sum      uint32 // Checksum
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

// SliceError refuses a slice before anything is computed. The caller drops the slice and
// retries without it.
type SliceError struct {
	Segment int    // index of the segment in the prompt
	Reason  string // what is wrong with it
}

func (e *SliceError) Error() string { return "slice refused: " + e.Reason }
