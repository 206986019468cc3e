package knowledgebank

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// syncedBank opens a bank as the product does.
func syncedBank(b *testing.B) *Bank {
	o := kv.Default()
	o.Sync, o.MinFree = true, 0
	db, err := kv.Open(b.TempDir(), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	k := openBank(b, db)
	create(b, k, "home")
	return k
}

func mails(n int) []*Source {
	out := make([]*Source, n)
	for i := range out {
		out[i] = long(fmt.Sprint("mail", i), uint64(i), 250)
	}
	return out
}

func report(b *testing.B, k *Bank) {
	s, err := k.Stats("home")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(s.Documents)/b.Elapsed().Seconds(), "documents/s")
	b.ReportMetric(float64(s.Chunks)/b.Elapsed().Seconds(), "chunks/s")
}

func BenchmarkAdd(b *testing.B) {
	k, sources := syncedBank(b), mails(2000)
	n := 0
	for b.Loop() {
		s := *sources[n%len(sources)]
		s.Key = fmt.Sprint("k", n)
		s.Title = s.Key
		add(b, k, "home", &s)
		n++
	}
	report(b, k)
}

func BenchmarkAddAll(b *testing.B) {
	k, sources := syncedBank(b), mails(2048)
	n := 0
	for b.Loop() {
		batch := make([]*Source, 64)
		for i := range batch {
			s := *sources[(n+i)%len(sources)]
			s.Key = fmt.Sprint("k", n+i)
			s.Title = s.Key
			batch[i] = &s
		}
		n += len(batch)
		if _, err := k.AddAll(context.Background(), "home", batch); err != nil {
			b.Fatal(err)
		}
	}
	report(b, k)
}

func BenchmarkVersions(b *testing.B) {
	k := syncedBank(b)
	changes, err := k.AddAll(context.Background(), "home", mails(4000))
	if err != nil {
		b.Fatal(err)
	}
	var ids []percached.ChunkID
	for _, c := range changes {
		ids = append(ids, c.New...)
	}
	r := rand.New(rand.NewPCG(1, 1))
	for b.Loop() {
		at := r.IntN(len(ids) - 5)
		if v, err := k.Versions("home", ids[at:at+5]); err != nil || len(v) != 5 {
			b.Fatal(v, err)
		}
	}
}
