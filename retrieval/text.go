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
	// textFormat changes with the fields, the terms and the state: an index of
	// another format is built anew.
	textFormat = 1

	fieldHead    = "head"
	fieldBody    = "body"
	fieldVersion = "version"
	// always stands in both fields of every chunk. Its postings tell how long
	// the fields are.
	always = "\x00"
)

// stateKey is where bleve keeps our state beside its own. It is written in one
// batch with what it speaks of.
var stateKey = []byte("percached")

// errDamaged says that an index cannot be used as it lies on disk.
var errDamaged = errors.New("the index is damaged")

// text is the index of words of one space: bleve's scorch, used without bleve's
// own front, which starts goroutines that never end and scores otherwise.
type text struct {
	dir string
	seq atomic.Uint64 // what the index has caught up with
	i   index.Index
	// frozen: only to be read, as the disk is full.
	frozen bool

	mu      sync.Mutex // guards the measures
	of      index.IndexReader
	measure measures
	scratch sync.Pool // of *scores
}

// openText opens the index in dir, which is made if there is none. What is
// damaged or of another format is errDamaged. A frozen one is not written to,
// not even by bleve in the background.
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
		if errors.Is(err, os.ErrPermission) { // building anew would not help
			return nil, fault.New(fault.Unavailable, "retrieval.open", "%w", err)
		}
		return nil, fmt.Errorf("%w: %w", errDamaged, err)
	}
	return t, nil
}

// emptyText is a new index in dir; what lay there is gone.
func emptyText(dir string, queue *index.AnalysisQueue) (*text, error) {
	if err := remove(dir); err != nil {
		return nil, err
	}
	return openText(dir, queue, false)
}

const stateBytes = 8 + 4

// rules name how terms are cut: by this code, and by Go's tables of Unicode.
func rules() []byte {
	sum := crc32.ChecksumIEEE(fmt.Appendf(nil, "%d %s %s", textFormat, unicode.Version, norm.Version))
	return binary.BigEndian.AppendUint32(nil, sum)
}

// readState refuses an index that holds chunks and does not say that it is
// ours and goes by the same rules.
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
	return errors.New("other format")
}

// close seals the index, if it closed well.
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

// read runs fn over an unchanging view of the index.
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

// write puts chunks in, takes others out, and returns when that is on disk. A
// seq that is not 0 says what the index has then caught up with.
func (t *text) write(chunks []percached.Chunk, gone []percached.ChunkID, seq uint64) error {
	b := index.NewBatch()
	for _, id := range gone {
		b.Delete(string(id[:]))
	}
	for i := range chunks {
		b.Update(entry(&chunks[i]))
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

// settle waits until bleve has merged what it wants to merge and written all of
// it. What it cannot write it tries again without end and without a pause, so
// nothing is left to it that nobody waits for: the caller must close the index
// when settle fails.
func (t *text) settle(ctx context.Context) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		m := t.i.StatsMap()
		number := func(key string) uint64 { n, _ := m[key].(uint64); return n }
		if n := number("TotPersistLoopErr") + number("TotFileMergeLoopErr"); n > 0 {
			return errors.New("bleve cannot write")
		}
		root := number("CurRootEpoch")
		if number("LastPersistedEpoch") == root && number("LastMergedEpoch") == root {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil // it is as durable as it must be
		}
	}
}

// entry is a chunk as bleve gets it: of the text only terms are kept.
func entry(c *percached.Chunk) *document.Document {
	d := document.NewDocument(string(c.ID[:]))
	d.AddField(document.NewTextFieldCustom(fieldHead, nil, []byte(c.Head), index.IndexField, analyser{}))
	d.AddField(document.NewTextFieldCustom(fieldBody, nil, []byte(c.Body), index.IndexField, analyser{}))
	d.AddField(document.NewTextFieldCustom(fieldVersion, nil, binary.BigEndian.AppendUint64(nil, c.Version), index.StoreField, nil))
	return d
}

// version reads the version of a chunk that the index holds.
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

// analyser hands the terms of a text to bleve.
type analyser struct{}

// Analyze is what bleve calls.
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

// guarded makes an error of what bleve panics about in broken files, and of a
// pointer that leads out of them.
func guarded(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: bleve: %v", errDamaged, p)
		}
	}()
	return fn()
}
