package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
)

// Unfinished work of an earlier process that cannot be completed does not prevent opening,
// and is not taken for done.
func TestOpensWithWorkLeft(t *testing.T) {
	ctx := context.Background()
	c := node.Default()
	c.Data, c.Threads, c.MaxTokens = t.TempDir(), 1, 4
	s := nodetest.Open(t, c)
	if err := s.Meta.Update(func(tx *kv.Tx) error { return tx.Set([]byte("Fp of a later version"), []byte{9}) }); err != nil {
		t.Fatal(err)
	}
	s.Home.Unclean = true // as after a crash
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		var log bytes.Buffer
		s, err := node.Open(ctx, c, true, &log)
		if err != nil {
			t.Fatal(err)
		}
		if !s.Home.Unclean || !strings.Contains(log.String(), "work of an earlier process") {
			t.Errorf("unclean %v, log %q", s.Home.Unclean, log.String())
		}
		if _, err := s.Asker.Ask(ctx, answer.Question{Space: nodetest.Space, Text: "Who leads Otter?"}, answer.Listener{}); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Counts in memory survive a crash once they are flushed.
func TestCountsSurviveACrash(t *testing.T) {
	ctx := context.Background()
	c := node.Default()
	c.Data, c.Threads = t.TempDir(), 1
	s := nodetest.Open(t, c)
	defer s.Close()
	for _, bypass := range []bool{false, true, false} {
		if _, err := s.Asker.Ask(ctx, answer.Question{Space: nodetest.Space, Text: "Who leads Otter?", Bypass: bypass}, answer.Listener{}); err != nil {
			t.Fatal(err)
		}
	}
	counted := func(s *node.Node) [3]uint64 {
		past, err := s.History.Recent(nodetest.Space, 10)
		if err != nil {
			t.Fatal(err)
		}
		uses := uint64(0)
		s.Tree.Nodes(nodetest.Space, func(i qkvtree.Info) { uses += i.Hits })
		return [3]uint64{s.Bank.Stats(nodetest.Space).Hits, uses, uint64(len(past))}
	}
	crashed := func() [3]uint64 {
		left := c
		left.Data = t.TempDir()
		copyLive(t, c.Data, left.Data)
		s, err := node.Open(ctx, left, false, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		return counted(s)
	}
	before, want := crashed(), counted(s)
	for i, n := range want {
		if n <= before[i] {
			t.Fatalf("%v were counted, of which %v were on the disk at once: the test shows nothing", want, before)
		}
	}
	running, stop := context.WithCancel(ctx)
	when, over := make(chan time.Time), make(chan struct{})
	go func() {
		s.FlushOnTick(running, when)
		close(over)
	}()
	when <- time.Time{}
	when <- time.Time{} // the first is done
	stop()
	<-over
	if got := crashed(); got != want {
		t.Errorf("%v after a crash, want %v", got, want)
	}
}

// copyLive copies a data folder in use without the index, which merges its files at any time
// and is rebuilt if it is missing.
func copyLive(t *testing.T, from, to string) {
	t.Helper()
	parts, err := os.ReadDir(from)
	for _, p := range parts {
		there, here := filepath.Join(from, p.Name()), filepath.Join(to, p.Name())
		switch {
		case err != nil || p.Name() == "index":
		case p.IsDir():
			err = os.CopyFS(here, os.DirFS(there))
		default:
			var b []byte
			if b, err = os.ReadFile(there); err == nil {
				err = os.WriteFile(here, b, 0o600)
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Questions are asked while documents are added and deleted, the limit changes and files are
// rewritten. Everything stored at the end depends on existing documents only.
func TestTogether(t *testing.T) {
	ctx := context.Background()
	c := node.Default()
	c.Data, c.Threads, c.ChunkWords, c.MaxTokens, c.TensorLimit = t.TempDir(), 1, 40, 4, 4<<20
	s := nodetest.Open(t, c)
	defer s.Close()
	stop := make(chan struct{})
	var askers sync.WaitGroup
	for n := range 3 {
		askers.Go(func() {
			for i := n; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				q := answer.Question{Space: nodetest.Space, Text: fmt.Sprintf("What is the code of %s?", nodetest.Names()[i%6]), Bypass: i%4 == 0}
				if i%5 == 0 {
					q.Text = "What is the password of " + canary + "?"
				}
				if _, err := s.Asker.Ask(ctx, q, answer.Listener{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	secret := &knowledgebank.Source{
		Key: "secret", Title: canary, Source: "note", Blocks: []knowledgebank.Block{{Text: "The password of " + canary + " is swordfish."}},
	}
	for i := range repeated(12, 4) {
		if _, err := s.Library.Add(ctx, nodetest.Space, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
			if err := emit(nodetest.Letter(i%3, i)); err != nil {
				return err
			}
			return emit(secret)
		}, nil); err != nil {
			t.Error(err)
		}
		if err := s.Tree.SetLimit(int64(1+i%4) << 20); err != nil {
			t.Error(err)
		}
		if _, err := s.Asker.Ask(ctx, answer.Question{Space: nodetest.Space, Text: "What is the password of " + canary + "?", Bypass: true}, answer.Listener{}); err != nil {
			t.Error(err)
		}
		for _, key := range []string{secret.Key, nodetest.Letter(i%3, 0).Key} {
			if _, err := s.Library.Delete(ctx, nodetest.Space, percached.NewDocumentID(key)); err != nil {
				t.Error(err)
			}
		}
		if i%4 == 3 {
			if err := s.Library.CleanUp(ctx, nil); err != nil {
				t.Error(err)
			}
		}
	}
	close(stop)
	askers.Wait()
	var ids []percached.ChunkID
	s.Tree.Nodes(nodetest.Space, func(n qkvtree.Info) {
		if n.Chunk != (percached.ChunkID{}) {
			ids = append(ids, n.Chunk)
		}
	})
	if err := s.Bank.Each(nodetest.Space, func(e qabank.Entry) error {
		for _, ev := range e.Evidence {
			ids = append(ids, ev.Chunk)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
	cited, err := s.History.Cited(nodetest.Space)
	if err != nil {
		t.Error(err)
	}
	ids = append(ids, cited...)
	alive, err := s.Knowledge.Versions(nodetest.Space, ids)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		if _, ok := alive[id]; !ok {
			t.Errorf("something rests on chunk %s, which is gone", id)
		}
	}
	if rep, err := s.Tree.Verify(ctx); err != nil || !rep.Clean() || len(ids) == 0 {
		t.Errorf("%+v, %v, %d", rep, err, len(ids))
	}
}

func TestSpaceKind(t *testing.T) {
	c := node.Default()
	c.Data = t.TempDir()
	s, err := node.Open(context.Background(), c, false, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, tc := range []struct {
		kind  string
		asked bool
		want  fault.Kind
	}{{"notes", false, 0}, {"emails", false, 0}, {"notes", true, 0}, {"emails", true, fault.Conflict}} {
		if err := s.Space("a", tc.kind, tc.asked); fault.KindOf(err) != tc.want {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}
