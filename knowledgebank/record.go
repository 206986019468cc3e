package knowledgebank

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"time"

	"github.com/percached/percached"
)

// ErrDamaged says that a stored record cannot be read as it was written.
var ErrDamaged = errors.New("the stored record is damaged")

// ErrNewer says that a stored record was written by a later percached.
var ErrNewer = errors.New("the stored record is of a newer format")

const format = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal makes a value: the format, the payload, and a checksum of the key and both.
func seal(key, payload []byte) []byte {
	v := make([]byte, 0, 1+len(payload)+4)
	v = append(append(v, format), payload...)
	return binary.LittleEndian.AppendUint32(v, crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, v))
}

// unseal gives a value's payload.
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

// spaceRecord is the record of a space. It is never changed: a change makes another.
type spaceRecord struct {
	Live            bool
	Secret          bool   // it has public ids, whose secret is a record of its own
	Seq             uint64 // goes on where it was when a space is made again
	Trimmed         uint64 // up to here tombstones are gone
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
		settings = []byte("{}") // it holds nothing that JSON does not
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

// pageIDs is how many of a document's chunks stand in one record.
const pageIDs = 1000

// documentRecord is a document's record; those of its chunks that find no room
// in it stand in pages.
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

// appendTime keeps the zone's offset: dates are shown as their writer saw them.
func appendTime(b []byte, t time.Time) []byte {
	if t.IsZero() {
		return append(b, 0)
	}
	_, offset := t.Zone()
	b = binary.AppendVarint(append(b, 1), t.Unix())
	b = binary.AppendUvarint(b, uint64(t.Nanosecond()))
	return binary.AppendVarint(b, int64(offset))
}
