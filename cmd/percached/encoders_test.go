package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/backend"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/scheduler"
)

// heard is an embedder with prefixes that records its texts.
type heard struct {
	llm.Embedder
	mu    sync.Mutex
	texts []string
}

func (h *heard) Info() percached.EmbedderInfo {
	i := h.Embedder.Info()
	i.QueryPrefix, i.DocumentPrefix = "query: ", "passage: "
	return i
}

func (h *heard) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	h.mu.Lock()
	h.texts = append(h.texts, texts...)
	h.mu.Unlock()
	return h.Embedder.Embed(ctx, p, texts)
}

// since returns the texts since the last call.
func (h *heard) since() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	texts := h.texts
	h.texts = nil
	return texts
}

// Chunks are embedded as documents. Questions that are asked, searched for, predicted,
// imported or embedded again are embedded as questions. A client's texts get no prefix.
func TestTextsGetTheirPrefixes(t *testing.T) {
	ctx := context.Background()
	h := &heard{Embedder: llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())}
	c := node.Default()
	c.Data, c.Create, c.Volatile, c.Now = t.TempDir(), true, true, time.Now
	engine := llmtest.NewFake(llmtest.DefaultOptions())
	c.Engine, c.Embedder = engine, h
	s := nodetest.Open(t, c)
	all := func(what, prefix string) {
		t.Helper()
		texts := h.since()
		if len(texts) == 0 {
			t.Errorf("%s: nothing was embedded", what)
		}
		for _, text := range texts {
			if !strings.HasPrefix(text, prefix) || prefix == "" && strings.Contains(text, ": ") {
				t.Errorf("%s: %q was embedded", what, text)
			}
		}
	}
	all("documents", "passage: ")
	if _, err := s.Asker.Ask(ctx, answer.Question{Space: nodetest.Space, Text: "Who leads Otter?"}, answer.Listener{}); err != nil {
		t.Fatal(err)
	}
	all("a question", "query: Who leads")
	f := &backend.Backend{Node: s}
	if _, err := f.SearchEntries(ctx, api.EntrySearch{InSpace: api.InSpace{Space: nodetest.Space}, Query: "Who is Otter?", Limit: 1}); err != nil {
		t.Fatal(err)
	}
	all("a search", "query: Who is")
	if _, err := f.Embed(ctx, []string{"as it is"}); err != nil {
		t.Fatal(err)
	}
	all("a client's text", "")
	if _, err := s.Scheduler.Drain(ctx, scheduler.DrainRequest{}, func(scheduler.Step) {}); err != nil {
		t.Fatal(err)
	}
	all("idle work", "query: ")
	if err := s.Reindex(ctx, nodetest.Space, io.Discard); err != nil {
		t.Fatal(err)
	}
	if texts := h.since(); len(texts) != 0 {
		t.Errorf("embedded anew although nothing changed: %q", texts)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Vectors with other prefixes are not compared with current ones. Index and bank compute them
// again.
func TestOtherPrefixesAreAnotherEncoder(t *testing.T) {
	ctx := context.Background()
	model := filepath.Join(t.TempDir(), "model.gguf")
	if err := gguf.WriteRandom(model, gguf.RandomOptions{Architecture: "bert", Seed: 1, Name: "e5-tiny"}); err != nil {
		t.Fatal(err)
	}
	none := ""
	c := node.Default()
	c.Data, c.Create, c.Volatile, c.Now, c.Threads, c.EmbedModel = t.TempDir(), true, true, time.Now, 1, model
	c.Engine = llmtest.NewFake(llmtest.DefaultOptions())
	c.QueryPrefix, c.DocPrefix = &none, &none
	s := nodetest.Open(t, c)
	id, err := askOne(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	entry := func() qabank.Entry {
		t.Helper()
		e, err := s.Bank.Get(nodetest.Space, id)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	before := entry()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	c.QueryPrefix, c.DocPrefix = nil, nil // as the family wants it
	if s, err = node.Open(ctx, c, true, io.Discard); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if st, err := s.Index.Standing(nodetest.Space); err != nil || !st.EmbedderStale {
		t.Errorf("the old vectors are searched: %+v, %v", st, err)
	}
	if n := len(s.Bank.Match(nodetest.Space, before.Vector, s.Embedder.Info().Fingerprint, -1, 4)); n != 0 {
		t.Errorf("%d questions with old vectors are compared", n)
	}
	if err := s.Reindex(ctx, nodetest.Space, io.Discard); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Index.Standing(nodetest.Space); err != nil || st.EmbedderStale {
		t.Errorf("not made anew: %+v, %v", st, err)
	}
	after := entry()
	want, err := s.QuestionEmbedder.Embed(ctx, percached.Foreground, []string{after.Question})
	if err != nil {
		t.Fatal(err)
	}
	if got := dot(after.Vector, want[0]); got < 0.999 || dot(before.Vector, want[0]) > 0.9999 || after.Embedder == before.Embedder {
		t.Errorf("the question has the vector of %s at %.4f of what its prefix makes, before at %.4f", after.Embedder, got, dot(before.Vector, want[0]))
	}
}

func askOne(ctx context.Context, s *node.Node) (qabank.ID, error) {
	a, err := s.Asker.Ask(ctx, answer.Question{Space: nodetest.Space, Text: "Who leads Otter?"}, answer.Listener{})
	return a.Entry, err
}
