package idle_test

import (
	"context"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/scheduler"
)

// Of the chunks that nobody asked for, those come first that a question nearly found;
// without questions, the newest.
func TestWarmNearby(t *testing.T) {
	b := newBench(t, func(b *bench) { b.set.Placement, b.set.K = percached.Parallel, 1 })
	b.add("budget of Heron", "The budget of Heron is 46 thousand euros.")
	b.add("budget of Wren", "The budget of Wren is small.")
	b.add("office", "The office stands in Leeds.")
	b.add("gulls", "Gulls sleep on the harbour wall in winter.")
	first := func() string {
		t.Helper()
		worker, err := idle.New(b.Parts, b.config)
		b.ok(err)
		due, err := worker.Due(context.Background(), space, scheduler.Warm, 1)
		b.ok(err)
		if len(due) != 1 {
			t.Fatalf("%d chunks are due", len(due))
		}
		for _, key := range []string{"budget of Heron", "budget of Wren", "office", "gulls"} {
			d, err := b.Knowledge.Document(space, b.document(key))
			b.ok(err)
			if slices.ContainsFunc(d.Chunks, func(c percached.ChunkID) bool { return hex.EncodeToString(c[:]) == due[0].Subject }) {
				return key
			}
		}
		return "none of them"
	}
	if got := first(); got != "gulls" {
		t.Errorf("before any question %s comes first, not the newest", got)
	}
	b.ask("What is the budget of Heron?") // its chunk is stored then
	if got := first(); got != "budget of Wren" {
		t.Errorf("behind the question %s comes first", got)
	}
}

// texts is an embedder that counts what it embeds.
type texts struct {
	*llmtest.FakeEmbedder
	n map[string]int
}

func (e texts) Embed(ctx context.Context, p percached.Priority, all []string) ([][]float32, error) {
	for _, t := range all {
		e.n[t]++
	}
	return e.FakeEmbedder.Embed(ctx, p, all)
}

// The latest questions are embedded once, however often idle work looks for what to read ahead.
func TestLatestQuestionsAreEmbeddedOnce(t *testing.T) {
	b := newBench(t, func(b *bench) { b.set.Placement, b.set.K = percached.Parallel, 1 })
	b.add("budget of Heron", "The budget of Heron is 46 thousand euros.")
	b.add("budget of Wren", "The budget of Wren is small.")
	b.add("office", "The office stands in Leeds.")
	counted := texts{b.embedder, map[string]int{}}
	parts := b.Parts
	parts.Embedder = counted
	worker, err := idle.New(parts, b.config)
	b.ok(err)
	look := func() []scheduler.Due {
		t.Helper()
		due, err := worker.Due(context.Background(), space, scheduler.Warm, 10)
		b.ok(err)
		return due
	}
	const first, second = "What is the budget of Heron?", "Where does the office stand?"
	b.ask(first)
	before := look()
	if again := look(); counted.n[first] != 1 || !slices.Equal(before, again) {
		t.Errorf("embedded %d times, then %v is due, first %v", counted.n[first], again, before)
	}
	b.ask(second)
	look()
	if counted.n[first] != 1 || counted.n[second] != 1 {
		t.Errorf("embedded %v", counted.n)
	}
}
