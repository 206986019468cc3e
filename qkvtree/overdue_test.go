package qkvtree

import (
	"errors"
	"fmt"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// An eviction that fails, for example because the disk is full, is tried again with the next
// write: the tree falls below its limits without a restart.
func TestFailedEvictionIsTriedAgain(t *testing.T) {
	for name, lower := range map[string]func(*Tree) error{
		"the tree's limit":  func(t *Tree) error { return t.SetLimit(10_000) },
		"the space's limit": func(t *Tree) error { return t.SetSpaceLimit("s", 10_000) },
	} {
		for again, write := range map[string]func(*Tree) error{
			"an insert":      func(t *Tree) error { return t.Insert(storedChunk(0)) },
			"a flush":        (*Tree).Flush,
			"the same limit": lower,
		} {
			t.Run(name+", "+again, func(t *testing.T) {
				tree, broken := openFailing(t)
				for n := range 20 {
					if err := tree.Insert(storedChunk(n)); err != nil {
						t.Fatal(err)
					}
				}
				whole := tree.store.db
				tree.store.db = broken
				if err := lower(tree); err == nil {
					t.Fatal("a broken disk lost slices without an error")
				}
				tree.store.db = whole
				if err := write(tree); err != nil {
					t.Fatal(err)
				}
				if s, err := tree.Stats(); err != nil || s.Bytes > 10_000 || s.Nodes == 0 {
					t.Errorf("%d bytes in %d slices, the limit is 10000; %v", s.Bytes, s.Nodes, err)
				}
				if tree.overdue {
					t.Error("the next write evicts again")
				}
			})
		}
	}
}

// A slice that cannot be deleted whole is no longer lent from memory: its header may be gone.
func TestFailedEvictionDropsHot(t *testing.T) {
	tree, broken := openFailing(t)
	tree.SetHotLimit(1 << 20)
	r, stored := storedChunk(0)
	if err := tree.Insert(r, stored); err != nil {
		t.Fatal(err)
	}
	if err := tree.View(r, func([]*percached.Slice, Match) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if n, _ := tree.Hot(); n == 0 {
		t.Fatal("no slice is in memory")
	}
	tree.store.db = broken
	if _, _, err := tree.Forget(r.Space, []percached.ChunkID{r.Segments[1].Chunk}); err == nil {
		t.Fatal("a broken disk lost a slice without an error")
	}
	if n, _ := tree.Hot(); n > 0 {
		t.Errorf("%d bytes stay in memory", n)
	}
}

// openFailing opens a tree, and a database in which no write succeeds.
func openFailing(t *testing.T) (*Tree, *kv.DB) {
	t.Helper()
	open := func() *kv.DB {
		o := kv.Default()
		o.ValueLogFileSize, o.MemTableSize, o.MinFree, o.Disposable = 4<<20, 1<<20, 0, true
		db, err := kv.Open(t.TempDir(), o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	o := Default()
	o.Key = []byte("0123456789abcdef")
	db, broken := open(), open()
	tree, err := Open(db, o)
	if err = errors.Join(err, broken.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree, broken
}

// storedChunk is a request for one chunk, with its slice.
func storedChunk(n int) (Request, []*percached.Slice) {
	name := fmt.Sprint("chunk ", n)
	r := Request{Space: "s", Model: "m", Placement: percached.Parallel, Segments: []Node{{Tokens: []int32{1}}, {Tokens: []int32{int32(n), 2}, Chunk: percached.NewChunkID(name)}}}
	root := percached.Path{}.Child(r.Segments[0].Tokens)
	s := &percached.Slice{Model: r.Model, Path: root.Child(r.Segments[1].Tokens), Start: 1, Tokens: r.Segments[1].Tokens, Planes: percached.KV}
	p := percached.Piece{To: 2, KV: make([]byte, 1000)}
	p.Sum = p.Checksum()
	s.Pieces = []percached.Piece{p}
	return r, []*percached.Slice{nil, s}
}
