package predictor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/predictor"
)

// A full abstract contains the newest chunks, and nothing is summarised repeatedly in
// vain.
func TestFullAbstract(t *testing.T) {
	w := start(t)
	w.o.AbstractLimit = 2000
	w.reopen(false)
	r := rand.New(rand.NewPCG(1, 2))
	title := map[percached.ChunkID]int{} // days ago
	for i := range 60 {
		days := r.IntN(1000)*100 + i
		for _, c := range w.add(fmt.Sprint("M", i), days, strings.Repeat("w", 1+r.IntN(350))+".") {
			title[c] = days
		}
		w.summarise()
		if s := w.stats(); s.Bytes > 2000 {
			t.Fatalf("%d bytes", s.Bytes)
		}
	}
	held, err := w.Cited("mail")
	w.must(err)
	oldest := 0
	for _, c := range held {
		oldest = max(oldest, title[c])
	}
	left := 0
	for c, days := range title {
		if days < oldest && !slices.Contains(held, c) {
			left++
		}
	}
	if left > 0 {
		t.Errorf("%d chunks that are newer than the oldest part have none", left)
	}
	if n := len(w.prompts); n > 60 {
		t.Errorf("%d chunks were summed up %d times", 60, n)
	}
	if len(held) < 5 {
		t.Errorf("%d parts", len(held))
	}
	w.reopen(true)
	if again, err := w.Cited("mail"); err != nil || !slices.Equal(again, held) {
		t.Errorf("%d parts after a crash, %v", len(again), err)
	}
}

// A part that does not fit is not stored if nothing older can be deleted.
func TestNoRoomForOld(t *testing.T) {
	w := start(t)
	w.o.AbstractLimit = 700
	w.reopen(false)
	recent := w.add("New", 1, strings.Repeat("w", 390)+".")
	old := w.add("Old", 5, strings.Repeat("w", 390)+".")
	w.summarise()
	if ids, _, err := w.Unsummarised(t.Context(), "mail", 5); len(ids) != 0 || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	_, err := w.Summarise(t.Context(), "mail", old[0])
	w.must(err)
	if held, err := w.Cited("mail"); !slices.Equal(held, recent) || err != nil {
		t.Errorf("%v, %v", held, err)
	}
	newer := w.add("Newer", 0, strings.Repeat("w", 390)+".")
	w.summarise()
	if held, err := w.Cited("mail"); !slices.Equal(held, newer) || err != nil {
		t.Errorf("%v, %v", held, err)
	}
}

// A chunk shared by documents is as new as the newest of them.
func TestSharedChunks(t *testing.T) {
	w := start(t)
	w.o.AbstractLimit = 1000
	w.reopen(false)
	share := func(key string, days int) {
		s := w.lib.spaces["mail"]
		id := percached.NewDocumentID(key)
		chunk := s.documents[percached.NewDocumentID("A")].Chunks[0]
		s.documents[id] = percached.Document{ID: id, Title: "A", Date: w.now.AddDate(0, 0, -days), Added: w.now, Chunks: []percached.ChunkID{chunk}}
		c := s.chunks[chunk]
		c.Documents = append(c.Documents, id)
		s.chunks[chunk] = c
	}
	text := func(of string) string { return strings.Repeat(of, 390) + "." }
	held := func(want ...percached.ChunkID) {
		t.Helper()
		got, err := w.Cited("mail")
		w.must(err)
		for _, c := range want {
			if !slices.Contains(got, c) || len(got) != len(want) {
				t.Errorf("parts of %v, want %v", got, want)
				return
			}
		}
	}
	a, b := w.add("A", 9, text("a"))[0], w.add("B", 5, text("b"))[0]
	w.summarise()
	held(a, b)
	share("copy", 1)
	w.summarise()
	c := w.add("C", 2, text("c"))[0]
	w.summarise()
	held(a, c)
	w.lib.drop("mail", "copy") // so that it becomes the oldest again
	d := w.add("D", 3, text("d"))[0]
	w.summarise()
	held(c, d)
}

// A part longer than a prompt is alone in one.
func TestLongPart(t *testing.T) {
	w := start(t)
	w.add("M", 1, strings.Repeat("a b c ", 60))
	w.add("N", 2, "More.")
	w.summarise()
	for range 2 {
		if r := w.predict(1); r.Sources != 1 {
			t.Errorf("%+v", r)
		}
	}
}

// Unreadable documents and chunks delay nothing.
func TestUnreadable(t *testing.T) {
	w := start(t)
	bad := w.add("Rent", 1, "The rent rises.")[0]
	w.add("Dinner", 2, "Dinner is on Friday.")
	w.summarise()
	w.lib.failed = func(id percached.ChunkID) error {
		if id == bad {
			return errUnreadable
		}
		return nil
	}
	if r := w.predict(5); r.Sources != 1 {
		t.Errorf("%+v", r)
	}
	ids, _, err := w.Unsummarised(t.Context(), "mail", 5)
	if !slices.Equal(ids, []percached.ChunkID{bad}) || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	if _, err := w.Summarise(t.Context(), "mail", bad); err == nil {
		t.Error("an unreadable chunk was summed up")
	}
}

// A page with damaged documents is skipped; any other error is returned.
func TestDamagedDocuments(t *testing.T) {
	w := start(t)
	for i := range 300 {
		w.add(fmt.Sprint("M", i), i, "Piece.")
	}
	w.lib.paging = errUnreadable
	if ids, _, err := w.Unsummarised(t.Context(), "mail", 500); len(ids) != 300 || err != nil || len(w.told) != 2 {
		t.Errorf("%d chunks, %v, told of %d pages", len(ids), err, len(w.told))
	}
	w.lib.paging = fault.New(fault.Unavailable, "library", "no disk")
	if _, _, err := w.Unsummarised(t.Context(), "mail", 500); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	chunk := w.lib.spaces["mail"].documents[percached.NewDocumentID("M1")].Chunks[0]
	if _, err := w.Summarise(t.Context(), "mail", chunk); fault.KindOf(err) != fault.Unavailable || len(w.prompts) != 0 {
		t.Error(err)
	}
}

// brief is an engine with a small context, in bytes.
type brief struct {
	engine
	most int
}

func (b brief) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	if len(p.Segments[0].Texts[1].Text) > b.most {
		return percached.Result{}, fault.New(fault.Invalid, "brief", "too long")
	}
	return b.engine.Generate(ctx, p, emit)
}

// A prompt that is too long for the model is made smaller.
func TestSmallContext(t *testing.T) {
	w := start(t)
	w.o.Engine = brief{w.o.Engine.(engine), 850}
	w.reopen(false)
	long := w.add("Long", 1, strings.Repeat("Words and words. ", 500))
	var asked []predictor.Asked
	for i := range 8 {
		w.add(fmt.Sprint("M", i), 2+i, fmt.Sprintf("A piece of the matter number %d.", i))
		asked = append(asked, predictor.Asked{Question: fmt.Sprintf("What is the matter with what is number %d of %d and %s?", i, i, strings.Repeat("so ", 20))})
	}
	w.summarise()
	if s := w.stats(); s.Parts != 9 || len(w.prompts) != 9 {
		t.Errorf("%+v, %d prompts", s, len(w.prompts))
	}
	if _, _, err := w.Forget("mail", long); err != nil {
		t.Error(err)
	}
	left := w.waiting()
	r := w.predict(2)
	if r.Sources == 0 || r.Sources == left {
		t.Errorf("%d of %d parts", r.Sources, left)
	}
	if n := w.waiting(); n != left-r.Sources || len(r.New[0].Chunks) != r.Sources {
		t.Errorf("%d parts wait, %+v", n, r)
	}
	if r, err := w.fromHistory(t.Context(), "mail", asked, 2); err != nil || r.Sources == 0 || r.Sources == len(asked) || !strings.Contains(w.prompts[len(w.prompts)-1], "number 7") {
		t.Errorf("%+v, %v", r, err)
	}
	w.o.Engine = brief{w.o.Engine.(brief).engine, 10}
	w.reopen(false)
	if _, err := w.FromKnowledge(t.Context(), "mail", 2); fault.KindOf(err) != fault.Invalid {
		t.Errorf("a prompt that never fits: %v", err)
	}
}
