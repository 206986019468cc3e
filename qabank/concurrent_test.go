package qabank_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank"
)

// All calls concurrently, for the race detector; at the end the counts are right.
func TestConcurrent(t *testing.T) {
	b := start(t, 60_000)
	ctx := context.Background()
	var all sync.WaitGroup
	for g := range 6 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for i := range 60 {
				space := []string{"mail", "notes"}[r.IntN(2)]
				q := fmt.Sprintf("Question number %d?", r.IntN(80))
				id := qabank.NewID(space, q)
				var err error
				switch r.IntN(10) {
				case 0, 1, 2:
					_, err = b.bank.Put(ctx, entry(space, q, byte(r.IntN(9))))
				case 3:
					b.bank.Hit(space, id)
				case 4:
					for _, c := range b.bank.Match(space, unit(q), "emb", 0.9, 3) {
						if c.Space != space {
							t.Error("another space's entry")
						}
					}
				case 5:
					_, err = b.bank.Forget(ctx, space, []percached.ChunkID{chunk(byte(r.IntN(9)))})
				case 6:
					err = b.bank.MarkStale(ctx, space, []qabank.ID{id}, strings.Repeat("why ", i))
				case 7:
					err = b.bank.Veto(ctx, space, q, qabank.NewID(space, "Question number 3?"))
				case 9:
					err = b.bank.Scan(space, func(n qabank.Info) error { b.bank.Has(space, n.ID); return nil })
				case 8:
					err = b.bank.Flush(ctx)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	b.counted()
	before := b.bank.Stats("mail")
	b.reopen(false)
	b.counted()
	if d := cmp.Diff(before, b.bank.Stats("mail")); d != "" {
		t.Error(d)
	}
}
