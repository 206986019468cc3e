package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
)

// life performs random operations on a node, and compares it after each one with a node that
// reuses nothing.
type life struct {
	*testing.T
	rng  *rand.Rand
	c    node.Options
	s    *node.Node
	cold *answer.Asker // with an engine of its own
	base *node.Node    // of that engine
	docs map[int]int   // document by number: its edition
	runs map[answer.Outcome]int
}

func TestWarmEqualsCold(t *testing.T) {
	operations, least := 500, 10 // answers of each outcome
	if testing.Short() {
		operations, least = 120, 1
	}
	for _, placement := range []string{"sequential", "parallel"} {
		if testing.Short() && placement == "sequential" { // TestMeasured compares it, too
			continue
		}
		t.Run(placement, func(t *testing.T) {
			l := &life{T: t, rng: rand.New(rand.NewPCG(7, uint64(len(placement)))), docs: map[int]int{}, runs: map[answer.Outcome]int{}}
			l.c = node.Default()
			l.c.Data, l.c.Threads, l.c.ChunkWords, l.c.Context, l.c.MaxTokens = t.TempDir(), 1, 40, 1024, 12
			l.c.Placement, l.c.TensorLimit, l.c.Patience = placement, 6<<20, time.Hour
			l.open()
			defer func() { l.close() }()
			if err := l.s.Knowledge.CreateSpace(percached.Space{Name: nodetest.Space, Kind: "emails"}); err != nil {
				t.Fatal(err)
			}
			for i := range operations / 2 { // half of them under each placement
				what := l.operate()
				l.hold(fmt.Sprintf("operation %d, %s", i, what))
				if t.Failed() {
					return
				}
			}
			for _, o := range []answer.Outcome{answer.AnswerHit, answer.TensorHit, answer.Miss} {
				if l.runs[o] < least {
					t.Errorf("only %d answers came by %s: the test tests little", l.runs[o], o)
				}
			}
			t.Log(l.runs)
		})
	}
}

func (l *life) open() {
	l.Helper()
	var err error
	if l.s, err = node.Open(context.Background(), l.c, true, io.Discard); err != nil {
		l.Fatal(err)
	}
	if l.base == nil { // this engine has never seen a stored tensor
		cold := l.c
		cold.Data = l.TempDir()
		if l.base, err = node.Open(context.Background(), cold, true, io.Discard); err != nil {
			l.Fatal(err)
		}
	}
	parts := l.s.Asker.Parts
	parts.Engine = l.base.Engine
	set, err := l.s.Settings(l.c.Config)
	if err != nil {
		l.Fatal(err)
	}
	set.Bank, set.Tensors = false, false
	if l.cold, err = answer.New(parts, set); err != nil {
		l.Fatal(err)
	}
}

func (l *life) close() {
	l.Helper()
	l.cold.Close()
	if err := l.s.Close(); err != nil {
		l.Error(err)
	}
	if err := l.base.Close(); err != nil {
		l.Error(err)
	}
}

// operate performs one operation.
func (l *life) operate() string {
	l.Helper()
	ctx := context.Background()
	fail := func(err error) {
		if err != nil {
			l.Helper()
			l.Fatal(err)
		}
	}
	switch n := l.rng.IntN(20); {
	case n < 6 || len(l.docs) == 0:
		i := l.rng.IntN(12)
		l.docs[i] = l.rng.IntN(3)
		_, err := l.s.Library.Add(ctx, nodetest.Space, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
			return emit(nodetest.Letter(i, l.docs[i]))
		}, nil)
		fail(err)
		return fmt.Sprintf("add %d in edition %d", i, l.docs[i])
	case n < 8:
		there := slices.Sorted(maps.Keys(l.docs))
		i := there[l.rng.IntN(len(there))]
		delete(l.docs, i)
		_, err := l.s.Library.Delete(ctx, nodetest.Space, percached.NewDocumentID(nodetest.Letter(i, 0).Key))
		fail(err)
		if l.rng.IntN(4) == 0 {
			fail(l.s.Library.CleanUp(ctx, nil))
		}
		return fmt.Sprintf("delete %d", i)
	case n < 10:
		st, err := l.s.Tree.Stats()
		fail(err)
		limit := st.Limit
		fail(l.s.Tree.SetLimit(1 << 20))
		fail(l.s.Tree.SetLimit(limit))
		return "evict"
	case n < 12:
		limit := int64(1+l.rng.IntN(8)) << 20
		fail(l.s.Tree.SetLimit(limit))
		return fmt.Sprintf("limit %d MiB", limit>>20)
	case n < 13:
		l.cold.Close()
		fail(l.s.Close())
		l.open()
		return "restart"
	default:
		q := answer.Question{Space: nodetest.Space, Text: l.question(), Bypass: l.rng.IntN(3) == 0, Refresh: l.rng.IntN(8) == 0}
		_, err := l.s.Asker.Ask(ctx, q, answer.Listener{})
		fail(err)
		return "ask"
	}
}

// hold asks a question with and without reuse, and counts stored data.
func (l *life) hold(after string) {
	l.Helper()
	ctx := context.Background()
	text := l.question()
	warm, err := l.s.Asker.Ask(ctx, answer.Question{Space: nodetest.Space, Text: text, Bypass: l.rng.IntN(2) == 0}, answer.Listener{})
	if err != nil {
		l.Fatalf("%s: %v", after, err)
	}
	l.runs[warm.Outcome]++
	asked := text
	for _, c := range warm.Gate.Considered {
		if c.Served {
			asked = c.Question // an answer of the bank is that of the question it was stored for
			l.stands(after, c.Entry)
		}
	}
	cold, err := l.cold.Ask(ctx, answer.Question{Space: nodetest.Space, Text: asked}, answer.Listener{})
	if err != nil {
		l.Fatalf("%s: %v", after, err)
	}
	if warm.Text != cold.Text || len(warm.Notes) > 0 {
		l.Errorf("%s: %q by %s (%s, %v), %q without reuse", after, warm.Text, warm.Outcome, warm.Gate.Why, warm.Notes, cold.Text)
	}
	ids := []percached.ChunkID{}
	for _, c := range warm.Citations {
		ids = append(ids, c.Chunk)
	}
	alive := func(what string, ids []percached.ChunkID) {
		l.Helper()
		versions, err := l.s.Knowledge.Versions(nodetest.Space, ids)
		if err != nil {
			l.Fatal(err)
		}
		for _, id := range ids {
			if _, ok := versions[id]; !ok {
				l.Errorf("%s: %s of a chunk that is gone", after, what)
			}
		}
	}
	alive("an answer", ids)
	ids = nil
	l.s.Tree.Nodes(nodetest.Space, func(n qkvtree.Info) {
		if n.Chunk != (percached.ChunkID{}) {
			ids = append(ids, n.Chunk)
		}
	})
	alive("a slice", ids)
	rep, err := l.s.Tree.Verify(ctx)
	if err != nil {
		l.Fatal(err)
	}
	st, err := l.s.Tree.Stats()
	if err != nil {
		l.Fatal(err)
	}
	if !rep.Clean() || st.Bytes > st.Limit || st.Disk > st.Limit+st.Slack || rep.Bytes != st.Bytes {
		l.Errorf("%s: %+v; %d bytes, %d on disk, of %d", after, rep, st.Bytes, st.Disk, st.Limit)
	}
}

// stands checks that the evidence of a stored answer exists in its versions.
func (l *life) stands(after string, id qabank.ID) {
	l.Helper()
	e, err := l.s.Bank.Get(nodetest.Space, id)
	if err != nil {
		l.Fatalf("%s: %v", after, err)
	}
	for _, ev := range e.Evidence {
		versions, err := l.s.Knowledge.Versions(nodetest.Space, []percached.ChunkID{ev.Chunk})
		if v, ok := versions[ev.Chunk]; err != nil || !ok || v != ev.Version {
			l.Errorf("%s: a served answer rests on a chunk at version %d, which is at %d, %v", after, ev.Version, v, err)
		}
	}
}

func (l *life) question() string {
	forms := []string{"What is the budget for %s?", "Who leads %s?", "When does %s begin?", "What is the code of %s?"}
	return fmt.Sprintf(forms[l.rng.IntN(len(forms))], nodetest.Names()[l.rng.IntN(len(nodetest.Names()))])
}
