package qkvtree_test

import (
	"fmt"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/qkvtree"
)

// Turns of a conversation follow each other in both placements, beside the chunks. They are
// found again for the next turn, after a restart too, and forgotten with their conversation.
func TestTurns(t *testing.T) {
	for _, placement := range []percached.Placement{percached.Sequential, percached.Parallel} {
		t.Run(placement.String(), func(t *testing.T) {
			db := openDB(t, t.TempDir())
			tree := openTree(t, db, options(1<<20))
			talk := func(turns, chunks int) qkvtree.Request {
				r := request("s", "m", placement, []string{"one", "two", "three"}[:turns]...)
				for i := range r.Segments[1:] {
					r.Segments[1+i].Turn, r.Segments[1+i].Chunk = true, chunk("talk")
				}
				r.Segments = append(r.Segments, request("s", "m", placement, []string{"a", "b"}[:chunks]...).Segments[1:]...)
				return r
			}
			first := talk(2, 2)
			insert(t, tree, first, slicesOf(first, percached.KV))
			for _, reopen := range []bool{false, true} {
				if reopen {
					tree.Close()
					tree = openTree(t, db, options(1<<20))
				}
				next := talk(3, 2)
				want := map[percached.Placement]string{
					percached.Sequential: "[true true true false false false]", // the chunks followed the second turn
					percached.Parallel:   "[true true true false true true]",
				}
				if got := fmt.Sprint(lent(t, tree, next, slicesOf(next, percached.KV))); got != want[placement] {
					t.Errorf("stored: %s", got)
				}
			}
			clean(t, tree)
			gone, _, err := tree.Forget("s", []percached.ChunkID{chunk("talk")})
			if err != nil {
				t.Fatal(err)
			}
			left := lent(t, tree, first, slicesOf(first, percached.KV))
			if parallel := placement == percached.Parallel; left[1] || left[2] || left[3] != parallel || gone != map[bool]int{true: 2, false: 4}[parallel] {
				t.Errorf("%d forgotten, left: %v", gone, left)
			}
		})
	}
}
