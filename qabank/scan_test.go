package qabank_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank"
)

// Scan returns what Get returns, next to be evicted last.
func TestScan(t *testing.T) {
	ctx := context.Background()
	b := start(t, 1<<20)
	var ids []qabank.ID
	for i := range 5 {
		e := entry("mail", ask(i), byte(i), 9)
		e.Made = b.now.Add(time.Duration(i-9) * time.Hour)
		ids = append(ids, b.put(e))
	}
	e := entry("mail", "What is coming?", 7)
	e.Answered, e.Answer, e.Sources = false, "", []percached.ChunkID{chunk(7), chunk(8)}
	e.Made, e.Vector, e.Embedder = b.now.Add(-99*time.Hour), nil, ""
	ids = append(ids, b.put(e))
	b.put(entry("notes", "Not this?", 1))
	for range 3 {
		b.bank.Hit("mail", ids[1])
	}
	b.bank.Hit("mail", ids[3])
	b.now = b.now.Add(time.Hour)
	b.bank.Hit("mail", ids[0]) // fewer hits, but served just now
	b.do(b.bank.MarkStale(ctx, "mail", ids[2:3], "why"))
	for range 2 {
		var got []qabank.ID
		b.do(b.bank.Scan("mail", func(n qabank.Info) error {
			got = append(got, n.ID)
			e := b.get("mail", n.ID)
			if n.Answered != e.Answered || n.Stale != e.Stale || n.Seen != e.Seen || n.Hits != e.Hits || !n.Used.Equal(e.Used) || n.Embedder != e.Embedder {
				t.Errorf("%+v of %+v", n, e)
			}
			want := []percached.ChunkID{e.Evidence[0].Chunk}
			if want = append(want, chunk(9)); !e.Answered {
				want[1] = chunk(8)
			}
			if d := cmp.Diff(want, n.Chunks); d != "" {
				t.Error(d)
			}
			if exists, answered := b.bank.Has("mail", n.ID); !exists || answered != e.Answered {
				t.Errorf("%v: there %v, answered %v", n.ID, exists, answered)
			}
			return nil
		}))
		if d := cmp.Diff([]qabank.ID{ids[0], ids[1], ids[3], ids[4], ids[2], ids[5]}, got); d != "" {
			t.Error(d)
		}
		b.reopen(false)
	}
	// The last one is evicted first.
	bytes, _ := b.bank.Usage()
	b.do(b.bank.SetLimit(ctx, bytes-1))
	if b.there("mail", ids[5]) || !b.there("mail", ids[2]) {
		t.Error("another one went")
	}
	for _, none := range []struct {
		space string
		id    qabank.ID
	}{{"mail", ids[5]}, {"notes", ids[0]}, {"nowhere", ids[0]}} {
		if exists, answered := b.bank.Has(none.space, none.id); exists || answered {
			t.Errorf("%v is there", none)
		}
	}
	enough := errors.New("enough")
	if err := b.bank.Scan("mail", func(qabank.Info) error { return enough }); err != enough {
		t.Error(err)
	}
	if err := b.bank.Scan("nowhere", func(qabank.Info) error { return enough }); err != nil {
		t.Error(err)
	}
}

// A predicted question is deleted or outdated with its source chunks as with its
// evidence; a question asked since has no sources.
func TestSources(t *testing.T) {
	ctx := context.Background()
	b := start(t, 1<<20)
	predicted := func(question string) qabank.ID {
		e := entry("mail", question, 1)
		e.Origin, e.Sources = "predicted", []percached.ChunkID{chunk(2), chunk(3)}
		return b.put(e)
	}
	a, c := predicted("A?"), predicted("C?")
	if d := cmp.Diff([]percached.ChunkID{chunk(2), chunk(3)}, b.get("mail", a).Sources); d != "" {
		t.Error(d)
	}
	b.counted()
	b.reopen(true)
	if n, err := b.bank.Outdate(ctx, "mail", []percached.ChunkID{chunk(3)}); n != 2 || err != nil || !b.get("mail", a).Stale {
		t.Error(n, err)
	}
	asked := entry("mail", "A?", 1)
	b.put(asked)
	if e := b.get("mail", a); e.Stale || e.Sources != nil {
		t.Errorf("%+v", e)
	}
	b.do(b.bank.Veto(ctx, "mail", "Other?", c))
	if n, err := b.bank.Forget(ctx, "mail", []percached.ChunkID{chunk(2)}); n != 1 || err != nil || b.there("mail", c) || !b.there("mail", a) {
		t.Error(n, err)
	}
	if s := b.bank.Stats("mail"); s.Entries != 1 || s.Vetoes != 0 {
		t.Errorf("%+v", s)
	}
	b.counted()
	b.reopen(false)
	b.counted()
}
