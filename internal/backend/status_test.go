package backend

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/scheduler"
)

// The status counts stored data and questions.
func TestStatus(t *testing.T) {
	f := scriptedBackend(t)
	f.Started = time.Date(2025, 6, 2, 7, 0, 0, 0, time.UTC)
	b, ctx := f.API(), t.Context()
	f.askAll(t)
	given[api.Idle](t)(b.Pause(ctx, api.Nothing{}))
	ask := f.recorder.Asked
	for _, a := range []answer.Answer{
		{Outcome: answer.Miss, Tokens: answer.Tokens{Computed: 100}, Times: answer.Times{Total: 10 * time.Second, Prefill: 8 * time.Second}},
		{Outcome: answer.TensorHit, Tokens: answer.Tokens{Reused: 50, Computed: 50}, Times: answer.Times{Total: 5 * time.Second, Prefill: 4 * time.Second}},
		{Outcome: answer.VerifiedHit, Times: answer.Times{Total: time.Second}},
		{Outcome: answer.AnswerHit, Times: answer.Times{Total: time.Second}},
		{Outcome: answer.AnswerHit, Times: answer.Times{Total: time.Second}},
	} {
		ask(nodetest.Space, "?")(a, nil)
	}
	ask(nodetest.Space, "?")(answer.Answer{}, errors.New("it broke"))
	got := given[api.Status](t)(b.Status(ctx, api.Nothing{}))
	// Without stored tensors the second question would have taken 4 s more, 9 s in all. Answers
	// then take a sixteenth less than 10 s.
	cold := 10 - 1.0/16
	want := api.StatusQuestions{AnswerHits: 2, VerifiedHits: 1, TensorHits: 1, Misses: 1, Failed: 1, ReusedTokens: 50, SavedSeconds: 4 + 2*(cold-1)}
	if d := cmp.Diff(want, got.Questions); d != "" || !got.Started.Equal(f.Started) {
		t.Errorf("since %v (-want +got):\n%s", got.Started, d)
	}
	tree := given[api.Cache](t)(b.Cache(ctx, api.Nothing{}))
	docs := given[api.Documents](t)(b.Documents(ctx, api.DocumentPage{Page: api.Page{InSpace: api.InSpace{Space: nodetest.Space}, Limit: 1000}})).Documents
	chunks := 0
	for _, d := range docs {
		chunks += d.Chunks
	}
	s := got.Stored
	if s.Spaces != 1 || s.Documents != len(docs) || s.Chunks != chunks || s.Slices != tree.Slices || s.TensorBytes != tree.Bytes || s.Entries == 0 || s.Answered != s.Entries {
		t.Errorf("%d documents, %d chunks, %d slices: %+v", len(docs), chunks, tree.Slices, s)
	}
	if got.Idle.State != string(scheduler.Paused) || got.Waiting.Uploads != 0 || got.Waiting.Questions != 0 {
		t.Errorf("%+v", got)
	}
}
