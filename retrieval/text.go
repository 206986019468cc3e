package retrieval

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/document"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	"golang.org/x/text/unicode/norm"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

const (
	// textFormat changes with the fields, the terms and the state. An index of another
	// format is rebuilt.
	textFormat = 1

	fieldHead    = "head"
	fieldBody    = "body"
	fieldVersion = "version"
	// always is a term in both fields of every chunk. Its postings give the lengths of
	// the fields.
	always = "\x00"
)

// stateKey is where bleve keeps our state. It is written in one batch with the chunks
// that it describes.
var stateKey = []byte("percached")

// errDamaged means that the files of an index are unusable.
var errDamaged = errors.New("the index is damaged")

// text is the index of words of one space: bleve's scorch, used without bleve's own
// front.
type text struct {
	dir string
	seq atomic.Uint64 // the seq that the index has caught up with
	i   index.Index
	// frozen: open for reading only, as the disk is full.
	frozen bool

	mu      sync.Mutex // guards the measures
	of      index.IndexReader
	measure measures
	scratch sync.Pool // of *scores
}

// openText opens the index in dir and makes one if there is none. It returns errDamaged
// for a damaged index or another format. Nothing writes to a frozen index, not even
// bleve in the background.
func openText(dir string, queue *index.AnalysisQueue, frozen bool) (t *text, err error) {
	if err := checkFiles(dir); err != nil {
		return nil, err
	}
	if !frozen {
		if err := unseal(dir); err != nil {
			return nil, err
		}
	}
	err = guarded(func() error {
		i, err := scorch.NewScorch(scorch.Name, map[string]any{"path": dir, "bolt_timeout": "2s", "read_only": frozen}, queue)
		if err != nil {
			return err
		}
		if err := i.Open(); err != nil {
			return err
		}
		t = &text{dir: dir, i: i, frozen: frozen}
		return t.readState()
	})
	if err != nil {
		if t != nil {
			_ = t.close()
		}
		if errors.Is(err, os.ErrPermission) { // rebuilding would not help
			return nil, fault.New(fault.Unavailable, "retrieval.open", "%w", err)
		}
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return t, nil
}

// emptyText makes a new index in dir and deletes what was there.
func emptyText(dir string, queue *index.AnalysisQueue) (*text, error) {
	if err := remove(dir); err != nil {
		return nil, err
	}
	return openText(dir, queue, false)
}

const stateBytes = 8 + 4

// rules identify how terms are cut: by this code, and by Go's tables of Unicode.
func rules() []byte {
	sum := crc32.ChecksumIEEE(fmt.Appendf(nil, "%d %s %s", textFormat, unicode.Version, norm.Version))
	return binary.BigEndian.AppendUint32(nil, sum)
}

// readState refuses an index that holds chunks and lacks our state or was cut by other
// rules.
func (t *text) readState() error {
	r, err := t.i.Reader()
	if err != nil {
		return err
	}
	defer r.Close()
	n, err := r.DocCount()
	if err != nil {
		return err
	}
	state, err := r.GetInternal(stateKey)
	switch {
	case err != nil:
		return err
	case len(state) == stateBytes && bytes.Equal(state[8:], rules()):
		t.seq.Store(binary.BigEndian.Uint64(state))
		return nil
	case len(state) == 0 && n == 0:
		return nil
	}
	return errors.New("unknown format")
}

// close closes the index and seals it.
func (t *text) close() error {
	if err := guarded(t.i.Close); err != nil || t.frozen {
		return err
	}
	return seal(t.dir)
}

// chunkCount is how many chunks can be found.
func (t *text) chunkCount() (n int, err error) {
	err = t.read(func(r index.IndexReader) error {
		count, err := r.DocCount()
		n = int(count)
		return err
	})
	return n, err
}

// read runs fn over a snapshot of the index.
func (t *text) read(fn func(r index.IndexReader) error) error {
	return guarded(func() error {
		r, err := t.i.Reader()
		if err != nil {
			return err
		}
		defer r.Close()
		return fn(r)
	})
}

// write adds and removes chunks, and returns when that is on disk. If seq is not 0, the
// index has then caught up with it.
func (t *text) write(chunks []percached.Chunk, gone []percached.ChunkID, seq uint64) error {
	b := index.NewBatch()
	for _, id := range gone {
		b.Delete(string(id[:]))
	}
	for i := range chunks {
		b.Update(bleveDocument(&chunks[i]))
	}
	if seq > 0 {
		b.SetInternal(stateKey, append(binary.BigEndian.AppendUint64(nil, seq), rules()...))
	}
	if err := guarded(func() error { return t.i.Batch(b) }); err != nil {
		return err
	}
	if seq > 0 {
		t.seq.Store(seq)
	}
	return nil
}

// settle waits until bleve has merged and written everything. Bleve retries a failed
// write forever and without a pause, so nothing may be left to it. If settle fails, the
// caller must close the index.
func (t *text) settle(ctx context.Context) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		m := t.i.StatsMap()
		number := func(key string) uint64 { n, _ := m[key].(uint64); return n }
		if n := number("TotPersistLoopErr") + number("TotFileMergeLoopErr"); n > 0 {
			return errors.New("bleve cannot write its files")
		}
		root := number("CurRootEpoch")
		if number("LastPersistedEpoch") == root && number("LastMergedEpoch") == root {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil // it is already durable
		}
	}
}

// bleveDocument is a chunk as bleve gets it: terms, without the text.
func bleveDocument(c *percached.Chunk) *document.Document {
	d := document.NewDocument(string(c.ID[:]))
	d.AddField(document.NewTextFieldCustom(fieldHead, nil, []byte(c.Head), index.IndexField, analyser{}))
	d.AddField(document.NewTextFieldCustom(fieldBody, nil, []byte(c.Body), index.IndexField, analyser{}))
	d.AddField(document.NewTextFieldCustom(fieldVersion, nil, binary.BigEndian.AppendUint64(nil, c.Version), index.StoreField, nil))
	return d
}

// version is the version of a chunk in the index.
func version(r index.IndexReader, id string) (uint64, error) {
	d, err := r.Document(id)
	if err != nil || d == nil {
		return 0, err
	}
	var v uint64
	d.VisitFields(func(f index.Field) {
		if b := f.Value(); f.Name() == fieldVersion && len(b) == 8 {
			v = binary.BigEndian.Uint64(b)
		}
	})
	return v, nil
}

// analyser passes the terms of a text to bleve.
type analyser struct{}

// Analyze implements bleve's interface.
func (analyser) Analyze(b []byte) analysis.TokenStream {
	tokens := make([]analysis.Token, 1, len(b)/4+2)
	tokens[0].Term = []byte(always)
	eachTerm(string(b), func(term string, _ kind) {
		tokens = append(tokens, analysis.Token{Term: []byte(term)})
	})
	out := make(analysis.TokenStream, len(tokens))
	for i := range tokens {
		out[i] = &tokens[i]
	}
	return out
}

// guarded turns panics of bleve over broken files, and pointers that lead out of them,
// into errors.
func guarded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: bleve: %v", errDamaged, p)
		}
	}()
	return fn()
}
