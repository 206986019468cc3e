package answer_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, kv.Default())
	h, err := answer.OpenHistory(db, 5)
	if err != nil {
		t.Fatal(err)
	}
	chunk := func(i int) percached.ChunkID { return percached.NewChunkID(fmt.Sprint(i)) }
	for i := range 8 {
		if err := h.Add("a", answer.Record{Question: fmt.Sprint("q", i), Chunks: []percached.ChunkID{chunk(i), chunk(i % 2)}}, i%3 == 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Add("b", answer.Record{Question: "other"}, false); err != nil {
		t.Fatal(err)
	}
	recent := func(space string, n int, want ...string) {
		t.Helper()
		rs, err := h.Recent(space, n)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, r := range rs {
			got = append(got, r.Question)
		}
		if d := cmp.Diff(append([]string{}, want...), got); d != "" {
			t.Error(d)
		}
	}
	recent("a", 3, "q5", "q6", "q7")
	recent("a", 1, "q7")
	recent("b", 9, "other")
	recent("c", 9)
	if err := h.Flush(); err != nil {
		t.Fatal(err)
	}
	db.Close()
	db = open(t, dir, kv.Default())
	if h, err = answer.OpenHistory(db, 5); err != nil {
		t.Fatal(err)
	}
	recent("a", 9, "q3", "q4", "q5", "q6", "q7") // the oldest have made room
	if err := h.Add("a", answer.Record{Question: "q8", Chunks: []percached.ChunkID{chunk(1)}}, false); err != nil {
		t.Fatal(err)
	}
	if n, err := h.Forget("a", []percached.ChunkID{chunk(1), chunk(4)}); n != 5 || err != nil {
		t.Error(n, err) // 3, 5 and 7 are odd, 4 by itself, 8 not written yet
	}
	recent("a", 9, "q6")
	if n, err := h.DropSpace("a"); n != 1 || err != nil {
		t.Error(n, err)
	}
	recent("a", 9)
	recent("b", 9, "other")
}

// chronicle is a history that can be reopened.
type chronicle struct {
	*answer.History
	t   *testing.T
	dir string
	db  *kv.DB
}

func newChronicle(t *testing.T) *chronicle {
	c := &chronicle{t: t, dir: t.TempDir()}
	c.open()
	return c
}

func (c *chronicle) open() {
	c.t.Helper()
	c.db = open(c.t, c.dir, kv.Default())
	var err error
	if c.History, err = answer.OpenHistory(c.db, 5); err != nil {
		c.t.Fatal(err)
	}
}

// restart loses what was not yet written.
func (c *chronicle) restart() {
	c.t.Helper()
	c.db.Close()
	c.open()
}

func (c *chronicle) do(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// about returns the chunk that a question rests on.
func about(q string) []percached.ChunkID { return []percached.ChunkID{percached.NewChunkID(q)} }

func (c *chronicle) add(space string, questions ...string) {
	c.t.Helper()
	for _, q := range questions {
		c.do(c.Add(space, answer.Record{Question: q, Chunks: about(q)}, false))
	}
}

// since checks the records after a cursor and returns the number for Advance.
func (c *chronicle) since(space, cursor string, n int, want ...string) uint64 {
	c.t.Helper()
	rs, upto, err := c.Since(space, cursor, n)
	c.do(err)
	got := []string{}
	for _, r := range rs {
		got = append(got, r.Question)
	}
	if d := cmp.Diff(append([]string{}, want...), got); d != "" {
		c.t.Error(d)
	}
	return upto
}

// A cursor returns every record once, in parts of any size, across restarts, including
// those that were not yet written. Cursors are independent.
func TestCursor(t *testing.T) {
	c := newChronicle(t)
	c.since("a", "x", 9)
	c.add("a", "q0", "q1", "q2")
	c.add("b", "other")
	upto := c.since("a", "x", 2, "q0", "q1")
	c.since("a", "x", 2, "q0", "q1") // the same until it is moved
	c.since("a", "x", 0)
	c.do(c.Advance("a", "x", upto))
	c.add("a", "q3")
	c.since("a", "x", 9, "q2", "q3")
	c.since("b", "x", 9, "other")
	c.restart()
	c.since("a", "y", 9, "q0", "q1", "q2", "q3")
	last := c.since("a", "x", 9, "q2", "q3")
	c.do(c.Advance("a", "x", last))
	c.do(c.Advance("a", "x", upto)) // never back
	c.restart()
	if got := c.since("a", "x", 9); got != last {
		t.Errorf("nothing behind %d, which goes to %d", last, got)
	}
	for i := range 7 { // more than the limit
		c.add("a", fmt.Sprint("r", i))
	}
	c.since("a", "x", 9, "r2", "r3", "r4", "r5", "r6")
	for name, err := range map[string]error{"no name": c.Advance("a", "", 1), "long name": c.Advance("a", strings.Repeat("x", 65), 1)} {
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := c.Since("a", "", 1); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if err := c.Advance("a", "x", 1000); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
}

// However records are removed, a cursor never skips a new one: numbers only grow.
func TestNumbersGrow(t *testing.T) {
	for name, lose := range map[string]func(c *chronicle) (int, error){
		"forgotten": func(c *chronicle) (int, error) { return c.Forget("a", append(about("q1"), about("q2")...)) },
		"cleared":   func(c *chronicle) (int, error) { return c.Clear("a") },
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, opened again %t", name, restart), func(t *testing.T) {
				c := newChronicle(t)
				c.add("a", "q0", "q1", "q2")
				upto := c.since("a", "x", 9, "q0", "q1", "q2")
				c.do(c.Advance("a", "x", upto))
				c.add("a", "q1") // not written yet
				if n, err := lose(c); n < 3 || err != nil {
					t.Error(n, err)
				}
				if restart {
					c.restart()
				}
				c.since("a", "x", 9)
				c.add("a", "q3")
				if got := c.since("a", "x", 9, "q3"); got != upto+1 {
					t.Errorf("number %d behind %d", got, upto)
				}
			})
		}
	}
}

// Dropping a space removes all of its history: a new space of that name begins anew.
func TestDropSpace(t *testing.T) {
	c := newChronicle(t)
	c.add("a", "q0", "q1")
	c.add("b", "other")
	for _, space := range []string{"a", "b"} {
		_, upto, err := c.Since(space, "x", 9)
		c.do(err)
		c.do(c.Advance(space, "x", upto))
	}
	if n, err := c.DropSpace("a"); n != 2 || err != nil {
		t.Error(n, err)
	}
	if err := c.Advance("a", "x", 2); fault.KindOf(err) != fault.Conflict {
		t.Error("a cursor of a space that is gone was moved:", err)
	}
	left := map[string]int{}
	c.do(c.db.View(func(tx *kv.Tx) error {
		return tx.Keys([]byte("H"), func(k []byte, _ int64) error {
			left[string(k[2:18])]++
			return nil
		})
	}))
	a, b := kv.NewSpaceID("a"), kv.NewSpaceID("b")
	if left[string(a[:])] != 0 || left[string(b[:])] != 3 {
		t.Errorf("left: %v", left)
	}
	c.add("a", "new")
	c.since("a", "x", 9, "new")
	c.since("b", "x", 9)
}

// An earlier release wrote no counter. A damaged record or counter costs no more than
// itself: numbers continue after what is left.
func TestHistoryOfBefore(t *testing.T) {
	c := newChronicle(t)
	id := kv.NewSpaceID("a")
	key := func(kind byte, n ...byte) []byte { return append(append([]byte{'H', kind}, id[:]...), n...) }
	set := func(k, v []byte) {
		t.Helper()
		c.do(c.db.Update(func(tx *kv.Tx) error { return tx.Set(k, v) }))
	}
	for i := range byte(3) {
		set(key('q', 0, 0, 0, 0, 0, 0, 0, 4+i), fmt.Appendf([]byte{1}, `{"asked":"2025-03-04T12:00:0%dZ","question":"q%d","chunks":null}`, i, i))
	}
	if at, err := c.Latest("a"); err != nil || !at.Equal(time.Date(2025, 3, 4, 12, 0, 2, 0, time.UTC)) {
		t.Error(at, err)
	}
	if upto := c.since("a", "x", 9, "q0", "q1", "q2"); upto != 7 {
		t.Error(upto)
	}
	c.do(c.Advance("a", "x", 6))
	if _, err := c.Clear("a"); err != nil {
		t.Fatal(err)
	}
	c.restart() // the counter was written with the cursor
	c.add("a", "q3")
	if upto := c.since("a", "x", 9, "q3"); upto != 8 {
		t.Error(upto)
	}
	c.do(c.Advance("a", "x", 8))

	set(key('n'), []byte{1, 2, 3})
	set(key('q', 0, 0, 0, 0, 0, 0, 0, 7), []byte{1, '?'})
	c.restart()
	if at, err := c.Latest("a"); err != nil || !at.IsZero() {
		t.Error(at, err)
	}
	c.add("a", "q4")
	c.since("a", "x", 9, "q4")
	set(key('c', 'x'), []byte{9})
	c.since("a", "x", 9, "q4") // from the beginning, without what cannot be read
}

func TestLatest(t *testing.T) {
	c := newChronicle(t)
	first := time.Date(2025, 3, 4, 12, 0, 0, 0, time.UTC)
	latest := func(want time.Time) {
		t.Helper()
		if got, err := c.Latest("a"); err != nil || !got.Equal(want) {
			t.Errorf("%v, %v; want %v", got, err, want)
		}
	}
	latest(time.Time{})
	for i := range 3 {
		at := first.Add(time.Duration(i) * time.Hour)
		c.do(c.Add("a", answer.Record{Asked: at, Question: fmt.Sprint("q", i), Chunks: about(fmt.Sprint("q", i))}, i == 1))
		latest(at)
	}
	c.do(c.Add("b", answer.Record{Asked: first.Add(9 * time.Hour)}, true))
	c.restart()
	latest(first.Add(time.Hour)) // the last one was not yet written
	if _, err := c.Forget("a", about("q1")); err != nil {
		t.Fatal(err)
	}
	latest(first)
}

// Many callers add while others read, forget and flush. Each record is kept once, in the
// order in which its caller added it. A crash loses fewer than a batch.
func TestHistoryConcurrently(t *testing.T) {
	const askers, each = 8, 150
	db := open(t, t.TempDir(), kv.Default())
	h, err := answer.OpenHistory(db, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for g := range askers {
		all.Go(func() {
			for i := range each {
				r := answer.Record{Question: fmt.Sprintf("%d %d", g, i)}
				if err := h.Add("a", r, g == 0 && i%50 == 0); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Go(func() {
		for range 20 {
			if _, err := h.Recent("a", 10); err != nil {
				t.Error(err)
			}
			if _, err := h.Forget("a", about("none")); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	whole, err := h.Recent("a", askers*each)
	if err != nil || len(whole) != askers*each {
		t.Errorf("%d records, %v", len(whole), err)
	}
	h, err = answer.OpenHistory(db, 10_000) // as after a crash
	if err != nil {
		t.Fatal(err)
	}
	left, err := h.Recent("a", askers*each)
	if err != nil || len(left) <= askers*each-32 {
		t.Errorf("%d records are left, %v", len(left), err)
	}
	if d := cmp.Diff(whole[:len(left)], left); d != "" {
		t.Error(d)
	}
	var next [askers]int
	for _, r := range whole {
		var g, i int
		if _, err := fmt.Sscan(r.Question, &g, &i); err != nil || i != next[g] {
			t.Fatalf("%q, want number %d", r.Question, next[g])
		}
		next[g]++
	}
}

// A record that could not be written stays pending, and is written later.
func TestHistoryOfAFullDisk(t *testing.T) {
	c := newChronicle(t)
	c.do(c.Flush())
	c.add("a", "q0", "q1")
	c.db.Close()
	if err := c.Add("a", answer.Record{Question: "q2"}, true); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	if err := c.Flush(); fault.KindOf(err) != fault.Unavailable {
		t.Error("a record that was not written is forgotten:", err)
	}
}
