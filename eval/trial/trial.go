package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// space is where all of it takes place.
const space = "eval"

// Plan says what is tried.
type Plan struct {
	Set         *eval.Set
	Limit       int // questions, the first ones; 0: all
	Paraphrases bool
	Kind        string            // what the documents are, as spaces have it; empty: the usual
	Progress    func(of1 float64) // of the questions
}

// trial is one under way.
type trial struct {
	Plan
	api       *client.ClientWithResponses
	questions []eval.Question
	made      map[string]map[string]bool // by file: its documents, of files with answers
	holders   map[int]map[string]bool    // by question: the documents that hold its answer
	report    *Report
	answers   []Answer
}

// Run tries it on a percached that holds nothing yet. The report says nothing of
// machine and commit: that is for the caller to enter.
func Run(ctx context.Context, c *client.ClientWithResponses, p Plan) (*Report, []Answer, error) {
	t := &trial{Plan: p, api: c, questions: p.Set.Questions, made: map[string]map[string]bool{}, holders: map[int]map[string]bool{}}
	if p.Limit > 0 && p.Limit < len(t.questions) {
		t.questions = t.questions[:p.Limit]
	}
	t.report = &Report{Began: time.Now().UTC()}
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"what runs", t.about},
		{"taking the documents in", t.fill},
		{"asking", t.ask},
		{"asking past the bank", t.check},
	} {
		if err := step.do(ctx); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", step.what, err)
		}
	}
	t.report.sum(t)
	return t.report, t.answers, nil
}

// about notes what it is that is tried.
func (t *trial) about(ctx context.Context) error {
	about, err := t.api.AboutWithResponse(ctx)
	if err == nil {
		err = client.Failed(about.StatusCode(), about.Body)
	}
	if err != nil {
		return err
	}
	config, err := t.api.GetConfigWithResponse(ctx)
	if err == nil {
		err = client.Failed(config.StatusCode(), config.Body)
	}
	if err != nil {
		return err
	}
	r := t.report
	r.Version, r.Model, r.Embedder = about.JSON200.Version, about.JSON200.Model, about.JSON200.Embedder
	r.Settings = map[string]string{}
	for _, s := range config.JSON200.Settings {
		// Where it lies and listens is another each time.
		if s.Source != client.SettingSourceDefault && s.Key != "data" && s.Key != "listen" {
			r.Settings[s.Key] = s.Value
		}
	}
	return nil
}
