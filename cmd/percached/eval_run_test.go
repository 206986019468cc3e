package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/percached/percached/eval/trial"
	"github.com/percached/percached/models/demo"
)

// The first questions of the invented inbox. With -v the table is told.
func TestEvalDemo(t *testing.T) {
	t.Setenv("PERCACHED_THREADS", "1")
	var out, errs bytes.Buffer
	args := []string{"eval", "run", "--dataset", "plain", "--path", plainDemo(t), "--limit", "12", "--out", filepath.Join(t.TempDir(), "out")}
	if err := run(context.Background(), args, strings.NewReader(""), &out, &errs); err != nil {
		t.Fatalf("%v\n%s\n%s", err, errs.String(), out.String())
	}
	t.Log("\n" + out.String())
	content, err := os.ReadFile(filepath.Join(args[len(args)-1], "report.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r trial.Report
	if err := json.Unmarshal(content, &r); err != nil {
		t.Fatal(err)
	}
	first, again, all := r.Rounds[0], r.Rounds[1], r.Rounds[2]
	if r.Data.Documents != 65 || r.Data.Tried != 12 || r.Data.Located != r.Data.Tried || all.Asked != 2*r.Data.Tried || all.Failed != 0 || len(r.Data.Skipped) != 0 {
		t.Errorf("%+v", r.Data)
	}
	if again.Outcomes["answer_hit"].Latency.Count != again.Asked || r.Served.Checked != r.Served.Answers || len(r.Served.Differing) != 0 {
		t.Errorf("%+v, %+v", again, r.Served)
	}
	if first.F1 != again.F1 || first.F1.Mean < first.Exact.Mean || first.Exact.Mean == 0 || first.Recalled.Mean < 0.9 {
		t.Errorf("%+v", first)
	}
}

// plainDemo lays the invented inbox out plainly: each mail is a file of its own, so
// that a question can name it.
func plainDemo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	documents := filepath.Join(dir, "documents")
	if err := os.CopyFS(documents, demo.Inbox()); err != nil {
		t.Fatal(err)
	}
	box := filepath.Join(documents, "inbox.mbox")
	mails, err := os.ReadFile(box)
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`(?mi)^message-id: <([^>]+)>`)
	for _, m := range regexp.MustCompile(`(?m)^From .*\n`).Split(string(mails), -1)[1:] {
		if err := os.WriteFile(filepath.Join(documents, id.FindStringSubmatch(m)[1]+".eml"), []byte(m), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	questions, err := os.ReadFile("../../models/demo/questions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	questions = regexp.MustCompile(`"document": "<([^>]+)>"`).ReplaceAll(questions, []byte(`"document": "$1.eml"`))
	if err := os.WriteFile(filepath.Join(dir, "questions.jsonl"), questions, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(box); err != nil {
		t.Fatal(err)
	}
	return dir
}
