package qabank_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qabank"
)

// Pages contain every entry of the space once, by ID, for any page size.
func TestPage(t *testing.T) {
	b := start(t, 1<<20)
	var want []qabank.ID
	for i := range 23 {
		want = append(want, b.put(entry("mail", fmt.Sprintf("Question number %d?", i), 1)))
		b.put(entry("notes", fmt.Sprintf("Question number %d?", i), 1))
	}
	slices.SortFunc(want, func(x, y qabank.ID) int { return slices.Compare(x[:], y[:]) })
	pages := func(n int) (got []qabank.ID) {
		t.Helper()
		var after qabank.ID
		for {
			page, err := b.bank.Page("mail", after, n)
			b.do(err)
			for _, e := range page {
				if e.Space != "mail" || e.Answer == "" {
					t.Errorf("%+v", e)
				}
				got = append(got, e.ID)
			}
			if len(page) < n {
				return got
			}
			after = got[len(got)-1]
		}
	}
	for _, n := range []int{1, 5, 23, 100} {
		if d := cmp.Diff(want, pages(n)); d != "" {
			t.Errorf("%d a page: %s", n, d)
		}
	}
	// A damaged entry does not hide those after it.
	space := kv.NewSpaceID("mail")
	b.do(b.db.Update(func(tx *kv.Tx) error {
		return tx.Set(append(append([]byte("Qe"), space[:]...), want[3][:]...), []byte{1, 2, 3})
	}))
	if d := cmp.Diff(slices.Delete(slices.Clone(want), 3, 4), pages(2)); d != "" {
		t.Error(d)
	}
	if page, err := b.bank.Page("nowhere", qabank.ID{}, 5); len(page) != 0 || err != nil {
		t.Error(page, err)
	}
	b.do(b.db.Close())
	if _, err := b.bank.Page("mail", qabank.ID{}, 5); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("of a closed database: %v", err)
	}
}

// PutNew keeps an answer unless it is stale.
func TestPutNew(t *testing.T) {
	const q = "Who leads Heron?"
	ctx := context.Background()
	for name, tc := range map[string]struct {
		before func(b *bench)
		put    bool
	}{
		"nothing there":  {func(*bench) {}, true},
		"in other space": {func(b *bench) { b.put(entry("notes", q, 1)) }, true},
		"an answer":      {func(b *bench) { b.put(entry("mail", q, 1)) }, false},
		"the same, otherwise written": {
			func(b *bench) { b.put(entry("mail", "who leads heron", 1)) }, false,
		},
		"no answer": {func(b *bench) {
			e := entry("mail", q, 1)
			e.Answer, e.Answered = "", false
			b.put(e)
		}, true},
		"a stale one": {func(b *bench) {
			b.do(b.bank.MarkStale(ctx, "mail", []qabank.ID{b.put(entry("mail", q, 1))}, "a test"))
		}, true},
	} {
		b := start(t, 1<<20)
		tc.before(b)
		e := entry("mail", q, 2)
		e.Answer = "Ana, as was said elsewhere."
		id, put, err := b.bank.PutNew(ctx, e)
		if err != nil || put != tc.put || id != qabank.NewID("mail", q) {
			t.Errorf("%s: %v, %v, %v", name, id, put, err)
		}
		for range 2 {
			if got := b.get("mail", id); (got.Answer == e.Answer) != tc.put || got.Stale {
				t.Errorf("%s: %+v", name, got)
			}
			b.counted()
			b.reopen(true)
		}
	}
}

// Of many concurrent PutNew calls one succeeds.
func TestPutNewOnce(t *testing.T) {
	b := start(t, 1<<20)
	var all sync.WaitGroup
	var puts atomic.Int32
	for i := range 8 {
		all.Go(func() {
			e := entry("mail", "Who leads Heron?", byte(i))
			_, put, err := b.bank.PutNew(context.Background(), e)
			if err != nil {
				t.Error(err)
			}
			if put {
				puts.Add(1)
			}
		})
	}
	all.Wait()
	if n := puts.Load(); n != 1 {
		t.Errorf("%d were stored", n)
	}
	if _, put, err := b.bank.PutNew(context.Background(), qabank.Entry{Space: "mail"}); put || fault.KindOf(err) != fault.Invalid {
		t.Error(put, err)
	}
}
