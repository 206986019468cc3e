package memory_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/memory"
	"github.com/percached/percached/internal/memory/fact"
	"github.com/percached/percached/knowledgebank"
)

const space = "life"

// world is a book over a real knowledge bank.
type world struct {
	*testing.T
	db   *kv.DB
	bank *knowledgebank.Bank
	book *memory.Book
	now  time.Time
	fail error // of Store
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, now: time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)}
	var err error
	if w.db, err = kv.Open(t.TempDir()+"/meta", kv.Default()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.db.Close(); err != nil {
			t.Error(err)
		}
	})
	o := knowledgebank.Default()
	o.Now = func() time.Time { return w.now }
	if w.bank, err = knowledgebank.Open(w.db, o); err != nil {
		t.Fatal(err)
	}
	if err := w.bank.CreateSpace(percached.Space{Name: space, Kind: "notes"}); err != nil {
		t.Fatal(err)
	}
	w.open()
	return w
}

func (w *world) open() {
	w.book = memory.New(memory.Options{DB: w.db, Knowledge: w.bank, Now: func() time.Time { return w.now }, Store: func(ctx context.Context, space string, s *knowledgebank.Source) error {
		if w.fail != nil {
			return w.fail
		}
		_, err := w.bank.AddAll(ctx, space, []*knowledgebank.Source{s})
		return err
	}})
}

func (w *world) learn(statements ...string) int {
	w.Helper()
	var said []memory.Statement
	for _, s := range statements {
		said = append(said, memory.Statement{Text: s, Said: w.now})
	}
	n, err := w.book.Learn(w.Context(), space, said)
	if err != nil {
		w.Fatal(err)
	}
	return n
}

// sentences are those of all facts, the latest first.
func (w *world) sentences() (all []string) {
	w.Helper()
	facts, err := w.book.List(space)
	if err != nil {
		w.Fatal(err)
	}
	for _, f := range facts {
		all = append(all, f.Sentence())
	}
	return all
}

func (w *world) want(sentences ...string) {
	w.Helper()
	if d := cmp.Diff(sentences, w.sentences()); d != "" {
		w.Errorf("facts (-want +got):\n%s", d)
	}
}

func TestNewerValueEndsTheOlder(t *testing.T) {
	w := newWorld(t)
	w.want()
	if n := w.learn("I live in Bergen.", "I like tea", "Who leads Heron?"); n != 2 {
		t.Errorf("%d facts are new, want 2", n)
	}
	w.now = w.now.AddDate(0, 2, 0)
	if n := w.learn("I live in Bergen", "I moved to Oslo", "I like coffee"); n != 2 {
		t.Errorf("%d facts are new, want 2: one was known", n)
	}
	facts, err := w.book.List(space)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, f := range facts {
		found[f.Value] = f.Body()
	}
	want := map[string]string{
		"Oslo":   "The user lives in Oslo. (since 2026-05-04; said in a conversation on 2026-05-04)",
		"coffee": "The user likes coffee. (since 2026-05-04; said in a conversation on 2026-05-04)",
		"Bergen": "The user lived in Bergen. (since 2026-03-04; until 2026-05-04; said in a conversation on 2026-03-04)",
		"tea":    "The user likes tea. (since 2026-03-04; said in a conversation on 2026-03-04)",
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Errorf("facts (-want +got):\n%s", d)
	}
	w.open()
	if n := len(w.sentences()); n != 4 {
		t.Errorf("%d facts after opening again, want 4", n)
	}
}

func TestEarlierValueDoesNotReplace(t *testing.T) {
	w := newWorld(t)
	w.learn("I live in Bergen.")
	_, added, err := w.book.Add(t.Context(), space, fact.Record{What: "home", Value: "Rome", Since: fact.Day(w.now).AddDate(-1, 0, 0), Said: fact.Day(w.now)})
	if err != nil || !added {
		t.Fatal(added, err)
	}
	u, err := w.book.Decide(space, "Where do I live?")
	if err != nil || len(u.Best) != 2 {
		t.Fatal(u, err)
	}
	f, err := w.bank.Chunks(space, u.Best[:1])
	if err != nil || f[0].Body != "The user lives in Bergen. (since 2026-03-04; said in a conversation on 2026-03-04)" {
		t.Errorf("the best fact is %q, %v", f[0].Body, err)
	}
}

func TestDeletedFactStaysAway(t *testing.T) {
	w := newWorld(t)
	w.learn("I live in Bergen.")
	facts, err := w.book.List(space)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.bank.Delete(t.Context(), space, facts[0].ID); err != nil {
		t.Fatal(err)
	}
	w.want()
	if n := w.learn("I live in Bergen."); n != 0 {
		t.Error("the same statement brought the fact back")
	}
	w.open()
	if n := w.learn("I live in Bergen."); n != 0 {
		t.Error("the same statement brought the fact back after opening again")
	}
	w.now = w.now.Add(time.Hour)
	if n := w.learn("I live in Bergen."); n != 1 {
		t.Error("a later statement was not learnt")
	}
	if err := w.book.DropSpace(space); err != nil {
		t.Fatal(err)
	}
	w.want()
	w.open()
	w.want()
}

func TestStoreFails(t *testing.T) {
	w := newWorld(t)
	w.fail = fault.New(fault.Unavailable, "test", "the disk is full")
	if _, err := w.book.Learn(t.Context(), space, []memory.Statement{{Text: "I live in Bergen.", Said: w.now}}); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("error %v", err)
	}
	w.want()
	w.fail = nil
	if n := w.learn("I live in Bergen."); n != 1 {
		t.Error("the statement was not learnt after the failure")
	}
}

func TestChange(t *testing.T) {
	w := newWorld(t)
	w.learn("I live in Bergen.")
	facts, _ := w.book.List(space)
	f, err := w.book.Change(t.Context(), space, facts[0].ID, func(r *fact.Record) error { r.Value = "Voss"; return nil })
	if err != nil || f.ID != facts[0].ID || f.Value != "Voss" {
		t.Errorf("%+v, %v", f, err)
	}
	w.want("The user lives in Voss.")
	for name, change := range map[string]func(*fact.Record) error{
		"empty":  func(r *fact.Record) error { r.Value = ""; return nil },
		"secret": func(r *fact.Record) error { r.Value = "4111111111111111"; return nil },
		"error":  func(*fact.Record) error { return fault.New(fault.Invalid, "test", "no") },
	} {
		if _, err := w.book.Change(t.Context(), space, f.ID, change); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: error %v", name, err)
		}
	}
	w.want("The user lives in Voss.")
	if _, err := w.book.Change(t.Context(), space, percached.DocumentID{1}, func(*fact.Record) error { return nil }); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an unknown fact: error %v", err)
	}
}

func TestDecide(t *testing.T) {
	w := newWorld(t)
	if u, err := w.book.Decide(space, "Where do I live?"); err != nil || u.Facts != 0 || u.Needed {
		t.Errorf("without facts: %+v, %v", u, err)
	}
	w.learn("I live in Bergen.", "I like tea")
	for q, needed := range map[string]bool{"Where do I live?": true, "Who leads Heron?": false} {
		u, err := w.book.Decide(space, q)
		if err != nil || u.Needed != needed || u.Facts != 2 || len(u.All) != 2 {
			t.Errorf("%s: %+v, %v", q, u, err)
		}
	}
	if _, err := w.book.Decide("none", "Where do I live?"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an unknown space: error %v", err)
	}
}

// A fact reads back through the knowledge bank whatever its value looks like.
func TestValuesReadBack(t *testing.T) {
	w := newWorld(t)
	for _, v := range []string{"a - b", "Dr. Who. And more. (since 2020-01-01)", "- x", "1. first", "> quoted", "a: b", "Ærø, Danmark", "C++ & <b>", "東京", "***x"} {
		if _, added, err := w.book.Add(t.Context(), space, fact.Record{What: fact.Note, Value: v, Said: fact.Day(w.now)}); err != nil || !added {
			t.Errorf("%q: %v %v", v, added, err)
		}
	}
}

// The longest note is a fact, too, in any script.
func TestLongNote(t *testing.T) {
	w := newWorld(t)
	r := fact.Record{What: fact.Note, Value: strings.Repeat("我每天早上七点起床去公园跑步。", 26), Said: fact.Day(w.now)}
	if _, added, err := w.book.Add(t.Context(), space, r); err != nil || !added {
		t.Error(added, err)
	}
}
