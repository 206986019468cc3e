package qkvtree_test

import (
	"fmt"
	"testing"

	"github.com/percached/percached"
)

// What lending costs: badger's checksum and ours over every byte.
func BenchmarkView(b *testing.B) {
	for _, mib := range []int{1, 16} {
		b.Run(fmt.Sprintf("%dMiB", mib), func(b *testing.B) {
			dir := b.TempDir()
			db := open(b, dir)
			s := slice(1, percached.KV, 64, 16<<10, 64*mib)
			if err := store(b, db).Put(space, percached.Parallel, s); err != nil {
				b.Fatal(err)
			}
			db.Close()
			st := store(b, open(b, dir))
			b.SetBytes(s.Bytes())
			for b.Loop() {
				if err := st.View(space, percached.Parallel, model, []percached.Path{s.Path}, func([]*percached.Slice) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPut(b *testing.B) {
	st := store(b, open(b, b.TempDir()))
	s := slice(1, percached.KV, 64, 16<<10, 64*16)
	b.SetBytes(s.Bytes())
	for b.Loop() {
		if err := st.Put(space, percached.Parallel, s); err != nil {
			b.Fatal(err)
		}
	}
}
