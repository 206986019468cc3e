package qkvtree_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qkvtree"
)

// library fills the databases of the flip test: slices in tables and in the value log,
// overwritten, evicted and forgotten ones.
func library(t *testing.T, tree *qkvtree.Tree, ask func(qkvtree.Request, []*percached.Slice)) {
	t.Helper()
	for i := range 12 {
		pl := percached.Placement(i % 2)
		r := request(fmt.Sprint("s", i%3), "m", pl, fmt.Sprint("c", i), fmt.Sprint("c", i+1))
		ask(r, slicesOf(r, percached.Planes(i/6), 600+i*100, 70_000, 150_000))
	}
}

// image is a folder's files.
func image(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		files[filepath.Base(path)] = b
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

// flips returns the number of rounds and the seed. PERCACHED_FLIPS, as "rounds:seed",
// overrides both.
func flips(rounds int) (int, uint64) {
	seed := uint64(1)
	if testing.Short() {
		rounds /= 8
	}
	if s := os.Getenv("PERCACHED_FLIPS"); s != "" {
		fmt.Sscanf(s, "%d:%d", &rounds, &seed)
	}
	return rounds, seed
}

// Bytes flipped in any file of a closed or killed database: lent slices are still right,
// no request fails, and the process does not end.
func TestFlippedBytes(t *testing.T) {
	rounds, seed := flips(200)
	dir := t.TempDir()
	db := openDB(t, dir)
	tree := openTree(t, db, options(10<<20))
	fill := func(r qkvtree.Request, slices []*percached.Slice) { insert(t, tree, r, slices) }
	library(t, tree, fill)
	if _, _, err := tree.Forget("s1", []percached.ChunkID{chunk("c4")}); err != nil {
		t.Fatal(err)
	}
	if err := tree.Compact(t.Context(), nil); err != nil { // so that there are tables
		t.Fatal(err)
	}
	library(t, tree, fill)
	if err := tree.SetLimit(3 << 20); err != nil {
		t.Fatal(err)
	}
	library(t, tree, fill)
	killed := image(t, dir)
	tree.Close()
	db.Close()
	closed := image(t, dir)

	for round := range rounds {
		files := closed
		if round%3 == 0 {
			files = killed
		}
		t.Run(strconv.Itoa(round), func(t *testing.T) { flipped(t, files, rand.New(rand.NewPCG(seed, uint64(round)))) })
	}
}

func flipped(t *testing.T, files map[string][]byte, rnd *rand.Rand) {
	dir := filepath.Join(t.TempDir(), "db")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(files))
	victim := names[rnd.IntN(len(names))]
	for name, b := range files {
		if name == victim && len(b) > 0 {
			b = slices.Clone(b)
			used := len(b) // mostly where there are data
			for used > 1 && b[used-1] == 0 {
				used--
			}
			for range 1 + rnd.IntN(3) {
				at := rnd.IntN(used)
				switch rnd.IntN(4) {
				case 0:
					at = rnd.IntN(min(used, 64))
				case 1:
					at = used - 1 - rnd.IntN(min(used, 64))
				}
				b[at] ^= byte(1 << rnd.IntN(8))
				if os.Getenv("PERCACHED_FLIPS") != "" {
					fmt.Fprintf(os.Stderr, "%s: %s at %d of %d\n", t.Name(), name, at, len(b))
				}
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		o := dbOptions()
		o.Observer.SetAside = func(_, _ string, cause error) { t.Logf("set aside for %s: %v", victim, cause) }
		db, err := kv.Open(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		tree := openTree(t, db, options(3<<20))
		library(t, tree, func(r qkvtree.Request, whole []*percached.Slice) {
			rightful(t, tree, r)
			insert(t, tree, r, whole)
			rightful(t, tree, r)
		})
		clean2(t, tree)
		if err := tree.SetLimit(2 << 20); err != nil {
			t.Error(err)
		}
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// clean2 lets the tree repair what Verify finds.
func clean2(t *testing.T, tree *qkvtree.Tree) {
	t.Helper()
	if _, err := tree.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	clean(t, tree)
}

// Bytes flipped under an open database, as by a failing disk: lent slices are right, no
// request fails, and space is still reclaimed.
func TestFlippedWhileOpen(t *testing.T) {
	rounds, seed := flips(8)
	for round := range rounds {
		rnd := rand.New(rand.NewPCG(seed, uint64(round)))
		dir := t.TempDir()
		db := openDB(t, dir)
		tree := openTree(t, db, options(10<<20))
		fill := func(r qkvtree.Request, slices []*percached.Slice) { insert(t, tree, r, slices) }
		library(t, tree, fill)
		if err := tree.Compact(t.Context(), nil); err != nil { // so that there are tables
			t.Fatal(err)
		}
		library(t, tree, fill)
		for range 20 {
			flipInPlace(t, dir, rnd)
			library(t, tree, func(r qkvtree.Request, whole []*percached.Slice) { rightful(t, tree, r) })
			r := request("s9", "m", percached.Parallel, fmt.Sprint("new", rnd.IntN(40)))
			insert(t, tree, r, slicesOf(r, percached.KV, 200_000))
			rightful(t, tree, r)
		}
		if err := tree.SetLimit(1 << 20); err != nil {
			t.Error(err)
		}
		if _, err := tree.Verify(t.Context()); err != nil {
			t.Error(err)
		}
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// flipInPlace flips a bit in a value log, or in a small slice's tensors inside a table.
func flipInPlace(t *testing.T, dir string, rnd *rand.Rand) {
	t.Helper()
	pattern, inTable := "*.vlog", rnd.IntN(3) == 0
	if inTable {
		pattern = "*.sst"
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		return
	}
	path := found[rnd.IntN(len(found))]
	b, err := os.ReadFile(path)
	if err != nil || len(b) == 0 { // compacted away
		return
	}
	at := rnd.IntN(min(len(b), 3<<20))
	if inTable {
		r := request(fmt.Sprint("s", rnd.IntN(3)), "m", percached.Placement(rnd.IntN(2)))
		if at = bytes.Index(b, slicesOf(r, percached.KV)[0].Pieces[0].KV[:32]); at < 0 {
			return
		}
		at += rnd.IntN(32)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{b[at] ^ byte(1<<rnd.IntN(8))}, int64(at)); err != nil {
		t.Fatal(err)
	}
}
