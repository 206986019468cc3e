package qabank_test

import (
	"context"
	"testing"

	"github.com/percached/percached"
)

type fakeEmbedder struct {
	print string
	embed func(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)
}

func (f fakeEmbedder) Info() percached.EmbedderInfo {
	return percached.EmbedderInfo{Fingerprint: f.print}
}

func (f fakeEmbedder) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	return f.embed(ctx, p, texts)
}

// Entries of another embedder, or of none, get vectors of this one in the background, and
// keep everything else.
func TestReembed(t *testing.T) {
	ctx := context.Background()
	b := start(t, 1<<20)
	old := b.put(entry("mail", "Old?", 1))
	bare := entry("mail", "Bare?", 1)
	bare.Vector, bare.Embedder = nil, ""
	none := b.put(bare)
	now := entry("mail", "New?", 1)
	now.Vector, now.Embedder = []float32{1, 0, 0}, "new"
	b.put(now)
	b.put(entry("notes", "Old?", 1))
	b.bank.Hit("mail", old)
	seen := 0
	by := fakeEmbedder{"new", func(_ context.Context, p percached.Priority, texts []string) ([][]float32, error) {
		if p != percached.Background {
			t.Error("in the foreground")
		}
		out := make([][]float32, len(texts))
		for i := range texts {
			out[i] = []float32{0, 1, 0}
			seen++
		}
		return out, nil
	}}
	n, err := b.bank.Reembed(ctx, "mail", by)
	if n != 2 || seen != 2 || err != nil {
		t.Errorf("%d done, %d embedded, %v", n, seen, err)
	}
	for range 2 {
		m := b.bank.Match("mail", []float32{0, 2, 0}, "new", 0.9, 5)
		if len(m) != 2 || len(b.bank.Match("mail", unit("Old?"), "emb", -1, 5)) != 0 {
			t.Errorf("matches %v", m)
		}
		e := b.get("mail", old)
		if e.Hits != 1 || e.Answer != "The answer to Old?" || e.Embedder != "new" || b.get("mail", none).Embedder != "new" {
			t.Errorf("%+v", e)
		}
		b.counted()
		b.reopen(false)
	}
	if n, err := b.bank.Reembed(ctx, "mail", by); n != 0 || err != nil {
		t.Error(n, err)
	}
	if len(b.bank.Match("notes", unit("Old?"), "emb", 0.9, 5)) != 1 {
		t.Error("another space was touched")
	}
	// A failing embedder changes nothing.
	bad := fakeEmbedder{"bad", func(context.Context, percached.Priority, []string) ([][]float32, error) {
		return nil, context.Canceled
	}}
	if n, err := b.bank.Reembed(ctx, "mail", bad); n != 0 || err == nil {
		t.Error(n, err)
	}
	if len(b.bank.Match("mail", []float32{0, 2, 0}, "new", 0.9, 5)) != 2 {
		t.Error("lost by a failure")
	}
}

// Longer vectors evict entries if necessary.
func TestReembedEvicts(t *testing.T) {
	b := start(t, 4*entrySize(t))
	for i := range 4 {
		b.put(entry("mail", ask(i), 1))
	}
	by := fakeEmbedder{"new", func(_ context.Context, _ percached.Priority, texts []string) ([][]float32, error) {
		out := make([][]float32, len(texts))
		for i := range texts {
			out[i] = make([]float32, 64)
		}
		return out, nil
	}}
	if n, err := b.bank.Reembed(t.Context(), "mail", by); n != 4 || err != nil {
		t.Error(n, err)
	}
	if s := b.bank.Stats("mail"); s.Entries == 0 || s.Entries == 4 {
		t.Errorf("%+v", s)
	}
	b.counted()
}
