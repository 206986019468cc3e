package qabank_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
)

// entrySize is the size of each entry in these tests.
func entrySize(t *testing.T) int64 {
	b := start(t, 1<<20)
	b.put(entry("mail", "Question 10?", 1))
	n, _ := b.bank.Usage()
	return n
}

func ask(i int) string { return fmt.Sprintf("Question %d?", i+10) }

// The least used entry is evicted first; formerly popular entries are evicted in the end.
func TestEvictsLeastUsed(t *testing.T) {
	size := entrySize(t)
	b := start(t, 3*size)
	evicted := 0
	b.o.Observer.Evicted = func(n int, bytes int64) {
		if evicted += n; bytes != int64(n)*size {
			t.Errorf("%d bytes for %d entries", bytes, n)
		}
	}
	b.reopen(true)
	ids := make([]qabank.ID, 40)
	put := func(i int) {
		b.now = b.now.Add(time.Hour)
		ids[i] = b.put(entry("mail", ask(i), 1))
		b.counted()
	}
	for i := range 3 {
		put(i)
	}
	for range 5 {
		b.bank.Hit("mail", ids[0])
	}
	b.bank.Hit("mail", ids[1])
	put(3)
	if b.there("mail", ids[2]) || !b.there("mail", ids[0]) || !b.there("mail", ids[1]) || !b.there("mail", ids[3]) {
		t.Error("the one that nobody used should have gone")
	}
	b.reopen(false) // ranks are kept
	put(4)
	if b.there("mail", ids[3]) || !b.there("mail", ids[0]) {
		t.Error("the one that nobody used should have gone, after a restart too")
	}
	for i := 5; i < 40; i++ {
		put(i)
	}
	if b.there("mail", ids[0]) {
		t.Error("an entry that was used long ago stays for ever")
	}
	if evicted != 37 {
		t.Errorf("%d evicted", evicted)
	}
}

// A new entry stays, and so does one just served, however low its rank.
func TestEvictSpares(t *testing.T) {
	size := entrySize(t)
	b := start(t, 2*size)
	first := b.put(entry("mail", ask(0), 1))
	second := b.put(entry("mail", ask(1), 1))
	for range 3 {
		b.bank.Hit("mail", first)
	}
	b.now = b.now.Add(time.Hour)
	b.bank.Hit("mail", second) // a lower rank, but now
	third := b.put(entry("mail", ask(2), 1))
	if b.there("mail", first) || !b.there("mail", second) || !b.there("mail", third) {
		t.Error("the wrong one went")
	}
	b.bank.Hit("mail", third) // all were just served: one must be evicted anyway
	fourth := b.put(entry("mail", ask(3), 1))
	if !b.there("mail", fourth) {
		t.Error("the new one went")
	}
	b.counted()
}

// An entry that grows evicts others, never itself.
func TestEvictForLarger(t *testing.T) {
	size := entrySize(t)
	b := start(t, 3*size)
	first := b.put(entry("mail", ask(0), 1))
	others := []qabank.ID{b.put(entry("mail", ask(1), 1)), b.put(entry("mail", ask(2), 1))}
	for _, id := range others {
		b.bank.Hit("mail", id) // the first is now next to be evicted
	}
	larger := entry("mail", ask(0), 1)
	larger.Answer += strings.Repeat("x", int(size)-10)
	b.put(larger)
	if !b.there("mail", first) || b.there("mail", others[0]) == b.there("mail", others[1]) {
		t.Error("one of the others should have gone")
	}
	b.counted()
	b.reopen(false)
	b.counted()
}

func TestSetLimit(t *testing.T) {
	ctx := context.Background()
	size := entrySize(t)
	b := start(t, 10*size)
	for i := range 10 {
		b.put(entry("mail", ask(i), 1))
	}
	b.do(b.bank.SetLimit(ctx, 4*size+1))
	if s := b.bank.Stats("mail"); s.Entries != 4 {
		t.Errorf("%+v", s)
	}
	b.counted()
	if err := b.bank.SetLimit(ctx, 0); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}

// One large entry replaces thousands of small ones: more than one transaction can delete.
func TestEvictThousands(t *testing.T) {
	const n = 4000
	b := start(t, 1<<20)
	evicted := 0
	b.o.Observer.Evicted = func(n int, _ int64) { evicted += n }
	b.reopen(true)
	for i := range n {
		b.put(qabank.Entry{Space: "mail", Question: ask(i)})
	}
	size, _ := b.bank.Usage()
	b.do(b.bank.SetLimit(context.Background(), size))
	large := b.put(qabank.Entry{Space: "mail", Question: "All of it?", Answer: strings.Repeat("x", int(size)-1000), Answered: true})
	if left := b.bank.Stats("mail").Entries; !b.there("mail", large) || left < 2 || left+evicted != n+1 {
		t.Errorf("%d left, %d evicted", left, evicted)
	}
	b.counted()
	b.reopen(false)
	b.counted()
}
