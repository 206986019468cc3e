package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/scheduler"
)

// What the report counts adds up, whatever the model prints.
func TestBenchPredict(t *testing.T) {
	demo := filepath.Join("..", "..", "models", "demo")
	questions := filepath.Join(demo, "questions.jsonl")
	var out bytes.Buffer
	err := run(context.Background(), []string{
		"bench", "predict", filepath.Join(demo, "inbox.mbox"), "--questions", questions, "--foreign", questions, "--rounds", "2", "--warm", "5",
		"--max-questions", "6", "--threads", "1", "--idle-between", "--json",
	}, nil, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(&out)
	dec.DisallowUnknownFields()
	var r predictingReport
	if err := dec.Decode(&r); err != nil {
		t.Fatal(err)
	}
	dropped := 0
	for why, n := range r.Dropped {
		if why != predictor.Empty {
			dropped += n
		}
	}
	if r.Documents != 62 || r.Chunks < 62 || r.Rounds > 2 || r.AskedFor != 5*r.Rounds || r.Printed < dropped || len(r.List) > 0 {
		t.Errorf("%+v", r)
	}
	for _, l := range []formLine{r.Predictions, r.Real} {
		ill := 0
		for _, n := range l.IllFormed {
			ill += n
		}
		if l.WellFormed+ill != l.All || l.Every > min(l.WellFormed, l.Supported, l.Distinct) || max(l.WellFormed, l.Supported, l.Distinct, l.Ready, l.History) > l.All {
			t.Errorf("%+v", l)
		}
	}
	if r.Real.All != 40 || r.Predictions.All+dropped != r.Printed {
		t.Errorf("%d real questions, %d kept, %d dropped, %d printed", r.Real.All, r.Predictions.All, dropped, r.Printed)
	}
	for i, l := range r.Floors {
		for group, s := range l.Above {
			if s.Kept > s.Above || i > 0 && (s.Above > r.Floors[i-1].Above[group].Above || s.Kept > r.Floors[i-1].Above[group].Kept) {
				t.Errorf("%s at a floor of %v: %+v", group, l.Floor, s)
			}
		}
		if d := cmp.Diff(l.Above[realGroup], l.Above[foreignGroup]); d != "" { // the same questions
			t.Error(d)
		}
	}
	var names []string
	for _, s := range r.Services {
		names = append(names, s.Name)
		adds(t, s)
	}
	if d := cmp.Diff([]string{coldService, reactiveService, predictedService, warmedService, idleService}, names); d != "" {
		t.Error(d)
	}
}

// adds says that a service's numbers add up, and that what it computed is what
// the service computed that keeps nothing.
func adds(t *testing.T, s *serviceLine) {
	t.Helper()
	computed := s.VerifiedHits + s.TensorHits + s.Misses
	switch {
	case s.Asked != 6, s.AnswerHits+computed != s.Asked, s.Stored > s.Chunks, s.Reused > s.Prompt, s.OfPredictions > s.AnswerHits,
		s.EqualComputed != computed, s.EqualServed > s.AnswerHits, s.MoreAnswers > s.AnswerHits, s.MoreTensors > s.TensorHits:
		t.Errorf("%+v", s)
	case s.Name == coldService && (computed != s.Asked || s.Stored+s.Reused > 0):
		t.Errorf("something was kept: %+v", s)
	case s.Name == reactiveService && s.MoreAnswers+s.MoreTensors+s.MoreChunks != 0:
		t.Errorf("more than itself: %+v", s)
	}
	warm, guessed := 0, 0
	for _, k := range s.Work.Kinds {
		switch {
		case k.Failed > 0:
			t.Errorf("%s: %+v", s.Name, k)
		case k.Kind == string(scheduler.Warm):
			warm += k.Done
		case k.Kind == string(scheduler.Predict) || k.Kind == string(scheduler.History):
			guessed += k.Done
		}
	}
	limits := map[string][2]int{predictedService: {0, 2}, warmedService: {5, 0}, idleService: {5, 2}}[s.Name]
	if warm > limits[0] || guessed > limits[1] || s.Name == predictedService && guessed == 0 || s.Name == warmedService && warm == 0 {
		t.Errorf("%s: %d chunks prefilled, %d rounds of prediction", s.Name, warm, guessed)
	}
}

func TestIllFormed(t *testing.T) {
	for q, want := range map[string]string{
		"What is the budget for Heron?":                    "",
		"Who leads Otter?":                                 "",
		"What's the rent?":                                 "",
		"In what month does the ferry leave?":              "",
		"Did Kofi pay the fee?":                            "",
		"Who will bring the boat?":                         "",
		"Where did the meeting take place?":                "",
		"What is the budget":                               illMark,
		"What is it? And the budget?":                      illMark,
		"The budget of Heron?":                             illStart,
		"Summarize the meeting?":                           illStart,
		"What is it about?":                                illEmpty,
		"What is the name of the owner who?":               illEnd,
		"What did the name of the owner?":                  illVerb,
		"What about the fee?":                              illVerb,
		"What did is the phone?":                           illVerb,
		"What did we get the medicine for the medicine?":   illTwice,
		"What did I I have to pay?":                        illTwice,
		"What is the name of the old productn't to be on?": illWord,
	} {
		if got := illFormed(q); got != want {
			t.Errorf("%q: %q, want %q", q, got, want)
		}
	}
}

func TestSupports(t *testing.T) {
	const chunk = "### Rent - mail from Anselm Drewitt - 3 February 2025\nFrom 1 April the rent of flat 3B is $1,185 a month; the deposits stay."
	for _, tc := range []struct {
		question string
		share    float64
		want     bool
	}{
		{"What is the rent of flat 3B?", 0.8, true},
		{"What is the rent of flat 3C?", 0.1, false}, // another name
		{"What did Anselm write about the deposit?", 0.6, true},
		{"What did Anselm write about the deposit?", 0.7, false}, // nothing of writing
		{"Who sent the email?", 0.1, false},                      // about nothing
	} {
		if got := supports(chunk, tc.question, tc.share); got != tc.want {
			t.Errorf("%q at %v: %v", tc.question, tc.share, got)
		}
	}
}

func TestBenchPredictRefuses(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := file("good", `{"question": "Who leads Otter?"}`)
	for _, args := range [][]string{
		{"--questions", file("empty", "")},
		{"--questions", file("blank", `{"question": " "}`)},
		{"--questions", file("broken", `{"question": "a"} {`)},
		{"--questions", good, "--share", "0"},
		{"--questions", good, "--rounds", "-1"},
		{"--questions", good, "--max-questions", "0"},
		{"--questions", good, "--floor", "2"},
		{},
	} {
		var wrong cmdline.Misuse
		if err := run(context.Background(), append([]string{"bench", "predict", good}, args...), nil, io.Discard, io.Discard); !errors.As(err, &wrong) {
			t.Errorf("%q: %v", args, err)
		}
	}
}

// In order, a question is asked when its document has come, and not before.
func TestBenchPredictInOrder(t *testing.T) {
	dir := t.TempDir()
	docs, questions := filepath.Join(dir, "docs"), filepath.Join(dir, "questions.jsonl")
	for path, text := range map[string]string{
		filepath.Join(docs, "1.txt"): "The budget of Heron is 46 thousand euros. Ana Ruiz leads Heron.",
		filepath.Join(docs, "2.txt"): "Kite starts in May. Tom Okafor leads Kite.",
		filepath.Join(docs, "3.txt"): "Wren ends.",
		questions: `{"question": "Who leads Heron?", "document": "1.txt"}
{"question": "Who leads Kite?", "document": "2.txt"}
{"question": "What is the budget of Heron?", "document": "1.txt"}`,
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run(context.Background(), []string{"bench", "predict", docs, "--questions", questions, "--in-order", "--rounds", "3", "--list", "--json"}, nil, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	var r predictingReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Documents != 2 || len(r.Services) != 5 {
		t.Errorf("%d documents, %d services", r.Documents, len(r.Services))
	}
	for _, s := range r.Services {
		if s.Asked != 3 || s.Name == warmedService && s.Stored != s.Chunks {
			t.Errorf("%+v", s)
		}
	}
	var predicted []string
	for _, p := range r.List {
		predicted = append(predicted, p.Question)
	}
	if !slices.Contains(predicted, "What is the budget of Heron?") {
		t.Errorf("predicted %q", predicted)
	}
}
