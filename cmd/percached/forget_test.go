package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/scheduler"
)

// The canary is in a document and in questions about it, and nowhere else.
const (
	canary      = "Zyxwvquorn"
	canaryLower = "zyxwvquorn"
)

// traces returns the files of a folder that contain the canary: as text, in compressed
// blocks, or as tokens.
func traces(t *testing.T, dir string, tokens []byte) (found []string) {
	t.Helper()
	holds := func(b []byte) string {
		switch {
		case bytes.Contains(b, []byte(canary)), bytes.Contains(b, []byte(canaryLower)):
			return "text"
		case bytes.Contains(b, tokens):
			return "tokens"
		}
		return ""
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if what := holds(b); what != "" {
			found = append(found, name+": "+what)
		}
		if filepath.Dir(name) == "." || strings.HasPrefix(name, "meta") || strings.HasPrefix(name, "tensors") || strings.HasPrefix(name, "models") {
			return nil // nothing of documents is compressed there
		}
		for i := range b { // the index compresses blocks; where they begin is its own business
			if holds(unsnap(b[i:])) != "" {
				found = append(found, name+": compressed text")
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// unsnap decodes a Snappy block at the start of b as far as possible. Unlike the libraries it
// does not need the length of the block.
func unsnap(b []byte) []byte {
	size, n := binary.Uvarint(b)
	if n <= 0 || size < uint64(len(canary)) || size > 1<<20 {
		return nil
	}
	var out []byte
	for b = b[n:]; uint64(len(out)) < size && len(b) > 4; {
		length, offset := int(b[0]>>2)+1, 0
		switch b[0] & 3 {
		case 0:
			head := 1
			if extra := length - 60; extra > 0 {
				if extra > 2 || len(b) < 1+extra {
					return out
				}
				length, head = int(b[1])+1, 1+extra
				if extra == 2 {
					length += int(b[2]) << 8
				}
			}
			if len(b) < head+length {
				return out
			}
			out, b = append(out, b[head:head+length]...), b[head+length:]
			continue
		case 1:
			length, offset, b = int(b[0]>>2)&7+4, int(b[0]>>5)<<8|int(b[1]), b[2:]
		case 2:
			offset, b = int(b[1])|int(b[2])<<8, b[3:]
		case 3:
			offset, b = int(binary.LittleEndian.Uint32(b[1:5])), b[5:]
		}
		if offset <= 0 || offset > len(out) {
			return out
		}
		for range length {
			out = append(out, out[len(out)-offset])
		}
	}
	return out
}

// The assumptions of the search for traces.
func TestUnsnap(t *testing.T) {
	// 30 bytes: the canary as it is, then 20 bytes from 10 bytes before.
	block := append([]byte("\x1e\x24"), canary+"\x4e\x0a\x00 and what is behind it"...)
	if got, want := string(unsnap(block)), strings.Repeat(canary, 3); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestForgottenIsGone(t *testing.T) {
	ctx := context.Background()
	c := node.Default()
	c.Data, c.Threads, c.ChunkWords, c.MaxTokens, c.TensorLimit = t.TempDir(), 1, 40, 8, 1<<30
	s, err := node.Open(ctx, c, true, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	if err := s.Knowledge.CreateSpace(percached.Space{Name: nodetest.Space, Kind: "emails"}); err != nil {
		t.Fatal(err)
	}
	secret := &knowledgebank.Source{
		Key: "mail:secret", Title: "The " + canary + " affair", Source: "mail from " + canary, Format: "mail", Path: "/x/" + canary + ".eml",
		Blocks: []knowledgebank.Block{{Text: "The password of " + canary + " is swordfish. Tell nobody else about it."}},
	}
	if _, err := s.Library.Add(ctx, nodetest.Space, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
		for i := range repeated(len(nodetest.Names()), 3) {
			if err := emit(nodetest.Letter(i, 0)); err != nil {
				return err
			}
		}
		return emit(secret)
	}, nil); err != nil {
		t.Fatal(err)
	}
	ask := func(text string) answer.Answer {
		t.Helper()
		a, err := s.Asker.Ask(ctx, answer.Question{Space: nodetest.Space, Text: text}, answer.Listener{})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	ask("What is the password of " + canary + "?")
	ask("Who knows about " + canary + "?")
	kept := ask("What is the budget for Heron?")
	if _, err := s.Scheduler.Drain(ctx, scheduler.DrainRequest{}, nil); err != nil { // summaries, and predicted questions
		t.Fatal(err)
	}
	tokens := canaryTokens(t, s, secret)
	if err := s.Meta.Sync(); err != nil {
		t.Fatal(err)
	}
	before := traces(t, c.Data, tokens)
	if !slices.ContainsFunc(before, func(s string) bool { return strings.HasPrefix(s, "meta") }) ||
		!slices.ContainsFunc(before, func(s string) bool { return strings.HasPrefix(s, "tensors") }) {
		t.Fatalf("the search finds nothing where there is something: %q", before)
	}
	r, err := s.Library.Delete(ctx, nodetest.Space, percached.NewDocumentID(secret.Key))
	if err != nil {
		t.Fatal(err)
	}
	if r.Documents != 1 || r.Chunks != 1 || r.Vectors != 1 || r.Indexed != 1 || r.Slices == 0 || r.Bytes == 0 || r.Entries < 2 || r.History < 2 || r.Summaries != 1 {
		t.Errorf("the receipt: %+v", r)
	}
	if a := ask("What is the password of " + canary + "?"); a.Outcome == answer.AnswerHit {
		t.Error("what is forgotten was served")
	}
	// That question was asked after the deletion: it is the history's own.
	if _, err := s.History.DropSpace(nodetest.Space); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bank.DropSpace(ctx, nodetest.Space); err != nil {
		t.Fatal(err)
	}
	if err := s.Library.CleanUp(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if found := traces(t, c.Data, tokens); len(found) > 0 {
		t.Errorf("left while open: %q", found)
	}
	again := ask("What is the budget for Heron?")
	if again.Text != kept.Text {
		t.Errorf("%q, before the clean-up %q", again.Text, kept.Text)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if found := traces(t, c.Data, tokens); len(found) > 0 {
		t.Errorf("left when closed: %q", found)
	}
	if s, err = node.Open(ctx, c, true, io.Discard); err != nil {
		t.Fatal(err)
	}
	if rep, err := s.Tree.Verify(ctx); err != nil || !rep.Clean() || rep.Slices == 0 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// A daemon is ready although bytes of deleted data are on disk, and removes them whether idle
// work is allowed or not.
func TestStartTidies(t *testing.T) {
	c := node.Default()
	c.Data = t.TempDir()
	s, err := node.Open(t.Context(), c, false, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Library.RemoveFromMeta(t.Context(), "s", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	untidy(t, s, true)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	conf := config.DaemonDefault()
	conf.Data, conf.Serving.Listen, conf.Idle.Compute = c.Data, "127.0.0.1:0", 0
	var g node.Dependencies
	g.Embedder = llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	a := startServing(t, c.Data, func(ctx context.Context, stdout, stderr io.Writer) error {
		return daemon.Serve(ctx, config.Of(conf, daemon.CheckConfig), g, stdout, stderr)
	})
	if err := a.log.await(patiently(t), "removed the bytes of deleted data"); err != nil {
		t.Fatalf("%v\n%s", err, a.log)
	}
	a.end()
	if s, err = node.Open(t.Context(), c, false, io.Discard); err != nil {
		t.Fatal(err)
	}
	untidy(t, s, false)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func untidy(t *testing.T, s *node.Node, want bool) {
	t.Helper()
	if got, err := s.Library.NeedsCleanUp(); got != want || err != nil {
		t.Errorf("bytes of what was forgotten are on the disk: %v, %v", got, err)
	}
}

// canaryTokens are the tokens of the canary in its chunk, as in the headers of slices.
func canaryTokens(t *testing.T, s *node.Node, secret *knowledgebank.Source) []byte {
	t.Helper()
	d, err := s.Knowledge.Document(nodetest.Space, percached.NewDocumentID(secret.Key))
	if err != nil {
		t.Fatal(err)
	}
	chunks, err := s.Knowledge.Chunks(nodetest.Space, d.Chunks)
	if err != nil {
		t.Fatal(err)
	}
	tokens, err := s.Engine.Tokenize(s.Engine.Info().Chat.Ask("", []string{chunks[0].Rendered(), " " + canary}, "?"))
	if err != nil {
		t.Fatal(err)
	}
	word := tokens[2]
	if len(word) < 3 {
		t.Fatalf("the canary has %d tokens", len(word))
	}
	var b []byte
	for _, id := range word {
		b = binary.LittleEndian.AppendUint32(b, uint32(id))
	}
	var all []byte
	for _, id := range tokens[1] {
		all = binary.LittleEndian.AppendUint32(all, uint32(id))
	}
	if !bytes.Contains(all, b) {
		t.Fatal("the canary's tokens are others inside its chunk")
	}
	return b
}
