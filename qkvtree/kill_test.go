package qkvtree_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qkvtree"
)

const childEnv = "PERCACHED_TREE_CHILD"

func numbered(n int) qkvtree.Request {
	r := request("s", "m", percached.Parallel, fmt.Sprint("n", n))
	r.Form = percached.Q4
	return r
}

// child stores, packs, asks, forgets, evicts and rewrites until it is killed, and prints what it
// has done.
func child(dir string) error {
	db, err := kv.Open(dir, optionsOf(dir))
	if err != nil {
		return err
	}
	o := options(1 << 30)
	o.FlushEvery = 5
	tree, err := qkvtree.Open(db, o)
	if err != nil {
		return err
	}
	if _, _, err := tree.ClearAll(); err != nil {
		return err
	}
	for n := 0; ; n++ {
		r := numbered(n)
		if err := tree.Insert(r, slicesOf(r, percached.KV, 2000, 150_000)); err != nil {
			return err
		}
		fmt.Println("in", n)
		if err := tree.View(numbered(n/2), func([]*percached.Slice, qkvtree.Match) error { return nil }); err != nil {
			return err
		}
		if n%3 == 2 {
			var packed int
			if _, _, err := tree.Pack("s", "m", percached.Parallel, percached.Q4, func(s *percached.Slice, to percached.Form) (*percached.Slice, error) {
				for packed = range n + 1 {
					if slices.Equal(numbered(packed).Segments[1].Tokens, s.Tokens) {
						break
					}
				}
				fmt.Println("going", packed) // it may be lost
				return cut(s, to)
			}); err != nil {
				return err
			}
			fmt.Println("in", packed)
		}
		switch {
		case n%7 == 6:
			fmt.Println("going", n-3)
			if _, _, err := tree.Forget("s", []percached.ChunkID{chunk(fmt.Sprint("n", n-3))}); err != nil {
				return err
			}
			fmt.Println("out", n-3)
		case n%40 == 39:
			if err := tree.Compact(context.Background(), func(int64, int64) { fmt.Println("compacting 0") }); err != nil {
				return err
			}
		case n%60 == 59: // from here on the slices may be evicted
			fmt.Println("evicting 0")
			if err := tree.SetLimit(4 << 20); err != nil {
				return err
			}
		}
	}
}

// After a process is killed, slices are complete or absent, acknowledged changes are
// there, and the counts are right.
func TestKilled(t *testing.T) {
	rounds := 12
	if s := os.Getenv("PERCACHED_KILLS"); s != "" {
		fmt.Sscan(s, &rounds)
	}
	base := t.TempDir()
	rnd := rand.New(rand.NewPCG(5, 6))
	for i := range rounds { // by turns plain and encrypted
		dir := filepath.Join(base, "db")
		if i%2 == 1 {
			dir += encryptedEnd
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		in, gone, evicting, lines := map[int]bool{}, map[int]bool{}, false, 1+rnd.IntN(150)
		for s := bufio.NewScanner(out); s.Scan(); lines-- {
			var what string
			var n int
			fmt.Sscan(s.Text(), &what, &n)
			switch what {
			case "in":
				in[n] = true
			case "going":
				delete(in, n)
			case "out":
				gone[n] = true
			case "evicting":
				evicting = true
			}
			if lines == 0 {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if lines > 0 {
			t.Fatal("the child ended by itself")
		}
		db := openDB(t, dir)
		o := options(1 << 30)
		o.Observer.Dropped = func(n qkvtree.Info, cause error) { t.Errorf("half a slice: %v", cause) }
		tree := openTree(t, db, o)
		clean(t, tree)
		for n := range in {
			if !evicting && !tree.Has(numbered(n))[1] {
				t.Errorf("%d was acknowledged and is not there", n)
			}
		}
		for n := range gone {
			if tree.Has(numbered(n))[1] {
				t.Errorf("%d was forgotten and is there", n)
			}
		}
		if err := tree.Close(); err != nil {
			t.Error(err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
