package qkvtree_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qkvtree"
)

// In any order of inserts and evictions, counts and files stay within the limit, and a
// lower limit returns disk space.
func TestDiskStaysInLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		limit       int64
		size, steps int
	}{
		"in the value log": {24 << 20, 200_000, 600},
		"in tables":        {3 << 20, 4_000, 6000},
	} {
		t.Run(name, func(t *testing.T) {
			db := openDB(t, t.TempDir())
			tree := openTree(t, db, options(tc.limit))
			rnd := rand.New(rand.NewPCG(8, 9))
			look := func() qkvtree.Stats {
				t.Helper()
				s, err := tree.Stats()
				if err != nil {
					t.Fatal(err)
				}
				if s.Bytes > s.Limit || s.Disk > s.Limit+s.Slack {
					t.Fatalf("limit %d, slack %d: %d stored, %d on disk", s.Limit, s.Slack, s.Bytes, s.Disk)
				}
				return s
			}
			if testing.Short() {
				tc.steps /= 4
			}
			for range tc.steps {
				r := request("s", "m", percached.Parallel, fmt.Sprint("c", min(rnd.IntN(1000), rnd.IntN(1000))))
				given := slicesOf(r, percached.KV, tc.size+rnd.IntN(tc.size))
				rightful(t, tree, r)
				insert(t, tree, r, given)
				look()
			}
			s := look()
			t.Logf("stored %d times, evicted %d, %d MiB written, %d moved, %d on disk", s.Stored, s.Evicted, s.Written>>20, s.Moved>>20, s.Disk>>20)
			if s.Refused > 0 || s.Evicted == 0 || s.Bytes < s.Limit/2 {
				t.Errorf("%+v", s)
			}
			for _, limit := range []int64{tc.limit / 2, tc.limit / 8, 0} {
				if err := tree.SetLimit(limit); err != nil {
					t.Fatal(err)
				}
				look()
			}
			clean(t, tree)
		})
	}
}

// While a View keeps files from being deleted, the tree stores nothing rather than exceed
// its disk space, and continues after the View.
func TestDiskWhileLent(t *testing.T) {
	tree := openTree(t, openDB(t, t.TempDir()), options(8<<20))
	first := request("s", "m", percached.Parallel, "first")
	insert(t, tree, first, slicesOf(first, percached.KV, 100_000))
	n := 0
	churn := func() qkvtree.Stats {
		t.Helper()
		r := request("s", "m", percached.Parallel, fmt.Sprint(n))
		n++
		insert(t, tree, r, slicesOf(r, percached.KV, 400_000))
		s, err := tree.Stats()
		if err != nil {
			t.Fatal(err)
		}
		if s.Bytes > s.Limit || s.Disk > s.Limit+s.Slack {
			t.Fatalf("limit %d, slack %d: %d stored, %d on disk", s.Limit, s.Slack, s.Bytes, s.Disk)
		}
		return s
	}
	if err := tree.View(first, func(lent []*percached.Slice, _ qkvtree.Match) error {
		for range 100 {
			churn()
		}
		if s := churn(); s.Refused == 0 {
			t.Errorf("%d bytes on disk, and nothing was refused", s.Disk)
		}
		held(t, first, 1, lent[1])
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	before := churn()
	for range 50 {
		churn()
	}
	if s := churn(); s.Stored < before.Stored+25 {
		t.Errorf("%d of 50 came in after the View", s.Stored-before.Stored)
	}
	clean(t, tree)
}

// No limit is too great.
func TestNoLimit(t *testing.T) {
	tree := openTree(t, openDB(t, t.TempDir()), options(math.MaxInt64))
	r := request("s", "m", percached.Parallel, "a", "b")
	mine := slicesOf(r, percached.KV, 100_000)
	insert(t, tree, r, mine)
	if got := fmt.Sprint(lent(t, tree, r, mine)); got != "[true true true]" {
		t.Error(got)
	}
	if s, err := tree.Stats(); err != nil || s.Slack < 0 || s.Limit+s.Slack < s.Limit {
		t.Errorf("slack %d, %v", s.Slack, err)
	}
}

// Uses are counted in memory and written in batches: an answer from stored slices costs
// almost no disk writes.
func TestCountersAreBatched(t *testing.T) {
	db := openDB(t, t.TempDir())
	o := options(1 << 20)
	tree := openTree(t, db, o)
	r := request("s", "m", percached.Sequential, "a", "b", "c")
	insert(t, tree, r, slicesOf(r, percached.KV))
	before, err := tree.Stats()
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		rightful(t, tree, r)
	}
	if err := tree.Flush(); err != nil {
		t.Fatal(err)
	}
	after, err := tree.Stats()
	if n := (after.Written - before.Written) / 1000; err != nil || n > 10 {
		t.Errorf("%d bytes written for an answer; %v", n, err)
	}
	tree.Close()
	tree = openTree(t, db, o)
	tree.Nodes("s", func(n qkvtree.Info) {
		if n.Hits != 1001 {
			t.Errorf("%d hits", n.Hits)
		}
	})
}

// Without disk space nothing is stored and nothing breaks; later everything works again.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	db := openDB(t, dir)
	tree := openTree(t, db, options(1<<30))
	a, b := request("s", "m", percached.Sequential, "a"), request("s", "m", percached.Sequential, "a", "b")
	mine := slicesOf(b, percached.KV, 100_000, 1000)
	insert(t, tree, a, mine[:2])
	tree.Close()
	db.Close()

	o := dbOptions()
	o.MinFree = 1 << 60
	if _, err := kv.Open(dir, o); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	db = openDB(t, dir)
	tree = openTree(t, db, options(1<<30))
	if got := fmt.Sprint(lent(t, tree, b, mine)); got != "[true true false]" {
		t.Error(got)
	}
	insert(t, tree, b, mine)
	clean(t, tree)
}

// PERCACHED_SMALL_DISK names a folder on a small separate disk of about 100 MiB, which
// the test fills.
func TestSmallDisk(t *testing.T) {
	dir := os.Getenv("PERCACHED_SMALL_DISK")
	if dir == "" {
		t.Skip("needs a small disk: PERCACHED_SMALL_DISK")
	}
	o := dbOptions()
	o.MinFree = 20 << 20
	db, err := kv.Open(dir+"/db", o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	tree := openTree(t, db, options(1<<30))
	var full int
	for n := range 400 {
		r := numbered(n)
		given := slicesOf(r, percached.KV, 2000, 500_000)
		before := tree.Has(r)[1]
		switch err := tree.Insert(r, given); {
		case fault.KindOf(err) == fault.Unavailable:
			full++
			if tree.Has(r)[1] && !before {
				t.Error("half stored")
			}
		case err != nil:
			t.Fatal(err)
		}
		rightful(t, tree, r)
		rightful(t, tree, numbered(n/3))
	}
	if full == 0 {
		t.Error("the disk was never full")
	}
	if err := tree.Compact(t.Context(), nil); fault.KindOf(err) != fault.Unavailable {
		t.Error("compacted without room:", err)
	}
	clean(t, tree)
	if err := tree.SetLimit(10 << 20); err != nil {
		t.Error(err)
	}
	s, err := tree.Stats()
	t.Logf("refused %d times; then %d stored, %d on disk; %v", full, s.Bytes, s.Disk, err)
	r := numbered(1000)
	insert(t, tree, r, slicesOf(r, percached.KV, 2000, 500_000))
	if got := fmt.Sprint(tree.Has(r)); got != "[true true]" {
		t.Error("no recovery:", got)
	}
	clean(t, tree)
	if err := tree.Close(); err != nil {
		t.Error(err)
	}
}
