package knowledgebank

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// follower keeps what the feed lists.
type follower struct {
	chunks map[percached.ChunkID]uint64
	upto   uint64
}

func (f *follower) follow(t *testing.T, b *Bank) {
	t.Helper()
	was := f.upto
	gone, upto, err := b.Changes("home", f.upto, func(c percached.Chunk) error {
		if c.Version <= was {
			t.Errorf("chunk %s of version %d comes behind %d", c.ID, c.Version, was)
		}
		was = c.Version - 1 // ordered by version, without an order inside one
		f.chunks[c.ID] = c.Version
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range gone {
		delete(f.chunks, id)
	}
	f.upto = upto
}

// After any additions and deletions, a follower has exactly the existing chunks.
func TestFollow(t *testing.T) {
	b, db := newBank(t)
	r := rand.New(rand.NewPCG(4, 5))
	f := &follower{chunks: map[percached.ChunkID]uint64{}}
	for i := range 600 {
		key := fmt.Sprint("k", r.IntN(12))
		switch r.IntN(8) {
		case 0:
			_, err := b.Delete(context.Background(), "home", percached.NewDocumentID(key))
			if err != nil && fault.KindOf(err) != fault.NotFound {
				t.Fatal(err)
			}
		case 1:
			add(t, b, "home", long(key, uint64(r.IntN(3)), 600))
		case 2: // many at once, some twice
			var sources []*Source
			for range 5 {
				sources = append(sources, note(fmt.Sprint("k", r.IntN(12)), fmt.Sprint("Text number ", r.IntN(9))))
			}
			if _, err := b.AddAll(context.Background(), "home", sources); err != nil {
				t.Fatal(err)
			}
		default:
			add(t, b, "home", note(key, fmt.Sprint("Text number ", r.IntN(9))))
		}
		switch r.IntN(20) {
		case 0:
			b = openBank(t, db)
			verify(t, b, "home")
		case 1:
			if err := b.TrimTombstones(context.Background(), "home", f.upto); err != nil {
				t.Fatal(err)
			}
		}
		if r.IntN(3) > 0 && i < 599 {
			continue
		}
		f.follow(t, b)
		anew := &follower{chunks: map[percached.ChunkID]uint64{}}
		anew.follow(t, b)
		if d := cmp.Diff(anew, f, cmp.AllowUnexported(follower{})); d != "" {
			t.Fatal(d)
		}
		stats, err := b.Stats("home")
		if err != nil || stats.Chunks != len(f.chunks) {
			t.Fatal(stats, len(f.chunks), err)
		}
	}
	verify(t, b, "home")
}

func TestChangesRefused(t *testing.T) {
	b, _ := newBank(t)
	c := add(t, b, "home", note("a", "One."))
	if _, err := b.Delete(context.Background(), "home", c.Document); err != nil {
		t.Fatal(err)
	}
	none := func(percached.Chunk) error { return nil }
	gone, upto, err := b.Changes("home", 1, none)
	if err != nil || upto != 2 || len(gone) != 1 {
		t.Error(gone, upto, err)
	}
	if err := b.TrimTombstones(context.Background(), "home", 2); err != nil {
		t.Fatal(err)
	}
	_, _, err = b.Changes("home", 1, none)
	wantKind(t, fault.Conflict, err)
	_, _, err = b.Changes("home", 3, none)
	wantKind(t, fault.Conflict, err)
	if gone, upto, err := b.Changes("home", 2, none); err != nil || upto != 2 || gone != nil {
		t.Error(gone, upto, err)
	}
	if gone, upto, err := b.Changes("home", 0, none); err != nil || upto != 2 || gone != nil {
		t.Error(gone, upto, err)
	}
	add(t, b, "home", note("a", "One."))
	stop := errors.New("stop")
	if _, _, err := b.Changes("home", 0, func(percached.Chunk) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	_, _, err = b.Changes("away", 0, none)
	wantKind(t, fault.NotFound, err)
}

func TestConcurrentAdds(t *testing.T) {
	b, db := newBank(t)
	create(t, b, "other")
	var wait sync.WaitGroup
	for w := range 6 {
		wait.Go(func() {
			for i := range 20 {
				space := []string{"home", "other"}[w%2]
				s := note(fmt.Sprint("k", i%7), fmt.Sprint("Text number ", (w+i)%11))
				if _, err := b.Add(context.Background(), space, s); err != nil {
					t.Error(err)
				}
				if i%5 == 4 {
					if _, err := b.Delete(context.Background(), space, percached.NewDocumentID(s.Key)); err != nil && fault.KindOf(err) != fault.NotFound {
						t.Error(err)
					}
				}
				if _, _, err := b.Changes(space, 0, func(percached.Chunk) error { return nil }); err != nil {
					t.Error(err)
				}
				if _, err := b.Documents(space, percached.DocumentID{}, 10); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	verify(t, b, "home")
	verify(t, b, "other")
	verify(t, openBank(t, db), "home")
}

func TestSeqPrefixes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		from := r.Uint64() >> r.IntN(64)
		last := from + r.Uint64()>>(40+r.IntN(24))
		if last < from {
			last = math.MaxUint64
		}
		next, n := from, 0
		if err := seqPrefixes(from, last, func(p []byte) error {
			low := binary.BigEndian.Uint64(append(append([]byte{}, p...), make([]byte, 8-len(p))...))
			if low != next {
				t.Fatalf("from %x to %x: %x comes where %x should", from, last, low, next)
			}
			next = low + 1<<(8*(8-len(p)))
			n++
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if next != last+1 || n > 8*2*255 {
			t.Fatalf("from %x to %x: ends at %x behind %d prefixes", from, last, next, n)
		}
	}
	n := 0
	if err := seqPrefixes(0, math.MaxUint64, func(p []byte) error { n += 1 + len(p); return nil }); err != nil || n != 1 {
		t.Error(n, err)
	}
}
