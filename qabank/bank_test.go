package qabank_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qabank"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a database with a bank that can be reopened.
type bench struct {
	t    testing.TB
	dir  string
	o    qabank.Options
	now  time.Time
	db   *kv.DB
	bank *qabank.Bank
}

func start(t testing.TB, limit int64) *bench {
	b := &bench{t: t, dir: t.TempDir(), now: time.Date(2025, 6, 2, 9, 0, 0, 0, time.UTC)}
	b.o = qabank.Options{Limit: limit, Now: func() time.Time { return b.now }}
	b.open()
	t.Cleanup(func() { b.db.Close() })
	return b
}

func (b *bench) open() {
	b.t.Helper()
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 4<<20, 0
	var err error
	if b.db, err = kv.Open(b.dir, o); err != nil {
		b.t.Fatal(err)
	}
	if b.bank, err = qabank.Open(b.db, b.o); err != nil {
		b.t.Fatal(err)
	}
}

// reopen closes the database and opens it again; lost skips the bank's final flush, as in
// a crash.
func (b *bench) reopen(lost bool) {
	b.t.Helper()
	if !lost {
		b.do(b.bank.Close())
	}
	b.do(b.db.Close())
	b.open()
}

func (b *bench) do(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) put(e qabank.Entry) qabank.ID {
	b.t.Helper()
	id, err := b.bank.Put(context.Background(), e)
	b.do(err)
	return id
}

func (b *bench) get(space string, id qabank.ID) qabank.Entry {
	b.t.Helper()
	e, err := b.bank.Get(space, id)
	b.do(err)
	return e
}

func (b *bench) there(space string, id qabank.ID) bool {
	b.t.Helper()
	_, err := b.bank.Get(space, id)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		b.t.Fatal(err)
	}
	return err == nil
}

// counted compares the counted bytes with the stored ones.
func (b *bench) counted() {
	b.t.Helper()
	var stored int64
	b.do(b.db.View(func(tx *kv.Tx) error {
		for _, kind := range []string{"Qe", "Qc"} {
			if err := tx.Each([]byte(kind), func(k, v []byte) error { stored += int64(len(k) + len(v)); return nil }); err != nil {
				return err
			}
		}
		return nil
	}))
	if got, limit := b.bank.Usage(); got != stored || got > limit {
		b.t.Errorf("%d bytes counted, %d stored, limit %d", got, stored, limit)
	}
}

func chunk(n byte) percached.ChunkID { return percached.ChunkID{n} }

func entry(space, question string, chunks ...byte) qabank.Entry {
	e := qabank.Entry{
		Space: space, Question: question, Answer: "The answer to " + question, Answered: true,
		Vector: unit(question), Embedder: "emb", Seen: 7, Origin: "asked", Settings: "set",
		Made: time.Date(2025, 6, 1, 8, 0, 0, 0, time.UTC),
	}
	for _, c := range chunks {
		e.Evidence = append(e.Evidence, percached.Evidence{Chunk: chunk(c), Version: uint64(c)})
	}
	return e
}

// unit is a vector of length 1 derived from the text.
func unit(text string) []float32 {
	r := rand.New(rand.NewPCG(uint64(len(text)), uint64(text[0])<<8|uint64(text[len(text)-1])))
	v := make([]float32, 16)
	sum := 0.0
	for i := range v {
		v[i] = float32(r.NormFloat64())
		sum += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(sum)
	}
	return v
}

// After a crash everything that Put acknowledged is there, in every field.
func TestPutIsDurable(t *testing.T) {
	b := start(t, 1<<20)
	want := entry("mail", "When is the party?", 1, 2)
	want.Refused, want.Expires = true, b.now.Add(time.Hour)
	want.ID = b.put(want)
	want.Used = want.Made
	b.reopen(true)
	if d := cmp.Diff(want, b.get("mail", want.ID)); d != "" {
		t.Error(d)
	}
	got, ok, err := b.bank.Exact("mail", " when is  the PARTY")
	if !ok || err != nil || cmp.Diff(want, got) != "" {
		t.Errorf("%v %v %+v", ok, err, got)
	}
	for _, other := range []struct{ space, question string }{{"notes", want.Question}, {"mail", "When was the party?"}} {
		if _, ok, err := b.bank.Exact(other.space, other.question); ok || err != nil {
			t.Errorf("%v: found %v, %v", other, ok, err)
		}
	}
	b.counted()
}

// There is one entry for each question; a new answer replaces the old one and keeps the
// hits.
func TestPutReplaces(t *testing.T) {
	b := start(t, 1<<20)
	id := b.put(entry("mail", "When is the party?", 1))
	b.bank.Hit("mail", id)
	b.do(b.bank.MarkStale(context.Background(), "mail", []qabank.ID{id}, "a new chunk"))
	if e := b.get("mail", id); !e.Stale || e.StaleWhy != "a new chunk" {
		t.Errorf("not stale: %+v", e)
	}
	b.counted()
	b.reopen(false)
	if e := b.get("mail", id); !e.Stale {
		t.Error("no longer stale after a restart")
	}
	next := entry("mail", "WHEN is the party", 3)
	next.Answer, next.Seen, next.Vector = "tomorrow", 9, unit("other")
	if again := b.put(next); again != id {
		t.Errorf("another entry %v", again)
	}
	got := b.get("mail", id)
	if got.Answer != "tomorrow" || got.Stale || got.Hits != 1 || got.Seen != 9 || !got.Used.Equal(b.now) {
		t.Errorf("%+v", got)
	}
	if s := b.bank.Stats("mail"); s.Entries != 1 || s.Stale != 0 || s.Hits != 1 {
		t.Errorf("%+v", s)
	}
	if m := b.bank.Match("mail", unit("other"), "emb", 0.99, 5); len(m) != 1 || m[0].ID != id {
		t.Errorf("matches %v", m)
	}
	b.counted()
}

func TestPutRefuses(t *testing.T) {
	b := start(t, 4000)
	b.put(entry("mail", "When?", 1))
	for name, change := range map[string]func(*qabank.Entry){
		"no space":         func(e *qabank.Entry) { e.Space = "" },
		"no question":      func(e *qabank.Entry) { e.Question = " ?! " },
		"no UTF-8":         func(e *qabank.Entry) { e.Answer = "\xff" },
		"no number":        func(e *qabank.Entry) { e.Vector[3] = float32(0) / e.Vector[3] * 0; e.Vector[3] /= e.Vector[3] },
		"no embedder":      func(e *qabank.Entry) { e.Embedder = "" },
		"other dimensions": func(e *qabank.Entry) { e.Vector = e.Vector[:8] },
		"too large":        func(e *qabank.Entry) { e.Answer = strings.Repeat("x", 4000) },
		"far future":       func(e *qabank.Entry) { e.Expires = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		e := entry("mail", "Where?", 1)
		change(&e)
		if _, err := b.bank.Put(context.Background(), e); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := b.bank.Put(cancelled, entry("mail", "Where?", 1)); fault.KindOf(err) != fault.Timeout {
		t.Error(err)
	}
	if s := b.bank.Stats("mail"); s.Entries != 1 {
		t.Errorf("%+v", s)
	}
	b.counted()
}

// Match returns the nearest entries of its space and embedder, in a fixed order.
func TestMatch(t *testing.T) {
	b := start(t, 1<<20)
	vector := func(x, y float32) []float32 { return []float32{x, y, 0} }
	add := func(space, question, emb string, v []float32) qabank.ID {
		e := entry(space, question, 1)
		e.Vector, e.Embedder = v, emb
		return b.put(e)
	}
	far := add("mail", "far", "emb", vector(0, 2))
	near := add("mail", "near", "emb", vector(3, 0.1))
	twin := add("mail", "twin", "emb", vector(6, 0.2))
	mid := add("mail", "mid", "emb", vector(1, 1))
	add("mail", "other embedder", "emb2", vector(1, 0))
	add("notes", "other space", "emb", vector(1, 0))
	e := entry("mail", "no vector", 1)
	e.Vector, e.Embedder = nil, ""
	b.put(e)
	pair := []qabank.ID{near, twin}
	slices.SortFunc(pair, func(x, y qabank.ID) int { return slices.Compare(x[:], y[:]) })
	for range 2 {
		for _, tt := range []struct {
			threshold float64
			n         int
			want      []qabank.ID
		}{
			{-1, 10, append(slices.Clone(pair), mid, far)},
			{0.5, 10, append(slices.Clone(pair), mid)},
			{0.5, 2, pair},
			{0.5, 1, pair[:1]},
			{0.5, 0, nil},
			{1.1, 5, nil},
		} {
			var got []qabank.ID
			last := 2.0
			for _, c := range b.bank.Match("mail", vector(5, 0), "emb", tt.threshold, tt.n) {
				got = append(got, c.ID)
				if c.Similarity > last || c.Similarity < tt.threshold || c.Space != "mail" {
					t.Errorf("%+v", c)
				}
				last = c.Similarity
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("threshold %v, %d: %s", tt.threshold, tt.n, d)
			}
		}
		b.reopen(false)
	}
	if m := b.bank.Match("mail", []float32{1}, "emb", 0, 5); len(m) != 0 {
		t.Error("a vector of another length matched")
	}
	b.do(b.bank.Delete(context.Background(), "mail", pair[0]))
	if m := b.bank.Match("mail", vector(5, 0), "emb", 0.9, 5); len(m) != 1 || m[0].ID != pair[1] {
		t.Errorf("after a delete: %v", m)
	}
}

// A Flush keeps hits and confirmations; a crash loses only the latest.
func TestCounters(t *testing.T) {
	ctx := context.Background()
	b := start(t, 1<<20)
	id := b.put(entry("mail", "When?", 1))
	b.now = b.now.Add(time.Minute)
	b.bank.Hit("mail", id)
	b.bank.Hit("mail", qabank.ID{9})
	b.bank.Hit("nothing", id)
	b.do(b.bank.Confirm(ctx, "mail", id, 12))
	b.do(b.bank.Confirm(ctx, "mail", id, 3)) // older news
	if err := b.bank.Confirm(ctx, "mail", qabank.ID{9}, 1); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	b.do(b.bank.Flush(ctx))
	b.bank.Hit("mail", id)
	b.reopen(true)
	if e := b.get("mail", id); e.Hits != 1 || e.Seen != 12 || !e.Used.Equal(b.now) {
		t.Errorf("%+v", e)
	}
	b.bank.Hit("mail", id)
	b.reopen(false)
	if e := b.get("mail", id); e.Hits != 2 {
		t.Errorf("%+v", e)
	}
	b.counted()
}

// Forget deletes the entries of a chunk and nothing else.
func TestForget(t *testing.T) {
	ctx := context.Background()
	b := start(t, 1<<20)
	a, c, other := b.put(entry("mail", "A?", 1, 2)), b.put(entry("mail", "C?", 3)), b.put(entry("notes", "A?", 1))
	n, err := b.bank.Outdate(ctx, "mail", []percached.ChunkID{chunk(3), chunk(9)})
	if e := b.get("mail", c); n != 1 || err != nil || !e.Stale {
		t.Errorf("outdated %d, %v, %+v", n, err, e)
	}
	n, err = b.bank.Forget(ctx, "mail", []percached.ChunkID{chunk(2)})
	if n != 1 || err != nil {
		t.Errorf("forgot %d, %v", n, err)
	}
	for range 2 {
		if b.there("mail", a) || !b.there("mail", c) || !b.there("notes", other) {
			t.Error("wrong entries went")
		}
		if m := b.bank.Match("mail", unit("A?"), "emb", 0.99, 5); len(m) != 0 {
			t.Errorf("still matches: %v", m)
		}
		b.counted()
		b.reopen(true)
	}
	if n, err := b.bank.Forget(ctx, "nowhere", []percached.ChunkID{chunk(2)}); n != 0 || err != nil {
		t.Error(n, err)
	}
	if n, err := b.bank.DropSpace(ctx, "mail"); n != 1 || err != nil {
		t.Error(n, err)
	}
	b.reopen(true)
	if b.there("mail", c) || !b.there("notes", other) {
		t.Error("wrong space went")
	}
	b.counted()
}

func TestEach(t *testing.T) {
	b := start(t, 1<<20)
	want := map[string]bool{}
	for i := range 20 {
		q := fmt.Sprintf("Question %d?", i)
		want[q] = true
		b.put(entry("mail", q, 1))
	}
	b.put(entry("notes", "Not this?", 1))
	got := map[string]bool{}
	var last qabank.ID
	b.do(b.bank.Each("mail", func(e qabank.Entry) error {
		if slices.Compare(last[:], e.ID[:]) >= 0 {
			t.Error("not by ID")
		}
		last, got[e.Question] = e.ID, true
		return nil
	}))
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	enough := errors.New("enough")
	if err := b.bank.Each("mail", func(qabank.Entry) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
}
