package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/retrieval"
)

// pair is a stored question and a later question. If it is not a paraphrase it is a trap: the
// stored answer would be wrong.
type pair struct {
	ID     string `json:"id"`
	World  string `json:"world"`
	Stored string `json:"stored"`
	Asked  string `json:"asked"`
	Kind   string `json:"kind"`
}

const paraphrase = "paraphrase"

// share counts how many of a kind pass.
type share struct{ passed, all int }

func (s *share) count(passed bool) {
	s.all++
	if passed {
		s.passed++
	}
}

func (s share) plus(o share) share { return share{s.passed + o.passed, s.all + o.all} }

// interval is Wilson's interval at 95 %.
func (s share) interval() (low, high float64) {
	if s.all == 0 {
		return 0, 1
	}
	const z = 1.96
	n, p := float64(s.all), float64(s.passed)/float64(s.all)
	mid, half := p+z*z/(2*n), z*math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, (mid-half)/(1+z*z/n)), (mid + half) / (1 + z*z/n)
}

// The gate passes none of the traps, which were written without knowledge of it. The log
// shows how many paraphrases pass, over the documents of the questions.
func TestGateOnHeldOutPairs(t *testing.T) {
	t.Run("built in", func(t *testing.T) { testGate(t, "") })
	t.Run(llmtest.MiniLM, func(t *testing.T) { testGate(t, llmtest.RealModel(t, llmtest.MiniLM)) })
}

func testGate(t *testing.T, encoder string) {
	ctx := context.Background()
	c := node.Default()
	c.Data, c.Threads, c.Create, c.EmbedModel = t.TempDir(), 1, true, encoder
	s, err := node.Open(ctx, c, false, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	held := filepath.Join("..", "..", "qabank", "testdata", "heldout")
	demo := filepath.Join("..", "..", "models", "demo")
	for space, paths := range map[string][]string{
		"demo":   {filepath.Join(demo, "inbox.mbox"), filepath.Join(demo, "meetings")},
		"second": {filepath.Join(held, "world.mbox")},
	} {
		read(t, s, space, paths)
	}
	set, err := s.Settings(c.Config)
	if err != nil {
		t.Fatal(err)
	}
	similar, gated, words := map[string]*share{}, map[string]*share{}, map[string]*share{}
	for _, p := range pairs(t, filepath.Join(held, "pairs.jsonl")) {
		if p.Kind == paraphrase { // its name says how close it is in wording
			p.Kind = map[byte]string{'c': "close", 'm': "middling", 'f': "far"}[p.ID[1]] + " " + paraphrase
		}
		if similar[p.Kind] == nil {
			similar[p.Kind], gated[p.Kind], words[p.Kind] = &share{}, &share{}, &share{}
		}
		cand, ask := judged(t, s, set.K, p)
		ask.Threshold = set.Threshold
		similar[p.Kind].count(cand.Similarity >= set.Threshold)
		v := qabank.Judge(cand, ask)
		gated[p.Kind].count(v.Serve)
		if v.Serve && trap(p.Kind) {
			t.Errorf("%s: a wrong answer is served: %q for %q", p.ID, p.Stored, p.Asked)
		}
		ask.Threshold = -1
		words[p.Kind].count(qabank.Judge(cand, ask).Serve)
	}
	report := func(kind string, n, w, g share) {
		low, high := g.interval()
		t.Logf("%-19s %4d   similarity alone %5.1f %%   gate without similarity %5.1f %%   whole gate %5.1f %% (%.1f to %.1f)",
			kind, n.all, 100*float64(n.passed)/float64(n.all), 100*float64(w.passed)/float64(w.all), 100*float64(g.passed)/float64(g.all), 100*low, 100*high)
	}
	var n, w, g [2]share // of paraphrases and of traps
	for _, kind := range slices.Sorted(maps.Keys(similar)) {
		report(kind, *similar[kind], *words[kind], *gated[kind])
		i := 0
		if trap(kind) {
			i = 1
		}
		n[i], w[i], g[i] = n[i].plus(*similar[kind]), w[i].plus(*words[kind]), g[i].plus(*gated[kind])
	}
	report("paraphrases", n[0], w[0], g[0])
	report("traps", n[1], w[1], g[1])
	if n[0].all < 300 || n[1].all < 300 {
		t.Errorf("%d traps and %d paraphrases are too few", n[1].all, n[0].all)
	}
	if g[0].passed < n[0].all/10 {
		t.Errorf("the gate lets %d of %d paraphrases pass: it is as good as shut", g[0].passed, n[0].all)
	}
}

func trap(kind string) bool { return !strings.HasSuffix(kind, paraphrase) }

func read(t *testing.T, s *node.Node, space string, paths []string) {
	t.Helper()
	if err := s.Knowledge.CreateSpace(percached.Space{Name: space, Kind: "emails"}); err != nil {
		t.Fatal(err)
	}
	rd, err := reader.New(reader.Default())
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Library.Add(context.Background(), space, func(ctx context.Context, emit func(*knowledgebank.Source) error, failed func(string, error)) error {
		for _, p := range paths {
			if err := rd.Path(ctx, p, emit, failed); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	if err != nil || r.Failed > 0 || r.Added < 40 {
		t.Fatalf("%+v, %v", r, err)
	}
}

func pairs(t *testing.T, path string) (all []pair) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var p pair
		if err := json.Unmarshal(sc.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// judged returns the input of the gate if the stored question was answered from its own
// chunks and the other one follows immediately.
func judged(t *testing.T, s *node.Node, k int, p pair) (qabank.Candidate, qabank.Ask) {
	t.Helper()
	ctx := context.Background()
	vs, err := s.QuestionEmbedder.Embed(ctx, percached.Foreground, []string{p.Stored, p.Asked})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2025, 7, 1, 9, 0, 0, 0, time.UTC)
	cand := qabank.Candidate{Entry: qabank.Entry{Space: p.World, Question: p.Stored, Answer: "x", Answered: true, Vector: vs[0], Made: now}}
	for i := range vs[0] {
		cand.Similarity += float64(vs[0][i]) * float64(vs[1][i])
	}
	ask := qabank.Ask{Question: p.Asked, Now: now, Guard: true, Versions: map[percached.ChunkID]uint64{}}
	for i, text := range []string{p.Stored, p.Asked} {
		hits, err := s.Index.Search(ctx, retrieval.Query{Space: p.World, Text: text, Vector: vs[i], K: k})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range hits {
			if i == 1 {
				ask.Own = append(ask.Own, h.Chunk)
				continue
			}
			cand.Evidence = append(cand.Evidence, percached.Evidence{Chunk: h.Chunk, Version: h.Version})
			ask.Versions[h.Chunk] = h.Version
		}
	}
	return cand, ask
}
