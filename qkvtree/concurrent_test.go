package qkvtree_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qkvtree"
)

// Lent slices keep their memory while everything else happens, and nothing deadlocks.
func TestLentStays(t *testing.T) {
	db := openDB(t, t.TempDir())
	tree := openTree(t, db, options(20<<20))
	tree.SetHotLimit(400_000) // of two slices
	r := request("s", "m", percached.Sequential, "a", "b")
	mine := slicesOf(r, percached.QKV, 300_000, 1000, 200_000)
	insert(t, tree, r, mine)
	for i := range 20 { // more than a file of the value log
		o := request("s", "m", percached.Parallel, fmt.Sprint("x", i))
		insert(t, tree, o, slicesOf(o, percached.KV, 400_000))
	}
	done, copied := make(chan error, 1), make(chan struct{})
	if err := tree.View(r, func(lent []*percached.Slice, m qkvtree.Match) error {
		if m.Segments != 3 {
			t.Errorf("%+v", m)
		}
		go func() {
			done <- tree.Compact(context.Background(), func(d, n int64) {
				if d == n {
					close(copied)
				}
			})
		}()
		<-copied // from here on it waits for this View
		for i := range 20 {
			o := request("t", "m", percached.Parallel, fmt.Sprint("y", i))
			if err := tree.Insert(o, slicesOf(o, percached.KV, 300_000)); err != nil {
				return err
			}
		}
		if _, _, err := tree.Forget("s", []percached.ChunkID{chunk("a")}); err != nil {
			return err
		}
		if err := tree.SetLimit(2 << 20); err != nil {
			return err
		}
		if _, err := tree.Verify(t.Context()); err != nil {
			return err
		}
		if err := tree.Flush(); err != nil {
			return err
		}
		select {
		case err := <-done:
			t.Error("the database was swapped under a View:", err)
		default:
		}
		if d := cmp.Diff(mine, lent, whole()); d != "" {
			t.Error("a lent slice changed")
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := tree.Has(r); got[1] || got[2] {
		t.Error("what was forgotten while it was copied came back")
	}
	clean(t, tree)
}

func TestManyUsers(t *testing.T) {
	db := openDB(t, t.TempDir())
	o := options(3 << 20)
	o.FlushEvery = 10
	tree := openTree(t, db, o)
	steps := 150
	if testing.Short() {
		steps = 40
	}
	var users sync.WaitGroup
	for u := range 4 {
		users.Go(func() {
			rnd := rand.New(rand.NewPCG(3, uint64(u)))
			for range steps {
				r := request(fmt.Sprint("s", rnd.IntN(2)), "m", percached.Placement(rnd.IntN(2)),
					fmt.Sprint("c", rnd.IntN(6)), fmt.Sprint("c", rnd.IntN(6)))
				r.Idle = u == 3
				given := slicesOf(r, percached.KV, 100_000, 3000)
				if err := tree.View(r, func(lent []*percached.Slice, _ qkvtree.Match) error {
					if rnd.IntN(2) == 0 {
						if err := tree.Insert(r, given); err != nil {
							return err
						}
					}
					for i, s := range lent {
						if s != nil {
							held(t, r, i, s)
						}
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
				var err error
				switch rnd.IntN(12) {
				case 0:
					_, _, err = tree.Forget("s1", []percached.ChunkID{chunk("c2"), chunk("c3")})
				case 1:
					err = tree.SetLimit(int64(1+rnd.IntN(4)) << 20)
				case 2:
					err = tree.Flush()
				case 3:
					_, err = tree.Stats()
					tree.Nodes("s0", func(n qkvtree.Info) { tree.Has(r) })
				case 4:
					if rep, e := tree.Verify(t.Context()); e != nil || !rep.Clean() {
						t.Errorf("%+v, %v", rep, e)
					}
				case 5:
					err = tree.Insert(r, given)
				case 6:
					tree.SetHotLimit(int64(rnd.IntN(3)) << 19)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	var compactor sync.WaitGroup
	compactor.Go(func() {
		for ctx.Err() == nil {
			if err := tree.Compact(ctx, nil); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	users.Wait()
	cancel()
	compactor.Wait()
	clean(t, tree)
}
