package retrieval

import (
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
)

// A space that grows gets a graph, keeps it over a restart, and loses it when
// it shrinks; what it finds stays right all along.
func TestGraphOfSpace(t *testing.T) {
	b := newBench(t, func(o *Options) { o.GraphFrom = 200 })
	all := numbered(0, 400)
	check := func(what string, from, to, graphed int) {
		t.Helper()
		b.work.Wait()
		if s := b.stats(); s.Graphed != graphed || s.Vectors != to-from {
			t.Errorf("%s: %+v", what, s)
		}
		for i := from; i < to; i += 23 {
			_, v, _ := b.spaces["s"].state()
			m := v.nearest(b.emb.vector(all[i].Head+"\n"+all[i].Body), 5) // a few share a vector
			if !slices.ContainsFunc(m, func(m match) bool { return m.id == all[i].ID }) {
				t.Errorf("%s: %d is not near itself", what, i)
			}
		}
	}
	b.feed.add("s", all[:199]...)
	b.update()
	check("few", 0, 199, 0)
	b.feed.add("s", all[199:300]...)
	b.update()
	check("many", 0, 300, 300)
	b.feed.add("s", all[300:310]...)
	b.update()
	check("some more", 0, 310, 300)
	b.reopen()
	check("reopened", 0, 310, 300)
	b.feed.add("s", all[310:]...)
	b.update()
	check("grown", 0, 400, 400)
	for i := range 5 {
		b.feed.remove("s", all[i].ID)
	}
	b.update()
	check("a few gone", 5, 400, 395)
	b.reopen()
	check("a few gone, reopened", 5, 400, 395)
	if err := b.Rebuild(t.Context(), "s", nil); err != nil {
		t.Fatal(err)
	}
	check("rebuilt", 5, 400, 395)
	b.reopen()
	check("rebuilt, reopened", 5, 400, 395)
	for i := 5; i < 320; i++ {
		b.feed.remove("s", all[i].ID)
	}
	b.feed.add("s", all[0])
	b.feed.remove("s", all[0].ID)
	b.feed.add("s", chunk("### Last (note)", "something new"))
	b.feed.remove("s", chunk("### Last (note)", "something new").ID)
	b.update()
	b.work.Wait()
	if s := b.stats(); s.Vectors != 80 || s.Graphed != 0 {
		t.Errorf("%+v", s)
	}
	if _, err := os.Stat(b.spaces["s"].graphFile()); err == nil {
		t.Error("a graph of few is kept")
	}
}

// own makes the test the arranger of a space: it takes the steps.
func (b *bench) own() *arranger {
	b.t.Helper()
	b.update()
	sp := b.spaces["s"]
	if sp.arranging {
		b.t.Fatal("somebody arranges it already")
	}
	sp.arranging = true
	return &arranger{x: b.Index, sp: sp}
}

// Between any two steps a space may change: what is there is found, what is gone is
// not, and no slot is lost or had twice.
func TestChangesBetweenSteps(t *testing.T) {
	b := newBench(t, func(o *Options) { o.GraphFrom = 200 })
	r := rand.New(rand.NewPCG(11, 0))
	all := numbered(0, 900)
	b.feed.add("s", all[:100]...)
	a := b.own()
	there := make([]bool, len(all))
	for i := range 100 {
		there[i] = true
	}
	b.feed.add("s", all[100:500]...)
	for i := 100; i < 500; i++ {
		there[i] = true
	}
	b.update()
	rounds := 0
	for turn := range 400 {
		if !a.step() {
			rounds++
			b.spaces["s"].arranging = true
		}
		if turn < 360 && r.IntN(3) == 0 {
			for range 1 + r.IntN(30) {
				i := r.IntN(len(all))
				if there[i] = !there[i]; there[i] {
					b.feed.add("s", all[i])
				} else {
					b.feed.remove("s", all[i].ID)
				}
			}
			b.update()
		}
		_, v, _ := b.spaces["s"].state()
		wantSlots(t, v)
		for range 3 {
			i := r.IntN(len(all))
			m := v.nearest(b.emb.vector(all[i].Head+"\n"+all[i].Body), 5)
			if got := slices.ContainsFunc(m, func(m match) bool { return m.id == all[i].ID }); got != there[i] {
				t.Fatalf("turn %d: chunk %d is found: %v; it is there: %v", turn, i, got, there[i])
			}
		}
	}
	if s := b.stats(); rounds < 3 || s.Graphed < s.Vectors-s.Vectors/arrangeShare {
		t.Errorf("%d times it was up to date; %+v", rounds, s)
	}
}

// wantSlots fails unless each slot has a chunk, leads the way, or is free.
func wantSlots(t *testing.T, v *vectors) {
	t.Helper()
	free := map[int32]bool{}
	for _, s := range v.free {
		if free[s] || v.versions[s] != 0 || v.graph.has(s) {
			t.Fatalf("slot %d is free, and not", s)
		}
		free[s] = true
	}
	for s := range int32(len(v.ids)) {
		dead := v.graph != nil && v.graph.dead[s]
		if uses := v.versions[s] != 0; uses == dead && !free[s] || uses && v.slots[v.ids[s]] != s || dead && !v.graph.has(s) {
			t.Fatalf("slot %d: used %v, dead %v, free %v", s, uses, dead, free[s])
		}
	}
}

// What was arranged when the index was closed is not arranged again.
func TestArrangeGoesOn(t *testing.T) {
	b := newBench(t, func(o *Options) { o.GraphFrom = 200 })
	b.feed.add("s", numbered(0, 100)...)
	a := b.own()
	b.feed.add("s", numbered(100, 300)...)
	b.update()
	for _, v, _ := b.spaces["s"].state(); v.graph == nil || v.graph.nodes < 2*arrangeStep; {
		if !a.step() {
			t.Fatal("that is all")
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b.open()
	sp, err := b.named("s")
	if err != nil {
		t.Fatal(err)
	}
	sp.arranging = true
	if s := b.stats(); s.Vectors != 400 || s.Graphed != 2*arrangeStep {
		t.Errorf("%+v", s)
	}
	sp.arranging = false
	b.reopen()
	b.stats()
	b.work.Wait()
	if s := b.stats(); s.Graphed != 400 {
		t.Errorf("opened, it does not go on: %+v", s)
	}
}

// Searches go on while a graph is made.
func TestSearchWhileArranging(t *testing.T) {
	b := newBench(t, func(o *Options) { o.GraphFrom = 200 })
	all := numbered(0, 600)
	b.feed.add("s", all...)
	b.update()
	var wg sync.WaitGroup
	for from := range 2 {
		wg.Go(func() {
			for i := from; i < len(all); i += 20 {
				q := Query{Space: "s", Text: all[i].Body, Vector: b.emb.vector(all[i].Head + "\n" + all[i].Body), K: 3}
				if hits, err := b.Search(t.Context(), q); err != nil || hits[0].Chunk != all[i].ID {
					t.Errorf("chunk %d: %v, %v", i, hits, err)
				}
			}
		})
	}
	wg.Wait()
	b.work.Wait()
	if s := b.stats(); s.Graphed != len(all) {
		t.Errorf("%+v", s)
	}
}

// Whoever writes the graph's file between two steps, or takes it away, the graph is kept.
func TestGraphIsKept(t *testing.T) {
	for name, what := range map[string]func(b *bench, a *arranger){
		"rebuilt when it has begun": func(b *bench, a *arranger) {
			a.step()
			if err := b.Rebuild(b.t.Context(), "s", nil); err != nil {
				b.t.Fatal(err)
			}
		},
		"closed before a node is in": func(b *bench, a *arranger) {
			a.step()
			a.step()
			b.reopen()
		},
		"the words broke": func(b *bench, a *arranger) {
			a.run()
			a.sp.breaks()
			b.update()
		},
		"what went is not known": func(b *bench, a *arranger) {
			a.run()
			b.feed.add("s", numbered(400, 1)...)
			b.feed.spaces["s"].trimmed = b.feed.spaces["s"].seq
			b.update()
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(o *Options) { o.GraphFrom = 200 })
			b.feed.add("s", numbered(0, 100)...)
			a := b.own()
			b.feed.add("s", numbered(100, 300)...)
			b.update()
			what(b, a)
			a.sp.arranging = false
			b.feed.add("s", numbered(500, 1)...)
			b.update()
			b.work.Wait()
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(a.sp.graphFile()); err != nil {
				t.Error(err)
			}
			b.open()
			b.stats()
			b.work.Wait()
			if s := b.stats(); s.Graphed < 400 {
				t.Errorf("%+v", s)
			}
		})
	}
}

// All that can happen to a space at once, while its graph is made: nothing breaks, and
// in the end it has a graph.
func TestManyWhileArranging(t *testing.T) {
	b := newBench(t, func(o *Options) { o.GraphFrom, o.OpenSpaces = 100, 1 })
	names := []string{"s", "other"}
	var wg sync.WaitGroup
	must := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for k, name := range names {
		wg.Go(func() {
			for i := range 25 {
				all := numbered((i*37+k*11)%900, 60)
				b.feed.add(name, all...)
				must(b.Update(t.Context(), name))
				if i%3 == 0 {
					for _, c := range all[:40] {
						b.feed.remove(name, c.ID)
					}
					must(b.Update(t.Context(), name))
				}
			}
		})
		wg.Go(func() {
			for i := range 60 {
				c := numbered(i, 1)[0]
				_, err := b.Search(t.Context(), Query{Space: name, Text: c.Body, Vector: b.emb.vector(c.Head + "\n" + c.Body), K: 3})
				must(err)
			}
		})
		wg.Go(func() {
			for i := range 6 {
				switch i % 3 {
				case 0:
					must(b.Rebuild(t.Context(), name, nil))
				case 1:
					must(b.Drop(name))
				case 2:
					b.mu.Lock()
					sp := b.spaces[name]
					b.mu.Unlock()
					sp.breaks()
				}
			}
		})
	}
	wg.Wait()
	for _, name := range names {
		must(b.Update(t.Context(), name))
		b.work.Wait()
		sp, err := b.enter(name)
		if err != nil {
			t.Fatal(err)
		}
		_, v, _ := sp.state()
		sp.life.RUnlock()
		b.work.Wait()
		wantSlots(t, v)
		if v.graph == nil || v.due(b.o.GraphFrom) {
			t.Errorf("%s: %d vectors, and the graph is not what it should be", name, len(v.slots))
		}
	}
}
