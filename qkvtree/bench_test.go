package qkvtree_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qkvtree"
)

// The cost of lending from disk (badger's checksum and ours over every byte, and decryption)
// and from memory.
func BenchmarkView(b *testing.B) {
	for _, mib := range []int{1, 16} {
		for _, folder := range []string{"plain", "x" + encryptedEnd} {
			for from, limit := range map[string]int64{"disk": 0, "memory": 1 << 30} {
				b.Run(fmt.Sprintf("%dMiB/%s/%s", mib, strings.TrimPrefix(folder, "x-"), from), func(b *testing.B) {
					tree := openTree(b, openDB(b, b.TempDir()+"/"+folder), options(1<<30))
					tree.SetHotLimit(limit)
					r := request("s", "m", percached.Sequential, "a", "b", "c")
					given := slicesOf(r, percached.KV, mib<<20/4)
					insert(b, tree, r, given)
					b.SetBytes(int64(mib) << 20)
					for b.Loop() {
						if err := tree.View(r, func([]*percached.Slice, qkvtree.Match) error { return nil }); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

func BenchmarkInsert(b *testing.B) {
	tree := openTree(b, openDB(b, b.TempDir()), options(64<<20))
	r := request("s", "m", percached.Parallel, "a")
	given := slicesOf(r, percached.KV, 1<<20)
	insert(b, tree, r, given)
	b.SetBytes(1 << 20)
	for n := 0; b.Loop(); n++ {
		r := request("s", "m", percached.Parallel, fmt.Sprint(n))
		given[1].Tokens = r.Segments[1].Tokens
		given[1].Path = given[0].Path.Child(given[1].Tokens)
		insert(b, tree, r, given)
	}
	s, err := tree.Stats()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.Disk)/(1<<20), "MiB-on-disk")
	b.ReportMetric(float64(s.Evicted), "evicted")
}

// The cost of opening a tree with many slices.
func BenchmarkOpen(b *testing.B) {
	const nodes = 20_000
	db, err := kv.Open(b.TempDir(), kv.Default())
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	tree := openTree(b, db, options(1<<30))
	for n := range nodes / 10 {
		var names []string
		for i := range 10 {
			names = append(names, fmt.Sprint(n, i))
		}
		r := request("s", "m", percached.Parallel, names...)
		insert(b, tree, r, slicesOf(r, percached.KV, 150))
	}
	tree.Close()
	for b.Loop() {
		tree, err := qkvtree.Open(db, options(1<<30))
		if err != nil {
			b.Fatal(err)
		}
		tree.Close()
	}
	b.ReportMetric(nodes, "slices")
}
