package answer_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/kv"
)

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir, kv.Default())
	h, err := answer.OpenHistory(db, 5)
	if err != nil {
		t.Fatal(err)
	}
	chunk := func(i int) percached.ChunkID { return percached.NewChunkID(fmt.Sprint(i)) }
	for i := range 8 {
		if err := h.Add("a", answer.Record{Question: fmt.Sprint("q", i), Chunks: []percached.ChunkID{chunk(i), chunk(i % 2)}}, i%3 == 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Add("b", answer.Record{Question: "other"}, false); err != nil {
		t.Fatal(err)
	}
	recent := func(space string, n int, want ...string) {
		t.Helper()
		rs, err := h.Recent(space, n)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, r := range rs {
			got = append(got, r.Question)
		}
		if d := cmp.Diff(append([]string{}, want...), got); d != "" {
			t.Error(d)
		}
	}
	recent("a", 3, "q5", "q6", "q7")
	recent("a", 1, "q7")
	recent("b", 9, "other")
	recent("c", 9)
	if err := h.Flush(); err != nil {
		t.Fatal(err)
	}
	db.Close()
	db = open(t, dir, kv.Default())
	if h, err = answer.OpenHistory(db, 5); err != nil {
		t.Fatal(err)
	}
	recent("a", 9, "q3", "q4", "q5", "q6", "q7") // the oldest made room
	if err := h.Add("a", answer.Record{Question: "q8", Chunks: []percached.ChunkID{chunk(1)}}, false); err != nil {
		t.Fatal(err)
	}
	if n, err := h.Forget("a", []percached.ChunkID{chunk(1), chunk(4)}); n != 5 || err != nil {
		t.Error(n, err) // 3, 5 and 7 are odd, 4 by itself, 8 not written yet
	}
	recent("a", 9, "q6")
	if n, err := h.DropSpace("a"); n != 1 || err != nil {
		t.Error(n, err)
	}
	recent("a", 9)
	recent("b", 9, "other")
}
