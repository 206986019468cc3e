package predictor_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/predictor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// library is a knowledge bank of a few spaces. Its chunk function can be replaced to make
// it fail.
type library struct {
	mu     sync.RWMutex
	spaces map[string]*spaceOf
	failed func(id percached.ChunkID) error // may be nil
	paging error                            // returned with each page of documents
}

type spaceOf struct {
	kind      string
	seq       uint64
	documents map[percached.DocumentID]percached.Document
	chunks    map[percached.ChunkID]percached.Chunk
	sorted    []percached.Document // documents for benchmarks
}

func (l *library) create(name, kind string) {
	l.spaces[name] = &spaceOf{
		kind: kind, documents: map[percached.DocumentID]percached.Document{}, chunks: map[percached.ChunkID]percached.Chunk{},
	}
}

// add adds a document and returns its chunks.
func (l *library) add(space, title string, date, added time.Time, bodies ...string) []percached.ChunkID {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.spaces[space]
	s.seq++
	d := percached.Document{ID: percached.NewDocumentID(title), Title: title, Date: date, Added: added}
	for _, b := range bodies {
		c := percached.Chunk{Version: s.seq, Head: "### " + title + " (mail)", Body: b}
		c.ID = percached.NewChunkID(c.Rendered())
		if was, ok := s.chunks[c.ID]; ok {
			c = was
		}
		if !slices.Contains(c.Documents, d.ID) {
			c.Documents = append(slices.Clone(c.Documents), d.ID)
		}
		s.chunks[c.ID] = c
		d.Chunks = append(d.Chunks, c.ID)
	}
	s.documents[d.ID] = d
	return d.Chunks
}

// drop deletes a document and returns the chunks deleted with it.
func (l *library) drop(space, title string) (gone []percached.ChunkID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.spaces[space]
	id := percached.NewDocumentID(title)
	for _, c := range s.documents[id].Chunks {
		k := s.chunks[c]
		k.Documents = slices.DeleteFunc(slices.Clone(k.Documents), func(d percached.DocumentID) bool { return d == id })
		if s.chunks[c] = k; len(k.Documents) == 0 {
			delete(s.chunks, c)
			gone = append(gone, c)
		}
	}
	delete(s.documents, id)
	return gone
}

func (l *library) Space(name string) (percached.Space, error) {
	if s := l.spaces[name]; s != nil {
		return percached.Space{Name: name, Kind: s.kind}, nil
	}
	return percached.Space{}, fault.New(fault.NotFound, "library", "there is no space %q", name)
}

func (l *library) Documents(space string, after percached.DocumentID, limit int) ([]percached.Document, error) {
	if _, err := l.Space(space); err != nil {
		return nil, err
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if sorted := l.spaces[space].sorted; sorted != nil {
		at, there := slices.BinarySearchFunc(sorted, after, func(d percached.Document, id percached.DocumentID) int { return bytes.Compare(d.ID[:], id[:]) })
		if there {
			at++
		}
		return sorted[at:min(at+limit, len(sorted))], l.paging
	}
	var out []percached.Document
	for _, d := range l.spaces[space].documents {
		if after == (percached.DocumentID{}) || bytes.Compare(d.ID[:], after[:]) > 0 {
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b percached.Document) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return out[:min(len(out), limit)], l.paging
}

func (l *library) Chunks(space string, ids []percached.ChunkID) ([]percached.Chunk, error) {
	if _, err := l.Space(space); err != nil {
		return nil, err
	}
	var out []percached.Chunk
	var bad error
	for _, id := range ids {
		if l.failed != nil {
			if err := l.failed(id); err != nil {
				bad = cmp.Or(bad, err)
				continue
			}
		}
		l.mu.RLock()
		c, ok := l.spaces[space].chunks[id]
		l.mu.RUnlock()
		if ok {
			out = append(out, c)
		}
	}
	return out, bad
}

// checks answers for the bank and the index.
type checks struct {
	known, supported func(question string) (bool, error)
}

func (c *checks) Known(_ context.Context, _, q string) (bool, error)     { return c.known(q) }
func (c *checks) Supported(_ context.Context, _, q string) (bool, error) { return c.supported(q) }

// world is a predictor over a real database, a scripted engine, and a library.
type world struct {
	*predictor.Predictor
	t       testing.TB
	dir     string
	db      *kv.DB
	lib     *library
	check   *checks
	o       predictor.Options
	now     time.Time
	say     func(prompt string) string
	asked   func() ([]predictor.Asked, error)
	prompts []string // received by the engine
	told    []error  // damage
}

func start(t testing.TB) *world {
	t.Helper()
	w := &world{
		t: t, dir: t.TempDir(), now: time.Date(2025, 6, 2, 9, 0, 0, 0, time.UTC), say: echo,
		lib: &library{spaces: map[string]*spaceOf{}},
		check: &checks{
			known:     func(string) (bool, error) { return false, nil },
			supported: func(string) (bool, error) { return true, nil },
		},
	}
	w.lib.create("mail", "emails")
	eo := llmtest.DefaultOptions()
	eo.Context = 1 << 14
	eo.Script = func(p percached.Prompt, question string) (string, bool) {
		prompt := ""
		for _, s := range p.Segments[:len(p.Segments)-1] {
			for _, t := range s.Texts {
				prompt += t.Text
			}
		}
		prompt += question
		w.prompts = append(w.prompts, prompt)
		return w.say(prompt), true
	}
	e := llmtest.NewFake(eo)
	t.Cleanup(func() { e.Close() })
	w.o = predictor.Default()
	w.o.Knowledge, w.o.Engine, w.o.Check = w.lib, e, w.check
	w.o.SummaryTokens, w.o.QuestionTokens = 1000, 1000
	w.o.Now = func() time.Time { return w.now }
	w.asked = func() ([]predictor.Asked, error) { return nil, nil }
	w.o.Asked = func(string) ([]predictor.Asked, error) { return w.asked() }
	w.o.Observer.Damaged = func(err error) { w.told = append(w.told, err) }
	w.open()
	t.Cleanup(func() { w.db.Close() })
	return w
}

func (w *world) open() {
	w.t.Helper()
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 4<<20, 0
	var err error
	if w.db, err = kv.Open(w.dir, o); err != nil {
		w.t.Fatal(err)
	}
	w.o.DB = w.db
	if w.Predictor, err = predictor.Open(w.o); err != nil {
		w.t.Fatal(err)
	}
}

// reopen closes the database and opens it again; lost skips the predictor's final flush,
// as in a crash.
func (w *world) reopen(lost bool) {
	w.t.Helper()
	if !lost {
		w.must(w.Predictor.Close())
	}
	w.must(w.db.Close())
	w.open()
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// add adds a mail of this many days ago.
func (w *world) add(title string, days int, bodies ...string) []percached.ChunkID {
	return w.lib.add("mail", title, w.now.AddDate(0, 0, -days), w.now, bodies...)
}

// fromHistory predicts from these questions.
func (w *world) fromHistory(ctx context.Context, space string, asked []predictor.Asked, stride int) (predictor.Round, error) {
	w.asked = func() ([]predictor.Asked, error) { return asked, nil }
	return w.FromHistory(ctx, space, stride)
}

// waiting counts the unused parts.
func (w *world) waiting() int {
	w.t.Helper()
	s, err := w.Stats("mail")
	w.must(err)
	return s.Waiting
}

// summarise summarises everything due.
func (w *world) summarise() {
	w.t.Helper()
	for range 1000 {
		ids, _, err := w.Unsummarised(w.t.Context(), "mail", 7)
		w.must(err)
		if len(ids) == 0 {
			return
		}
		for _, id := range ids {
			if _, err := w.Summarise(w.t.Context(), "mail", id); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	w.t.Fatal("there is always more to sum up")
}

func (w *world) predict(stride int) predictor.Round {
	w.t.Helper()
	r, err := w.FromKnowledge(w.t.Context(), "mail", stride)
	w.must(err)
	return r
}

func (w *world) questions() []string {
	w.t.Helper()
	all, err := w.Predictions("mail")
	w.must(err)
	out := []string{}
	for _, p := range all {
		out = append(out, p.Question)
	}
	slices.Sort(out)
	return out
}

func (w *world) stats() predictor.Stats {
	w.t.Helper()
	s, err := w.Stats("mail")
	w.must(err)
	return s
}

// echo summarises a text in its own words, and asks once about each part of an abstract
// and each question of a history.
func echo(prompt string) string {
	if text, ok := between(prompt, "key concepts: ", ". Focus only"); ok {
		return text + "."
	}
	var list []string
	if text, ok := between(prompt, "abstract of the content: ", ". Think about"); ok {
		list = strings.Split(text, "; ")
	} else if text, ok := between(prompt, "query history: ", ". Generate another"); ok {
		for q := range strings.SplitAfterSeq(text, "? ") {
			list = append(list, "more: "+strings.Trim(q, "? "))
		}
	}
	for i, about := range list {
		list[i] = fmt.Sprintf("%d. What of %s?", i+1, about)
	}
	return strings.Join(list, "; ")
}

func between(s, before, behind string) (string, bool) {
	_, s, ok := strings.Cut(s, before)
	if !ok {
		return "", false
	}
	s, _, ok = strings.Cut(s, behind)
	return s, ok
}
