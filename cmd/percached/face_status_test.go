package main

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/scheduler"
)

// The status counts what there is, and what was asked.
func TestStatusOfFace(t *testing.T) {
	f := scriptedFace(t)
	f.begun = time.Date(2025, 6, 2, 7, 0, 0, 0, time.UTC)
	b, ctx := f.backend(), t.Context()
	f.askAll(t)
	given[api.Idle](t)(b.Pause(ctx, api.Nothing{}))
	ask := f.service.news.asked(func(_, _ string) func(answer.Answer, error) { return func(answer.Answer, error) {} })
	for _, a := range []answer.Answer{
		{Outcome: answer.Miss, Tokens: answer.Tokens{Computed: 100}, Times: answer.Times{Total: 10 * time.Second, Prefill: 8 * time.Second}},
		{Outcome: answer.TensorHit, Tokens: answer.Tokens{Reused: 50, Computed: 50}, Times: answer.Times{Total: 5 * time.Second, Prefill: 4 * time.Second}},
		{Outcome: answer.AnswerHit, Times: answer.Times{Total: time.Second}},
		{Outcome: answer.AnswerHit, Times: answer.Times{Total: time.Second}},
	} {
		ask(lifeSpace, "?")(a, nil)
	}
	ask(lifeSpace, "?")(answer.Answer{}, errors.New("it broke"))
	got := given[api.Status](t)(b.Status(ctx, api.Nothing{}))
	// Without stored tensors the second had taken 4 s more, and 9 s in all: answers
	// take a sixteenth less than 10 s then.
	cold := 10 - 1.0/16
	want := api.StatusQuestions{AnswerHits: 2, TensorHits: 1, Misses: 1, Failed: 1, ReusedTokens: 50, SavedSeconds: 4 + 2*(cold-1)}
	if d := cmp.Diff(want, got.Questions); d != "" || !got.Started.Equal(f.begun) {
		t.Errorf("since %v (-want +got):\n%s", got.Started, d)
	}
	tree := given[api.Cache](t)(b.Cache(ctx, api.Nothing{}))
	docs := given[api.Documents](t)(b.Documents(ctx, api.DocumentPage{Page: api.Page{InSpace: api.InSpace{Space: lifeSpace}, Limit: 1000}})).Documents
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
	if q := (*news)(nil).questions(); q != (api.StatusQuestions{}) {
		t.Errorf("nobody counts: %+v", q)
	}
}

// The event of an answer names the chunks that it rests on, in order, as its space
// does.
func TestEventNamesChunks(t *testing.T) {
	a, b := percached.ChunkID{1}, percached.ChunkID{2}
	ids := percached.NewPublicIDs([16]byte{1})
	n := &news{ids: func(space string) (percached.PublicIDs, error) {
		if space != lifeSpace {
			return percached.PublicIDs{}, errors.New("it is gone")
		}
		return ids, nil
	}}
	for name, tt := range map[string]struct {
		cited []answer.Citation
		want  []percached.ChunkID
	}{
		"some": {[]answer.Citation{{Chunk: b}, {Chunk: a}}, ids.Chunks([]percached.ChunkID{b, a})},
		"none": {nil, []percached.ChunkID{}},
	} {
		if got := n.chunksOf("gone", answer.Answer{Citations: tt.cited}); len(got) > 0 {
			t.Errorf("%s: %v in no space", name, got)
		}
		if d := cmp.Diff(tt.want, n.chunksOf(lifeSpace, answer.Answer{Citations: tt.cited})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
