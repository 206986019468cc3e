package knowledgebank

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"math"
	"time"

	"github.com/percached/percached"
)

// ErrDamaged means that a stored record cannot be read as it was written.
var ErrDamaged = errors.New("the stored record is damaged")

// ErrNewer means that a later percached wrote a stored record.
var ErrNewer = errors.New("the stored record is of a newer format")

const format = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal makes a value: the format, the payload, and a checksum of the key and both.
func seal(key, payload []byte) []byte {
	v := make([]byte, 0, 1+len(payload)+4)
	v = append(append(v, format), payload...)
	return binary.LittleEndian.AppendUint32(v, crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, v))
}

// unseal returns a value's payload.
func unseal(key, value []byte) ([]byte, error) {
	n := len(value) - 4
	if n < 1 || crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, value[:n]) != binary.LittleEndian.Uint32(value[n:]) {
		return nil, ErrDamaged
	}
	if value[0] > format {
		return nil, ErrNewer
	}
	return value[1:n], nil
}

// spaceRecord is the record of a space. It is immutable: a change makes another.
type spaceRecord struct {
	Live            bool
	Secret          bool   // it has public ids, with a secret in a record of its own
	Seq             uint64 // continues when a space is created again
	Trimmed         uint64 // tombstones up to here are removed
	Documents       int64
	Chunks, Words   int64
	percached.Space // empty unless live

	ids percached.PublicIDs
}

func (s *spaceRecord) encode() []byte {
	b := []byte{0}
	if s.Live {
		b[0] = 1
		if s.Secret {
			b[0] = 2
		}
	}
	for _, n := range []uint64{s.Seq, s.Trimmed, uint64(max(0, s.Documents)), uint64(max(0, s.Chunks)), uint64(max(0, s.Words))} {
		b = binary.AppendUvarint(b, n)
	}
	b = appendText(appendText(b, s.Name), s.Kind)
	settings, err := json.Marshal(s.Settings)
	if err != nil {
		settings = []byte("{}") // every value in it can be JSON
	}
	return append(b, settings...)
}

func decodeSpace(payload []byte) (*spaceRecord, error) {
	r := reader{b: payload}
	state := r.byte()
	s := &spaceRecord{Live: state == 1 || state == 2, Secret: state == 2, Seq: r.uvarint(), Trimmed: r.uvarint(), Documents: r.count(), Chunks: r.count(), Words: r.count()}
	s.Name, s.Kind = r.text(), r.text()
	if r.bad || s.Trimmed > s.Seq || json.Unmarshal(r.b, &s.Settings) != nil {
		return nil, ErrDamaged
	}
	return s, nil
}

// pageIDs is how many of a document's chunks are in one record.
const pageIDs = 1000

// documentRecord is a document's record. Chunks that do not fit into it are in pages.
type documentRecord struct {
	percached.Document     // with the first pageIDs chunks at most
	Count              int // of all its chunks
}

func encodeDocument(d *percached.Document) []byte {
	b := appendText(nil, d.Key)
	for _, s := range []string{d.Title, d.Source, d.Format, d.Path} {
		b = appendText(b, s)
	}
	b = appendTime(appendTime(b, d.Date), d.Added)
	b = binary.AppendUvarint(b, uint64(d.Words))
	b = binary.AppendUvarint(b, uint64(len(d.Chunks)))
	return appendIDs(b, d.Chunks[:min(pageIDs, len(d.Chunks))])
}

func decodeDocument(id percached.DocumentID, payload []byte) (*documentRecord, error) {
	r := reader{b: payload}
	d := &documentRecord{}
	d.ID = id
	d.Key, d.Title, d.Source, d.Format, d.Path = r.text(), r.text(), r.text(), r.text(), r.text()
	d.Date, d.Added = r.time(), r.time()
	d.Words, d.Count = int(r.count()), int(r.count())
	if r.bad || d.Count > maxChunks {
		return nil, ErrDamaged
	}
	d.Chunks = r.chunkIDs(min(pageIDs, d.Count))
	if r.bad || len(r.b) > 0 {
		return nil, ErrDamaged
	}
	return d, nil
}

func decodePage(payload []byte, n int) ([]percached.ChunkID, error) {
	r := reader{b: payload}
	ids := r.chunkIDs(n)
	if r.bad || len(r.b) > 0 {
		return nil, ErrDamaged
	}
	return ids, nil
}

func encodeChunk(c *percached.Chunk) []byte {
	b := binary.AppendUvarint(make([]byte, 0, 48+16*len(c.Documents)+len(c.Head)+len(c.Body)), c.Version)
	b = binary.AppendUvarint(b, uint64(len(c.Documents)))
	for _, id := range c.Documents {
		b = append(b, id[:]...)
	}
	return appendText(appendText(b, c.Head), c.Body)
}

func decodeChunk(id percached.ChunkID, payload []byte) (*percached.Chunk, error) {
	r := reader{b: payload}
	c := &percached.Chunk{ID: id, Version: r.uvarint()}
	n := r.count()
	if r.bad || n > int64(len(r.b)/16) {
		return nil, ErrDamaged
	}
	for range n {
		c.Documents = append(c.Documents, percached.DocumentID(r.take(16)))
	}
	c.Head, c.Body = r.text(), r.text()
	if r.bad || len(r.b) > 0 {
		return nil, ErrDamaged
	}
	return c, nil
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendIDs(b []byte, ids []percached.ChunkID) []byte {
	for _, id := range ids {
		b = append(b, id[:]...)
	}
	return b
}

// appendTime keeps the offset of the zone: dates are shown as their writer saw them.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	_, offset := t.Zone()
	b = binary.AppendVarint(append(b, 1), t.Unix())
	b = binary.AppendUvarint(b, uint64(t.Nanosecond()))
	return binary.AppendVarint(b, int64(offset))
}

// reader parses a payload and trusts nothing: after the first error it is bad and
// returns zeros.
type reader struct {
	b   []byte
	bad bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.b) {
		r.bad = true
		return make([]byte, min(max(n, 0), 16))
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.b)
	if r.bad || size <= 0 {
		r.bad = true
		return 0
	}
	r.b = r.b[size:]
	return n
}

// count reads a number of things.
func (r *reader) count() int64 {
	n := r.uvarint()
	if n > math.MaxInt32 {
		r.bad = true
		return 0
	}
	return int64(n)
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.b)) {
		r.bad = true
		return nil
	}
	return r.take(int(n))
}

func (r *reader) text() string { return string(r.bytes()) }

func (r *reader) time() time.Time {
	if r.byte() != 1 {
		return time.Time{}
	}
	sec, nsec, offset := r.varint(), r.uvarint(), r.varint()
	const day = 24 * 60 * 60
	if r.bad || nsec >= 1e9 || offset <= -day || offset >= day {
		r.bad = true
		return time.Time{}
	}
	t := time.Unix(sec, int64(nsec)).UTC()
	if offset != 0 {
		t = t.In(time.FixedZone("", int(offset)))
	}
	return t
}

func (r *reader) chunkIDs(n int) []percached.ChunkID {
	if r.bad || n < 0 || n > len(r.b)/16 {
		r.bad = true
		return nil
	}
	ids := make([]percached.ChunkID, n)
	for i := range ids {
		ids[i] = percached.ChunkID(r.take(16))
	}
	return ids
}
