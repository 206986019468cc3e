package main

import (
	"context"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv/kvtest"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/knowledgebank"
)

// A flipped byte in any file of stored tensors costs time, never an answer.
func TestFlippedBytes(t *testing.T) {
	ctx := context.Background()
	c := node.Default()
	c.Data, c.Threads, c.ChunkWords, c.MaxTokens, c.TensorLimit = t.TempDir(), 1, 40, 8, 1<<30
	s := nodetest.Open(t, c)
	questions := []string{"What is the budget for Heron?", "Who leads Otter?", "What is the code of Lark?"}
	want := map[string]string{}
	ask := func() {
		t.Helper()
		for _, q := range questions {
			a, err := s.Asker.Ask(ctx, answer.Question{Space: nodetest.Space, Text: q, Bypass: true}, answer.Listener{})
			if err != nil {
				t.Fatal(err)
			}
			if want[q] == "" {
				want[q] = a.Text
			}
			if a.Text != want[q] {
				t.Errorf("%q, before the damage %q", a.Text, want[q])
			}
		}
	}
	ask()
	rng := rand.New(rand.NewPCG(5, 5))
	for range repeated(40, 12) {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		flipIn(t, rng, filepath.Join(c.Data, "tensors"))
		var err error
		if s, err = node.Open(ctx, c, true, io.Discard); err != nil {
			t.Fatal(err)
		}
		ask()
		if rep, err := s.Tree.Verify(ctx); err != nil {
			t.Errorf("%+v, %v", rep, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// flipIn flips some bytes of one file below dir.
func flipIn(t *testing.T, rng *rand.Rand, dir string) {
	t.Helper()
	var files []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil && info.Size() > 0 {
				files = append(files, path)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	path := files[rng.IntN(len(files))]
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 1 + rng.IntN(4) {
		b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// On a full disk nothing new is stored and stored data stays readable. With free space
// everything works again.
func TestFullDisk(t *testing.T) {
	ctx := context.Background()
	c := node.Default()
	c.Create, c.Data, c.Threads, c.ChunkWords, c.MaxTokens, c.TensorLimit = true, filepath.Join(kvtest.NewDisk(t, "tmpfs", "300").Dir, "data"), 1, 40, 8, 1<<30
	s := nodetest.Open(t, c)
	defer func() { s.Close() }()
	const known, other = "What is the budget for Heron?", "Who leads Otter?"
	ask := func(text string) answer.Answer {
		t.Helper()
		a, err := s.Asker.Ask(ctx, answer.Question{Space: nodetest.Space, Text: text}, answer.Listener{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	want := ask(known).Text
	ballast := filepath.Join(filepath.Dir(c.Data), "ballast")
	if err := os.WriteFile(ballast, make([]byte, 100<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	add := func() error {
		_, err := s.Library.Add(ctx, nodetest.Space, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
			return emit(&knowledgebank.Source{Key: "late", Title: "Late", Source: "note", Blocks: []knowledgebank.Block{{Text: "The late note says so."}}})
		}, nil)
		return err
	}
	if err := add(); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "disk is full: 128 MiB must be free") {
		t.Errorf("adding on a full disk: %v", err)
	}
	if _, err := s.Knowledge.Document(nodetest.Space, percached.NewDocumentID("late")); fault.KindOf(err) != fault.NotFound {
		t.Errorf("half a document: %v", err)
	}
	if a := ask(known); a.Text != want || a.Outcome != answer.AnswerHit {
		t.Errorf("a stored answer on a full disk: %+v", a)
	}
	if a := ask(other); a.Text == "" || len(a.Notes) == 0 {
		t.Errorf("a new answer on a full disk: %+v", a)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := add(); err != nil {
		t.Errorf("there is room again: %v", err)
	}
	if a := ask(other); len(a.Notes) > 0 {
		t.Errorf("there is room again: %q", a.Notes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var err error
	if s, err = node.Open(ctx, c, true, io.Discard); err != nil {
		t.Fatal(err)
	}
	if rep, err := s.Tree.Verify(ctx); err != nil || !rep.Clean() {
		t.Errorf("%+v, %v", rep, err)
	}
}
