package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/api/client"
)

// filled creates a space with settings that holds the mailbox.
func (w *world) filled(ctx context.Context, name string, set client.SettingsChange) {
	w.Helper()
	made, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: name, Settings: &set})
	w.is(201, made, err)
	mails, err := os.ReadFile(mailbox)
	if err != nil {
		w.Fatal(err)
	}
	up, err := w.all.UploadWithBodyWithResponse(ctx, name, &client.UploadParams{Name: new("old/inbox.mbox"), Wait: new(true)}, "application/mbox", bytes.NewReader(mails))
	w.is(200, up, err)
}

func (w *world) asksIn(ctx context.Context, space string, q client.Question) *client.Answer {
	w.Helper()
	got, err := w.all.AskWithResponse(ctx, space, q)
	w.is(200, got, err)
	return got.JSON200
}

// TestMeasured asks with different layouts of the prompt. The token counts must match those of
// the real model, and a prompt as one text must have the same chunks.
func TestMeasured(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	sequential := client.PlacementSequential
	w.filled(ctx, "apart", client.SettingsChange{Placement: &sequential})
	w.filled(ctx, "beside", client.SettingsChange{})
	w.filled(ctx, "whole", client.SettingsChange{Whole: new(true)})
	both, err := w.all.ChangeSpaceWithResponse(ctx, "whole", client.SettingsChange{Placement: new(client.PlacementParallel)})
	w.is(400, both, err)

	about, err := w.all.AboutWithResponse(ctx)
	w.is(200, about, err)
	want := client.ModelShape{Layers: 8, Width: 256, Heads: 4, HeadsKV: 2, HeadSize: 64, FeedForward: 384, Vocabulary: 4096, BytesPerToken: 4108}
	if d := cmp.Diff(want, about.JSON200.Model.Shape); d != "" {
		t.Error(d)
	}
	// In a row, each token sees all before it; what is reused stands first.
	inARow := func(c client.TokenCounts) int64 {
		n, r := int64(c.Prompt+c.Generated), int64(c.Reused)
		return n*(n+1)/2 - r*(r+1)/2
	}
	for _, q := range []string{budgetQ, "When does the picnic take place?"} {
		apart := w.asksIn(ctx, "apart", client.Question{Question: q})
		warm := w.asksIn(ctx, "apart", client.Question{Question: q, Bypass: new(true)})
		whole := w.asksIn(ctx, "whole", client.Question{Question: q})
		again := w.asksIn(ctx, "whole", client.Question{Question: q, Bypass: new(true)})
		for name, a := range map[string]*client.Answer{"in segments": apart, "warm": warm, "in one text": whole, "in one text again": again} {
			if a.Tokens.Attended != inARow(a.Tokens) || a.Tokens.Generated == 0 {
				t.Errorf("%s: %+v, want %d", name, a.Tokens, inARow(a.Tokens))
			}
		}
		if warm.Tokens.Reused == 0 || warm.Tokens.Attended >= apart.Tokens.Attended || warm.Answer != apart.Answer {
			t.Errorf("%+v, then %+v", apart.Tokens, warm.Tokens)
		}
		if d := cmp.Diff(apart.Citations, whole.Citations, cmpopts.IgnoreFields(client.Citation{}, "Document", "Chunk")); d != "" || whole.Outcome != client.OutcomeMiss || again.Outcome != client.OutcomeMiss || again.Answer != whole.Answer {
			t.Errorf("one text: %+v, %+v\n%s", whole, again, d)
		}
		// One text takes a token less at each seam, if any.
		if n := apart.Tokens.Prompt - whole.Tokens.Prompt; n < 0 || n > len(whole.Citations) {
			t.Errorf("%d tokens in segments, %d in one text", apart.Tokens.Prompt, whole.Tokens.Prompt)
		}
		beside := w.asksIn(ctx, "beside", client.Question{Question: q})
		if a := beside.Tokens.Attended; a <= int64(beside.Tokens.Computed) || a >= inARow(beside.Tokens) {
			t.Errorf("side by side: %+v", beside.Tokens)
		}
		hit := w.asksIn(ctx, "whole", client.Question{Question: q})
		if hit.Outcome != client.OutcomeAnswerHit || hit.Answer != whole.Answer || hit.Tokens != (client.TokenCounts{}) {
			t.Errorf("%+v", hit)
		}
	}
	cache, err := w.all.GetSpaceCacheWithResponse(ctx, "whole")
	w.is(200, cache, err)
	if cache.JSON200.Slices != 0 {
		t.Errorf("%+v", cache.JSON200)
	}
	docs, err := w.all.ListDocumentsWithResponse(ctx, "whole", nil)
	w.is(200, docs, err)
	for _, d := range docs.JSON200.Documents {
		if d.Path == nil || *d.Path != "old/inbox.mbox" {
			t.Errorf("%+v", d)
		}
	}
}

// TestDeletedAnswer: idle work does not restore a deleted answer. The history keeps its
// question.
func TestDeletedAnswer(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.filled(ctx, mail, client.SettingsChange{Adaptive: new(false), Stride: new(5)})
	kinds := []client.JobKind{client.JobKindHistory, client.JobKindPopulate, client.JobKindDecode, client.JobKindRestore}
	for i, q := range []string{budgetQ, "When does the picnic take place?", "What is the code of the door?"}[:repeated(3, 1)] {
		a := w.asksIn(ctx, mail, client.Question{Question: q})
		if a.Outcome == client.OutcomeAnswerHit || a.Entry == nil {
			t.Fatalf("%+v", a)
		}
		gone, err := w.all.DeleteEntryWithResponse(ctx, mail, *a.Entry)
		w.is(204, gone, err)
		history, err := w.all.ListHistoryWithResponse(ctx, mail, nil)
		w.is(200, history, err)
		if asked := history.JSON200.Questions; len(asked) != i+1 || asked[i].Question != q || asked[i].Outcome != a.Outcome {
			t.Errorf("%+v", asked)
		}
		done, err := w.all.DrainIdleWithResponse(ctx, &client.DrainIdleParams{Space: new(mail), Kind: kinds})
		w.is(200, done, err)
		if !slices.ContainsFunc(done.JSON200.Kinds, func(k client.KindWork) bool { return k.Kind == client.JobKindHistory && k.Done == 1 }) {
			t.Errorf("nothing was predicted: %+v", done.JSON200)
		}
		entries, err := w.all.ListEntriesWithResponse(ctx, mail, nil)
		w.is(200, entries, err)
		for _, e := range entries.JSON200.Entries {
			if e.Question == q || e.Origin != "predicted" {
				t.Errorf("it came back: %+v", e)
			}
		}
	}
}

// TestImportedLine: an imported line needs a question, an answer and a chunk. It is served if
// only similarity is tested, and not by the whole gate, because its origin is unknown.
func TestImportedLine(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	w.filled(ctx, mail, client.SettingsChange{Guard: new(false)})
	right := w.asksIn(ctx, mail, client.Question{Question: budgetQ})
	gone, err := w.all.DeleteEntryWithResponse(ctx, mail, *right.Entry)
	w.is(204, gone, err)
	line, err := json.Marshal(map[string]any{"question": budgetQ, "answer": "$1", "evidence": []string{right.Citations[0].Chunk}})
	if err != nil {
		t.Fatal(err)
	}
	in, err := w.all.ImportEntriesWithBodyWithResponse(ctx, mail, "application/x-ndjson", bytes.NewReader(line))
	w.is(200, in, err)
	if in.JSON200.Imported != 1 {
		t.Fatalf("%+v", in.JSON200)
	}
	for _, q := range []string{budgetQ, "What's the budget for Heron?"} {
		if a := w.asksIn(ctx, mail, client.Question{Question: q}); a.Outcome != client.OutcomeAnswerHit || a.Answer != "$1" {
			t.Errorf("%+v", a)
		}
	}
	on, err := w.all.ChangeSpaceWithResponse(ctx, mail, client.SettingsChange{Guard: new(true)})
	w.is(200, on, err)
	if a := w.asksIn(ctx, mail, client.Question{Question: budgetQ}); a.Outcome == client.OutcomeAnswerHit || a.Answer != right.Answer {
		t.Errorf("%+v", a)
	}
}
