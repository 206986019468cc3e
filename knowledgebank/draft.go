package knowledgebank

import (
	"maps"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// draft is a change of a space in preparation: its writes lie over what is stored. It
// reads without conflicts, because the caller holds the space for writing.
type draft struct {
	id        spaceID
	tx        *kv.Tx
	space     spaceRecord
	writes    map[string][]byte // nil: delete the key
	bytes     int
	sumsWrong bool // a damaged record was met, so the space's sums may be wrong
}

func newDraft(id spaceID, tx *kv.Tx, r *spaceRecord) *draft {
	return &draft{id: id, tx: tx, space: *r, writes: map[string][]byte{}}
}

// set writes a record.
func (d *draft) set(key, payload []byte) {
	d.writes[string(key)] = seal(key, payload)
	d.bytes += len(key) + len(payload)
}

func (d *draft) delete(key []byte) {
	d.writes[string(key)] = nil
	d.bytes += len(key)
}

func (d *draft) read(key []byte) ([]byte, error) {
	if v, ok := d.writes[string(key)]; ok {
		if v == nil {
			return nil, fault.New(fault.NotFound, "knowledgebank.draft", "the key is gone")
		}
		return unseal(key, v)
	}
	return read(d.tx, key)
}

// keys returns the last n bytes of every key of a type.
func (d *draft) keys(typ byte, n int) (names []string, err error) {
	found := map[string]bool{}
	prefix := d.id.key(typ)
	err = d.tx.Keys(prefix, func(key []byte, _ int64) error {
		found[string(key)] = true
		return nil
	})
	for key, value := range d.writes {
		if len(key) >= len(prefix) && key[:len(prefix)] == string(prefix) {
			found[key] = value != nil
		}
	}
	for key, there := range found {
		if there && len(key) == len(prefix)+n {
			names = append(names, key[len(prefix):])
		}
	}
	slices.Sort(names)
	return names, err
}

// all returns the draft's writes, with the space's record.
func (d *draft) all() []write {
	key := d.id.key(spaceType)
	d.set(key, d.space.encode())
	writes := make([]write, 0, len(d.writes))
	for _, k := range slices.Sorted(maps.Keys(d.writes)) {
		writes = append(writes, write{key: []byte(k), value: d.writes[k]})
	}
	return writes
}

func (d *draft) document(id percached.DocumentID) (*documentRecord, error) {
	return readDocument(d.read, d.id, id)
}

// readDocument reads a document's record and its pages.
func readDocument(read func(key []byte) ([]byte, error), space spaceID, id percached.DocumentID) (*documentRecord, error) {
	payload, err := read(space.document(id))
	if err != nil {
		return nil, err
	}
	r, err := decodeDocument(id, payload)
	if err != nil {
		return nil, err
	}
	for n := 0; len(r.Chunks) < r.Count; n++ {
		payload, err := read(space.page(id, n))
		if fault.KindOf(err) == fault.NotFound {
			err = ErrDamaged
		}
		if err != nil {
			return nil, err
		}
		ids, err := decodePage(payload, min(pageIDs, r.Count-len(r.Chunks)))
		if err != nil {
			return nil, err
		}
		r.Chunks = append(r.Chunks, ids...)
	}
	return r, nil
}

// setDocument writes a document's record, and pages for the chunks that do not fit into
// it.
func (d *draft) setDocument(doc *percached.Document) {
	d.set(d.id.document(doc.ID), encodeDocument(doc))
	for n := 0; (n+1)*pageIDs < len(doc.Chunks); n++ {
		page := doc.Chunks[(n+1)*pageIDs:]
		d.set(d.id.page(doc.ID, n), appendIDs(nil, page[:min(pageIDs, len(page))]))
	}
}

// dropPages removes the pages of a document that has count chunks.
func (d *draft) dropPages(id percached.DocumentID, count int) {
	for n := 0; (n+1)*pageIDs < count; n++ {
		d.delete(d.id.page(id, n))
	}
}

func (d *draft) chunk(id percached.ChunkID) (*percached.Chunk, error) {
	payload, err := d.read(d.id.chunk(id))
	if err != nil {
		return nil, err
	}
	return decodeChunk(id, payload)
}

func (d *draft) setChunk(c *percached.Chunk) { d.set(d.id.chunk(c.ID), encodeChunk(c)) }

// recount counts the space's sums again, from what can be read.
func (d *draft) recount() error {
	documents, err := d.keys(documentType, 16)
	if err != nil {
		return err
	}
	chunks, err := d.keys(chunkType, 16)
	if err != nil {
		return err
	}
	d.space.Documents, d.space.Chunks, d.space.Words = int64(len(documents)), int64(len(chunks)), 0
	for _, name := range documents {
		r, err := d.document(percached.DocumentID([]byte(name)))
		switch {
		case err == nil:
			d.space.Words += int64(r.Words)
		case !damaged(err):
			return err
		}
	}
	d.sumsWrong = false
	return nil
}

// held returns the chunks of a document with a damaged record: those that name it.
func (d *draft) held(doc percached.DocumentID) ([]percached.ChunkID, error) {
	d.sumsWrong = true
	names, err := d.keys(chunkType, 16)
	if err != nil {
		return nil, err
	}
	var held []percached.ChunkID
	for _, name := range names {
		c, err := d.chunk(percached.ChunkID([]byte(name)))
		switch {
		case err == nil && slices.Contains(c.Documents, doc):
			held = append(held, c.ID)
		case err != nil && !damaged(err):
			return nil, err
		}
	}
	return held, nil
}

// holders returns the documents of a chunk with a damaged record: those that list it.
func (d *draft) holders(chunk percached.ChunkID) ([]percached.DocumentID, error) {
	d.sumsWrong = true
	names, err := d.keys(documentType, 16)
	if err != nil {
		return nil, err
	}
	var holders []percached.DocumentID
	for _, name := range names {
		r, err := d.document(percached.DocumentID([]byte(name)))
		switch {
		case err == nil && slices.Contains(r.Chunks, chunk):
			holders = append(holders, r.ID)
		case err != nil && !damaged(err):
			return nil, err
		}
	}
	return holders, nil
}

// unlistChunk removes a chunk with a damaged record from the list of existing chunks,
// whatever its version was.
func (d *draft) unlistChunk(chunk percached.ChunkID) error {
	names, err := d.keys(liveType, 8+16)
	for _, name := range names {
		if name[8:] == string(chunk[:]) {
			d.delete(d.id.key(liveType, []byte(name)))
		}
	}
	return err
}
