package qkvtree_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qkvtree"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		fmt.Fprintln(os.Stderr, child(dir))
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// whole compares tensors at once; byte by byte, go-cmp needs minutes.
func whole() cmp.Option { return cmp.Comparer(bytes.Equal) }

func dbOptions() kv.Options {
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree, o.Disposable = 4<<20, 1<<20, 0, true
	return o
}

// encryptedEnd ends the name of a folder whose database is encrypted.
const encryptedEnd = "-encrypted"

// optionsOf are the options of the database in a folder.
func optionsOf(dir string) kv.Options {
	o := dbOptions()
	if strings.HasSuffix(dir, encryptedEnd) {
		o.Key = []byte("0123456789abcdef0123456789abcdef")
	}
	return o
}

func openDB(t testing.TB, dir string) *kv.DB {
	t.Helper()
	db, err := kv.Open(dir, optionsOf(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func options(limit int64) qkvtree.Options {
	o := qkvtree.Default()
	o.Key, o.Limit = []byte("0123456789abcdef0123456789abcdef"), limit
	o.Now = func() time.Time { return time.Date(2025, 3, 4, 12, 0, 0, 0, time.UTC) }
	return o
}

func openTree(t testing.TB, db *kv.DB, o qkvtree.Options) *qkvtree.Tree {
	t.Helper()
	tree, err := qkvtree.Open(db, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return tree
}

// chunk is the ID of a chunk; "" is the system segment.
func chunk(name string) percached.ChunkID {
	if name == "" {
		return percached.ChunkID{}
	}
	return percached.NewChunkID(name)
}

// tokensOf makes some tokens up.
func tokensOf(name string, n int) []int32 {
	sum := sha256.Sum256([]byte(name))
	ts := make([]int32, n)
	for i := range ts {
		ts[i] = int32(binary.LittleEndian.Uint32(sum[i%8*4:])>>1) + int32(i)
	}
	return ts
}

// request is a request for a system segment and chunks of these names.
func request(space, model string, pl percached.Placement, names ...string) qkvtree.Request {
	r := qkvtree.Request{Space: space, Model: model, Placement: pl, Segments: []qkvtree.Node{{Tokens: tokensOf("", 4)}}}
	for _, n := range names {
		r.Segments = append(r.Segments, qkvtree.Node{Tokens: tokensOf(n, 4), Chunk: chunk(n)})
	}
	return r
}

// slicesOf computes the slices of a request: as with an engine, their content depends
// only on path and model.
func slicesOf(r qkvtree.Request, planes percached.Planes, sizes ...int) []*percached.Slice {
	var out []*percached.Slice
	var root, last percached.Path
	depth := map[percached.Path]int{}
	for i, n := range r.Segments {
		parent := last
		if r.Placement == percached.Parallel && !n.Turn {
			parent = root
		}
		s := &percached.Slice{Model: r.Model, Path: parent.Child(n.Tokens), Start: depth[parent] * 4, Tokens: n.Tokens, Planes: planes}
		depth[s.Path] = depth[parent] + 1
		if i == 0 {
			root = s.Path
		}
		if i == 0 || n.Turn || r.Placement == percached.Sequential {
			last = s.Path
		}
		size := 1000
		if len(sizes) > 0 {
			size = sizes[i%len(sizes)]
		}
		for from := 0; from < len(n.Tokens); from += 2 {
			p := percached.Piece{From: from, To: min(from+2, len(n.Tokens)), KV: noise(r.Model, s.Path, from, size/2)}
			if planes == percached.QKV {
				p.Q = noise(r.Model+"q", s.Path, from, size)
			}
			p.Sum = p.Checksum()
			s.Pieces = append(s.Pieces, p)
		}
		out = append(out, s)
	}
	return out
}

func noise(model string, p percached.Path, from, n int) []byte {
	sum := sha256.Sum256(append(append([]byte(model), p[:]...), byte(from)))
	b := make([]byte, n)
	for at := copy(b, sum[:]); at < n; at *= 2 {
		copy(b[at:], b[:at])
	}
	return b
}

// lent compares what View lends for a request with its slices, and returns which are
// stored.
func lent(t testing.TB, tree *qkvtree.Tree, r qkvtree.Request, want []*percached.Slice) []bool {
	t.Helper()
	var there []bool
	if err := tree.View(r, func(got []*percached.Slice, m qkvtree.Match) error {
		if len(got) != len(r.Segments) {
			t.Fatalf("%d slices for %d segments", len(got), len(r.Segments))
		}
		var sum qkvtree.Match
		for i, s := range got {
			there = append(there, s != nil)
			if s == nil {
				continue
			}
			sum.Segments++
			sum.Tokens += len(s.Tokens)
			sum.Bytes += s.Bytes()
			if d := cmp.Diff(want[i], s, whole()); d != "" {
				t.Errorf("segment %d: another slice: %.2000s", i, d)
			}
		}
		sum.Damaged = m.Damaged
		if m != sum {
			t.Errorf("match %+v, want %+v", m, sum)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return there
}

func insert(t testing.TB, tree *qkvtree.Tree, r qkvtree.Request, slices []*percached.Slice) {
	t.Helper()
	if err := tree.Insert(r, slices); err != nil {
		t.Fatal(err)
	}
}

// clean verifies the tree.
func clean(t testing.TB, tree *qkvtree.Tree) {
	t.Helper()
	r, err := tree.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s, err := tree.Stats()
	if err != nil {
		t.Fatal(err)
	}
	if !r.Clean() || r.Slices != s.Nodes || r.Bytes != s.Bytes {
		t.Errorf("verify: %+v; %d nodes of %d bytes", r, s.Nodes, s.Bytes)
	}
	if s.Bytes > s.Limit {
		t.Errorf("%d bytes stored, the limit is %d", s.Bytes, s.Limit)
	}
}
