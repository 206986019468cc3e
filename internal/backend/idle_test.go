package backend

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/scheduler"
)

// A returned answer equals the events of its listener, and names its entry.
func TestAsk(t *testing.T) {
	f := scriptedBackend(t)
	var text string
	var cited []api.Citation
	stages := map[string]float64{}
	l := api.Listener{
		Token:    func(s string) { text += s },
		Stage:    func(s api.Stage) { stages[s.Name+"_ms"] = s.MS },
		Citation: func(c api.Citation) { cited = append(cited, c) },
	}
	q := api.AskRequest{Space: nodetest.Space, Question: api.Question{Question: "Who leads Otter?"}}
	a := given[api.Answer](t)(f.ask(t.Context(), q, l))
	if a.Answer != scripted()[q.Question.Question] || text != a.Answer || a.Entry == "" || len(a.Citations) == 0 {
		t.Errorf("%q was heard of %+v", text, a)
	}
	if d := cmp.Diff(a.Citations, cited); d != "" {
		t.Error(d)
	}
	for name, ms := range stages {
		if a.Times[name] != ms {
			t.Errorf("%s took %v, and the answer says %v", name, ms, a.Times[name])
		}
	}
	again := given[api.Answer](t)(f.ask(t.Context(), q, api.Listener{}))
	if again.Outcome != "answer_hit" || again.Entry != a.Entry || len(again.Gate.Considered) != 1 || again.Gate.Considered[0].Entry != a.Entry {
		t.Errorf("%+v", again)
	}
	one := 1.0
	for name, tc := range map[string]struct {
		change func(*api.AskRequest)
		hit    bool
	}{
		"as it is":         {func(*api.AskRequest) {}, true},
		"bypassed":         {func(q *api.AskRequest) { q.Bypass = true }, false},
		"refreshed":        {func(q *api.AskRequest) { q.Refresh = true }, false},
		"with a threshold": {func(q *api.AskRequest) { q.Threshold = &one }, true},
		"too old":          {func(q *api.AskRequest) { q.MaxAge = 1e-12 }, false},
		"old enough":       {func(q *api.AskRequest) { q.MaxAge = 1e300 }, true},
		"after a turn":     {func(q *api.AskRequest) { q.Earlier = []api.Turn{{Role: "user", Text: "Hello."}} }, true},
		"instructed":       {func(q *api.AskRequest) { q.Instructions = "Be brief." }, false},
	} {
		asked := q
		tc.change(&asked)
		if got := given[api.Answer](t)(f.ask(t.Context(), asked, api.Listener{})); (got.Outcome == "answer_hit") != tc.hit {
			t.Errorf("%s: %s, %s", name, got.Outcome, got.Gate.Why)
		}
	}
	q.MaxAge = -1
	_, err := f.ask(t.Context(), q, api.Listener{})
	wantFault(t, "a negative age", err, fault.Invalid)
	e := given[api.Embedded](t)(f.Embed(t.Context(), []string{"a", "b"}))
	if len(e.Vectors) != 2 || e.Model == "" {
		t.Errorf("%+v", e)
	}
}

// A request for embeddings is a foreground request, which preempts idle work.
func TestEmbedIsForeground(t *testing.T) {
	f := scriptedBackend(t)
	recent := func() bool {
		st, err := f.Scheduler.Status()
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(st.Reasons, func(r scheduler.Reason) bool { return r.Code == scheduler.ReasonRecent })
	}
	if recent() {
		t.Fatal("nobody asked for anything")
	}
	given[api.Embedded](t)(f.Embed(t.Context(), []string{"a"}))
	if !recent() {
		t.Error("idle work goes on")
	}
}

func TestAge(t *testing.T) {
	for seconds, want := range map[float64]time.Duration{0: 0, 1e-300: 1, 1.5: 1500 * time.Millisecond, 1e300: 1<<63 - 1, -1e-300: -1} {
		if got := maxAge(seconds); got != want {
			t.Errorf("%v: %v, want %v", seconds, got, want)
		}
	}
}

// Idle work can be shown, paused and run, and accepts the device's state. Predicting in a
// space runs only the jobs of prediction, only there.
func TestIdle(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	in := api.InSpace{Space: nodetest.Space}
	given[api.Space](t)(b.CreateSpace(ctx, api.NewSpace{Name: "other", Kind: "notes"}))
	given[api.UploadStatus](t)(b.Upload(ctx, api.Upload{Space: "other", Wait: true, Each: files("note.txt", "The soup is on the stove.")}))
	f.askAll(t)

	battery := 0.5
	st := given[api.Idle](t)(b.Device(ctx, api.Device{Battery: &battery}))
	if *st.Device.Battery != battery || st.Device.At.IsZero() {
		t.Errorf("%+v", st.Device)
	}
	_, err := b.Device(ctx, api.Device{})
	wantFault(t, "a device of which nothing is said", err, fault.Invalid)
	if st := given[api.Idle](t)(b.Pause(ctx, api.Nothing{})); st.State != string(scheduler.Paused) {
		t.Errorf("%+v", st)
	}
	if got := given[api.Drained](t)(b.Drain(ctx, api.DrainRequest{})); got.Done != 0 || len(got.Reasons) != 1 || got.Reasons[0].Code != scheduler.ReasonPaused {
		t.Errorf("%+v", got)
	}
	if st := given[api.Idle](t)(b.Resume(ctx, api.Nothing{})); st.State == string(scheduler.Paused) {
		t.Errorf("%+v", st)
	}

	if got := given[api.Drained](t)(b.Predict(ctx, in)); got.Done == 0 {
		t.Errorf("%+v", got)
	}
	books := given[api.Ledger](t)(b.Ledger(ctx, api.LedgerQuery{}))
	for _, a := range books.Accounts {
		if !scheduler.Kind(a.Kind).Predicts() {
			t.Errorf("%s was done", a.Kind)
		}
	}
	if n := len(given[api.Ledger](t)(b.Ledger(ctx, api.LedgerQuery{Space: "other"})).Accounts); n != 0 || len(books.Accounts) == 0 {
		t.Errorf("%d kinds were done in the other space, %d in all", n, len(books.Accounts))
	}
	if got := given[api.Predictions](t)(b.Predictions(ctx, in)); got.Stats.Summaries == 0 || len(got.Predictions) != got.Stats.Predictions {
		t.Errorf("%+v", got)
	}
	for i := range 3 { // more to do
		given[api.UploadStatus](t)(b.Upload(ctx, api.Upload{Space: nodetest.Space, Wait: true, Each: files(fmt.Sprintf("note%d.txt", i), fmt.Sprintf("Pot %d is on the stove.", i))}))
	}
	f.drainParts(t)
	given[api.Drained](t)(b.Drain(ctx, api.DrainRequest{}))
	if got := given[api.Drained](t)(b.Drain(ctx, api.DrainRequest{})); got.Done != 0 {
		t.Errorf("there was something left: %+v", got)
	}
	for _, j := range given[api.Queue](t)(b.Queue(ctx, api.Nothing{})).Jobs {
		if !j.Parked && j.Attempts == 0 {
			t.Errorf("left: %+v", j)
		}
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = b.Drain(gone, api.DrainRequest{})
	wantFault(t, "nobody waits", err, fault.Timeout)
}

// drainParts runs a part of the work: of one space, of some kinds, of both.
func (f *Backend) drainParts(t *testing.T) {
	t.Helper()
	b, ctx := f.API(), t.Context()
	_, err := b.Drain(ctx, api.DrainRequest{Space: "nobody"})
	wantFault(t, "a space that is not there", err, fault.NotFound)
	for _, kinds := range []api.Given{"dreams", "clean,", " clean", "Clean"} {
		_, err := b.Drain(ctx, api.DrainRequest{Kinds: kinds})
		wantFault(t, string(kinds), err, fault.Invalid, "query:kind")
	}
	did := func() map[string]int { // finished jobs by kind, in the other space and in all
		jobs := map[string]int{}
		for _, space := range []api.Given{"", "other"} {
			for _, a := range given[api.Ledger](t)(b.Ledger(ctx, api.LedgerQuery{Space: space})).Accounts {
				jobs[string(space)+":"+a.Kind] += a.Jobs
			}
		}
		return jobs
	}
	for _, in := range []api.DrainRequest{{Jobs: 1}, {Tokens: 1}} { // of the rest in the first space
		in.Space = nodetest.Space
		if got := given[api.Drained](t)(b.Drain(ctx, in)); got.Done != 1 || len(got.Reasons) != 1 || got.Reasons[0].Code != scheduler.ReasonBound {
			t.Errorf("%+v: %+v", in, got)
		}
	}
	before := did()
	if got := given[api.Drained](t)(b.Drain(ctx, api.DrainRequest{Space: "other", Kinds: "clean,abstract"})); got.Done == 0 || len(got.Kinds) == 0 {
		t.Errorf("%+v", got)
	}
	after := did()
	if n := after["other:abstract"]; n == 0 || after[":abstract"]-before[":abstract"] != n {
		t.Errorf("of the other space nothing, or not it alone, was summed up: %v, then %v", before, after)
	}
	delete(after, "other:abstract")
	delete(after, ":abstract")
	delete(before, ":abstract")
	delete(after, "other:clean")
	delete(after, ":clean")
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("more was done than was wanted (-before +after):\n%s", d)
	}
	given[api.Drained](t)(b.Drain(ctx, api.DrainRequest{Space: "other"}))
	if n := f.jobsOf("other").Jobs; len(n) != 0 {
		t.Errorf("left in the space: %+v", n)
	}
}

// The figures of the cache are those of the tree.
func TestCache(t *testing.T) {
	f := scriptedBackend(t)
	b, ctx := f.API(), t.Context()
	in := api.InSpace{Space: nodetest.Space}
	f.askAll(t)
	all := given[api.Cache](t)(b.Cache(ctx, api.Nothing{}))
	one := given[api.SpaceCache](t)(b.SpaceCache(ctx, in))
	if all.Slices == 0 || one.Slices != all.Slices || one.Bytes != all.Bytes || one.Limit != nil || len(one.Groups) != 1 {
		t.Errorf("%+v\n%+v", all, one)
	}
	tree := given[api.Tree](t)(b.Tree(ctx, api.Page{InSpace: in, Limit: all.Slices}))
	if len(tree.Slices) != all.Slices || tree.More || tree.Slices[0].Chunk != nil || tree.Slices[1].Chunk == nil {
		t.Errorf("%+v", tree)
	}
	if tree := given[api.Tree](t)(b.Tree(ctx, api.Page{InSpace: in, Limit: 2})); len(tree.Slices) != 2 || !tree.More {
		t.Errorf("%+v", tree)
	}
	if got := given[api.Verified](t)(b.VerifyCache(ctx, api.Nothing{})); !got.Clean || got.Slices != all.Slices {
		t.Errorf("%+v", got)
	}
	given[api.Space](t)(b.ChangeSpace(ctx, api.SpaceChange{InSpace: in, Merge: []byte(`{"tensor_limit":1}`)}))
	if one := given[api.SpaceCache](t)(b.SpaceCache(ctx, in)); one.Slices != 0 || *one.Limit != 1 {
		t.Errorf("its own limit does not hold: %+v", one)
	}
	given[api.Space](t)(b.ChangeSpace(ctx, api.SpaceChange{InSpace: in, Merge: []byte(`{"tensor_limit":null}`)}))
	given[api.Answer](t)(b.Ask(ctx, api.AskRequest{Space: nodetest.Space, Question: api.Question{Question: "Who leads Otter?", Bypass: true}}, api.Listener{}))
	if got := given[api.Dropped](t)(b.ClearSpaceCache(ctx, in)); got.Slices == 0 || got.Bytes == 0 {
		t.Errorf("%+v", got)
	}
	if got := given[api.Dropped](t)(b.ClearCache(ctx, api.Nothing{})); got != (api.Dropped{}) {
		t.Errorf("%+v", got)
	}
}
