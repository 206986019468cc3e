package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/scheduler"
)

// firstMails is a mailbox of the demo's first mails.
func firstMails(t *testing.T, n int) string {
	t.Helper()
	all, err := os.ReadFile("../../models/demo/inbox.mbox")
	if err != nil {
		t.Fatal(err)
	}
	mails := strings.SplitAfterN(string(all), "\n\nFrom ", n+1)
	path := filepath.Join(t.TempDir(), "inbox.mbox")
	if err := os.WriteFile(path, []byte(strings.TrimSuffix(strings.Join(mails[:n], ""), "From ")), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func benchSchedule(args ...string) (r scheduleReport, err error) {
	var out bytes.Buffer
	args = append([]string{"bench", "schedule", "--json"}, args...)
	if err := run(context.Background(), args, strings.NewReader(""), &out, io.Discard); err != nil {
		return r, err
	}
	d := json.NewDecoder(&out)
	d.DisallowUnknownFields()
	return r, d.Decode(&r)
}

// The three cases on the built-in model: what is decoded while the threshold is
// low only, what is made up for when it falls, what comes back when there is room.
func TestSchedule(t *testing.T) {
	if testing.Short() {
		t.Skip("takes the built-in model some 20 s")
	}
	const mails = 12
	r, err := benchSchedule(firstMails(t, mails), "--threads", "1")
	if err != nil {
		t.Fatal(err)
	}
	if r.Documents != mails || len(r.Asked) != scheduleQuestions || len(r.Phases) != scheduleQuestions || r.Limit <= 0 || r.Limit >= r.Stored {
		t.Fatalf("%d documents, %d questions, %d times of idle work, limit %d of %d", r.Documents, len(r.Asked), len(r.Phases), r.Limit, r.Stored)
	}
	thresholds := []float64{0.85, 0.85, 0.9, 0.9, 0.9, 0.85, 0.85, 0.85}
	var sums both[tally]
	for i, p := range r.Phases {
		a := r.Asked[i]
		roomy := i >= limitRises
		if p.Threshold != thresholds[i] || a.Threshold != thresholds[i] || (a.Limit == r.Limit) == roomy {
			t.Errorf("question %d: threshold %v and %v, limit %d", i+1, p.Threshold, a.Threshold, a.Limit)
		}
		sums.With.plus(p.Done.With)
		sums.Without.plus(p.Done.Without)
		for _, s := range [][2]tally{{sums.With, p.Accumulated.With}, {sums.Without, p.Accumulated.Without}} {
			if d := cmp.Diff(s[0], s[1], cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-6 })); d != "" {
				t.Errorf("question %d: what is accumulated is not the sum: %s", i+1, d)
			}
		}
		with, without := p.Accumulated.With.Total, p.Accumulated.Without.Total
		if i < thresholdFalls && with.Generated > without.Generated {
			t.Errorf("question %d: %d tokens written with the scheduler, %d without", i+1, with.Generated, without.Generated)
		}
		if e := p.Done.With.Kinds[scheduler.Populate]; p.Threshold > r.Cutoff && e.Generated > 0 {
			t.Errorf("question %d: predictions were answered", i+1)
		}
		if k := p.Done.Without.Kinds; k[scheduler.Decode] != (effort{}) || k[scheduler.Restore] != (effort{}) {
			t.Errorf("question %d: converted without the scheduler", i+1)
		}
		if with.Failed+without.Failed > 0 {
			t.Errorf("question %d: %d and %d jobs failed", i+1, with.Failed, without.Failed)
		}
	}
	if r.HighPopulation.Generated <= 0 {
		t.Errorf("no tokens were saved: %+v", r.HighPopulation)
	}
	if r.Decoded == 0 || r.Restored == 0 {
		t.Errorf("%d entries decoded, %d slices restored", r.Decoded, r.Restored)
	}
	if !r.Equal || r.Compared == 0 {
		t.Errorf("equal %v of %d", r.Equal, r.Compared)
	}
	if err := r.Table(io.Discard); err != nil {
		t.Error(err)
	}
}

func TestScheduleMisuse(t *testing.T) {
	dir := t.TempDir()
	few, empty := filepath.Join(dir, "few.jsonl"), filepath.Join(dir, "empty.jsonl")
	for path, text := range map[string]string{few: `{"question": "Who?"}`, empty: `{"question": " "}`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mails := firstMails(t, 1)
	for _, tc := range []struct {
		args []string
		says string
	}{
		{nil, "PATH"},
		{[]string{mails, "--limit-share", "1"}, "--limit-share must be a share between 0 and 1, not 1"},
		{[]string{mails, "--placement", "both"}, `--placement must be sequential or parallel, not "both"`},
		{[]string{mails, "--questions", few}, "--questions: there are 1 questions, 8 are asked"},
		{[]string{mails, "--questions", empty}, "--questions: question 1 is empty"},
	} {
		_, err := benchSchedule(tc.args...)
		var wrong cmdline.Misuse
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), tc.says) {
			t.Errorf("%q: %v", tc.args, err)
		}
	}
}

func TestCourseParts(t *testing.T) {
	for _, tc := range []struct {
		all  int
		want []int
	}{
		{1, []int{1, 1, 1, 1, 1, 1, 1, 1}},
		{4, []int{2, 2, 3, 3, 4, 4, 4, 4}},
		{100, []int{50, 62, 75, 87, 100, 100, 100, 100}},
	} {
		var got []int
		for n := 1; n <= scheduleQuestions; n++ {
			got = append(got, until(tc.all, n))
		}
		if d := cmp.Diff(tc.want, got); d != "" {
			t.Errorf("%d documents: %s", tc.all, d)
		}
	}
}

func TestCourseQuestions(t *testing.T) {
	for asked, want := range map[string]string{
		"What is due?":        "Which is due?",
		"Which day is it?":    "What day is it?",
		"How much is it?":     "What amount is it?",
		"Is the boat sold?":   "Please tell me: Is the boat sold?",
		"Whatever is on sale": "Please tell me: Whatever is on sale",
	} {
		if got := reworded(asked); got != want {
			t.Errorf("%q: %q", asked, got)
		}
	}
	for _, tc := range []struct {
		doc  knowledgebank.Source
		want string
	}{
		{knowledgebank.Source{Title: "Re: FW: the boat.", Source: "mail from Ana Ruiz"}, "What does Ana Ruiz write about the boat?"},
		{knowledgebank.Source{Title: "Budget: the rest", Source: "note"}, "What is said about Budget: the rest?"},
		{knowledgebank.Source{Source: "note", Blocks: []knowledgebank.Block{{Text: "a b c d e f g h i"}}}, "What is said about a b c d e f g h?"},
	} {
		if got := about(&tc.doc); got != tc.want {
			t.Errorf("%q: %q", tc.doc.Title, got)
		}
	}
}

func TestScheduleReport(t *testing.T) {
	var done tally
	step := func(k scheduler.Kind, end scheduler.End, took time.Duration, read, written, slices int) {
		done.count(scheduler.Step{
			Job: &scheduler.Job{Kind: k}, End: end, Took: took, Done: scheduler.Done{Computed: read, Generated: written},
		}, took/2, slices)
	}
	step(scheduler.Decode, scheduler.EndDone, time.Second, 10, 5, 0)
	step(scheduler.Restore, scheduler.EndDone, 2*time.Second, 20, 0, 3)
	step(scheduler.Restore, scheduler.EndFailed, time.Second, 7, 0, 0)
	step(scheduler.Warm, scheduler.EndNothing, 0, 0, 0, 0)
	if d := cmp.Diff(effort{Jobs: 2, Failed: 1, Seconds: 4, Processor: 2, Computed: 37, Generated: 5, Slices: 3}, done.Total); d != "" {
		t.Error(d)
	}
	r := scheduleReport{Phases: make([]schedulePhase, scheduleQuestions)}
	r.Phases[limitRises].Done.With = done
	r.Phases[limitRises-1].Done.With = done
	r.Asked = []scheduleAsked{
		{With: scheduleAnswer{Outcome: answer.Miss, Ms: 10}, Without: scheduleAnswer{Outcome: answer.Miss, Ms: 20}, Compared: true, Equal: true},
		{With: scheduleAnswer{Outcome: answer.Miss, Ms: 30}, Without: scheduleAnswer{Outcome: answer.AnswerHit, Ms: 2}},
	}
	r.conclude()
	if r.Decoded != 2 || r.Restored != 3 || r.Compared != 1 || !r.Equal || r.MeanMs.With != 20 || r.MeanMs.Without != 11 {
		t.Errorf("%+v", r)
	}
	r.Asked[0].Equal = false
	r.conclude()
	if r.Equal {
		t.Error("answers that differ are told to be equal")
	}
	if s := saving(effort{Seconds: 3, Computed: 30}, effort{Seconds: 4, Computed: 20}); s.Compute != 0.25 || s.Computed != -0.5 || s.Generated != 0 {
		t.Errorf("%+v", s)
	}
}
