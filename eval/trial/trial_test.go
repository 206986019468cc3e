package trial_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
	"github.com/percached/percached/eval/trial"
)

// scripted is a percached that says what it is told to, over a real socket: the
// real one, which fails seldom, is tried in cmd/percached.
type scripted struct {
	files []string
	asked []string
	// say gives events as a stream has them, or a status from 400 on.
	say func(q client.Question) (events string, status int)
}

func (s *scripted) serve(t *testing.T) *client.ClientWithResponses {
	t.Helper()
	mux := http.NewServeMux()
	give := func(pattern string, status int, body func(r *http.Request) string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			io.WriteString(w, body(r))
		})
	}
	fixed := func(body string) func(*http.Request) string { return func(*http.Request) string { return body } }
	give("GET /v1/about", 200, fixed(`{"version":"v1","model":{"name":"m"},"embedder":{"name":"e"}}`))
	give("GET /v1/config", 200, fixed(`{"settings":[{"key":"k","value":"2","source":"environment"},{"key":"kv","value":"f16","source":"default"},{"key":"data","value":"/d","source":"flag"}]}`))
	give("POST /v1/idle/pause", 200, fixed(`{}`))
	give("POST /v1/spaces", 201, fixed(`{}`))
	give("POST /v1/spaces/eval/documents", 200, func(r *http.Request) string {
		form, err := r.MultipartReader()
		if err != nil {
			t.Error(err)
			return ""
		}
		for part, err := form.NextRawPart(); err == nil; part, err = form.NextRawPart() {
			_, name, _ := strings.Cut(part.Header.Get("Content-Disposition"), `filename="`)
			s.files = append(s.files, strings.TrimSuffix(name, `"`))
		}
		return `{"state":"done","chunks":2,"failures":[{"name":"x","reason":"odd"}],"left_out":[]}`
	})
	give("GET /v1/spaces/eval/documents", 200, func(r *http.Request) string {
		if at := r.URL.Query().Get("after"); at == "" && len(s.files) > 1 {
			return fmt.Sprintf(`{"documents":[{"id":"of %s"}],"next":"1"}`, s.files[0])
		}
		return fmt.Sprintf(`{"documents":[{"id":"of %s"}]}`, s.files[len(s.files)-1])
	})
	mux.HandleFunc("POST /v1/spaces/eval/ask", func(w http.ResponseWriter, r *http.Request) {
		var q client.Question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Header.Get("Accept") != "text/event-stream" {
			t.Error(err, r.Header)
		}
		s.asked = append(s.asked, q.Question)
		events, status := s.say(q)
		if status != 0 {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(status)
			fmt.Fprintf(w, `{"type":"t","title":"Too much","status":%d,"instance":"i","fix":"f"}`, status)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, events)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	c, err := client.NewClientWithResponses(srv.URL)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// done is the end of a stream.
func done(answer, outcome, document string) string {
	return fmt.Sprintf("event: token\ndata: {\"text\":\"x\"}\n\nevent: done\ndata: "+
		`{"answer":%q,"outcome":%q,"citations":[{"document":%q}],"chunks":{"all":3,"stored":1},"tokens":{"prompt":10,"reused":4}}`+"\n\n", answer, outcome, document)
}

// twoFiles are of different folders, and of a name that an end alone would mix up.
func twoFiles(t *testing.T) (files []eval.File) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"myplan.md", "notes/plan.md"} {
		path := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(path, []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, eval.File{Name: name, Path: path})
	}
	return files
}

// All figures are worked by hand from what the percached says.
func TestRun(t *testing.T) {
	seen := map[string]int{}
	s := &scripted{say: func(q client.Question) (string, int) {
		if q.Bypass != nil {
			return done("to Ana Ruiz", "miss", ""), 0
		}
		seen[q.Question]++
		switch q.Question {
		case "who?":
			if seen["who?"] > 1 {
				return done("to Bo", "answer_hit", "of myplan.md"), 0
			}
			return done("to Ana Ruiz", "miss", "of notes/plan.md"), 0
		case "to whom?":
			return done("to Ana Ruiz", "answer_hit", "of notes/plan.md"), 0
		case "full?":
			return "", 429
		case "broken?":
			return "event: token\ndata: {\"text\":\"x\"}\n\nevent: error\ndata: {\"title\":\"It broke\",\"status\":500}\n\n", 0
		case "cut?":
			return "event: token\ndata: {\"te", 0
		}
		return "", 0
	}}
	set := &eval.Set{
		Files: twoFiles(t),
		Questions: []eval.Question{
			{Number: 1, Text: "who?", Gold: []string{"Ana Ruiz"}, Document: "plan.md", Paraphrases: []string{"to whom?"}},
			{Number: 3, Text: "full?", Gold: []string{"no"}, Document: "lost.md"},
			{Number: 4, Text: "broken?"},
			{Number: 5, Text: "cut?"},
			{Number: 6, Text: "silent?"},
			{Number: 7, Text: "beyond the limit?"},
		},
		PassedOver: map[string]int{"id": 2},
	}
	var last float64
	r, answers, err := trial.Run(t.Context(), s.serve(t), trial.Plan{Set: set, Limit: 5, Paraphrases: true, Progress: func(of1 float64) { last = of1 }})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"notes/plan.md", "myplan.md"}, s.files); d != "" {
		t.Error("the file with an answer goes first and alone", d)
	}
	want := []string{"who?", "full?", "broken?", "cut?", "silent?", "to whom?", "who?", "full?", "broken?", "cut?", "silent?", "to whom?", "who?"}
	if d := cmp.Diff(want, s.asked); d != "" || len(answers) != 11 || last != 1 {
		t.Error(d, len(answers), last)
	}
	r.Dataset, r.Seconds = "plain", 0
	wantData := trial.Data{
		Files: 2, Documents: 2, Chunks: 4, Unread: []client.Failure{{Name: "x", Reason: "odd"}, {Name: "x", Reason: "odd"}}, LeftOut: []client.Failure{},
		Questions: 6, Tried: 5, Paraphrases: 1, Gold: 2, Located: 1, Nowhere: []int{3}, Skipped: []eval.Skipped{}, PassedOver: map[string]int{"id": 2},
	}
	if d := cmp.Diff(wantData, r.Data); d != "" {
		t.Error(d)
	}
	fails := func(round string) []trial.Failed {
		return []trial.Failed{
			{Number: 3, Round: round, Reason: "429 Too much"},
			{Number: 4, Round: round, Reason: "500 It broke"},
			{Number: 5, Round: round, Reason: "the answer broke off: unexpected EOF"},
			{Number: 6, Round: round, Reason: "the answer ended too early"},
		}
	}
	if d := cmp.Diff(append(fails("first"), fails("again")...), r.Failures); d != "" {
		t.Error(d)
	}
	wantServed := trial.Served{Answers: 2, Checked: 2, Differing: []trial.Failed{{Number: 1, Round: "again"}}, Unchecked: []trial.Failed{}}
	if d := cmp.Diff(wantServed, r.Served); d != "" || r.Well() {
		t.Error(d)
	}
	one := trial.Figures{Latency: measure.Times{Count: 1}, Chunks: client.Reuse{Stored: 1, All: 3}, Tokens: trial.Tokens{Reused: 4, All: 10}}
	two := trial.Figures{Latency: measure.Times{Count: 2}, Chunks: client.Reuse{Stored: 2, All: 6}, Tokens: trial.Tokens{Reused: 8, All: 20}}
	three := trial.Figures{Latency: measure.Times{Count: 3}, FirstToken: measure.Times{Count: 1}, Chunks: client.Reuse{Stored: 3, All: 9}, Tokens: trial.Tokens{Reused: 12, All: 30}}
	computed := one
	computed.FirstToken.Count = 1
	hit := func(f trial.Figures) map[client.Outcome]trial.Figures {
		return map[client.Outcome]trial.Figures{client.OutcomeAnswerHit: f}
	}
	// "to ana ruiz" and "ana ruiz" share 2 of 3 and 2: 0.8. "to bo" shares none. What failed is 0.
	wantRounds := []trial.Round{
		{Name: "first", Asked: 5, Failed: 4, All: computed, Outcomes: map[client.Outcome]trial.Figures{client.OutcomeMiss: computed}, Exact: trial.Share{Of: 2}, F1: trial.Share{Of: 2, Mean: 0.4}, Recalled: trial.Share{Of: 1, Mean: 1}},
		{Name: "paraphrases", Asked: 1, All: one, Outcomes: hit(one), Exact: trial.Share{Of: 1}, F1: trial.Share{Of: 1, Mean: 0.8}, Recalled: trial.Share{Of: 1, Mean: 1}},
		{Name: "again", Asked: 5, Failed: 4, All: one, Outcomes: hit(one), Exact: trial.Share{Of: 2}, F1: trial.Share{Of: 2}, Recalled: trial.Share{Of: 1}},
		{
			Name: "all", Asked: 11, Failed: 8, All: three, Outcomes: map[client.Outcome]trial.Figures{client.OutcomeAnswerHit: two, client.OutcomeMiss: computed},
			Exact: trial.Share{Of: 5}, F1: trial.Share{Of: 5, Mean: 0.32}, Recalled: trial.Share{Of: 3, Mean: 0.6667},
		},
	}
	digits := cmp.Comparer(func(a, b float64) bool { return math.Round(a*1e4) == math.Round(b*1e4) })
	if d := cmp.Diff(wantRounds, r.Rounds, digits, cmpopts.IgnoreFields(measure.Times{}, "Mean", "Median", "P90")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"k": "2"}, r.Settings); d != "" {
		t.Error(d)
	}
	var text, page strings.Builder
	if err := r.Text(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.Markdown(&page); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"the first 5 of 6 (2 with a right answer, 1 with its document), 1 paraphrases", "0.3200 (of 5)", "1 of 2 checked differ", "perhaps wrong: question 1 (again)\n",
		"failed: question 3 (first): 429 Too much\n", "not taken in: x: odd\n", "its document is none of those taken in: question 3\n", `passed over: the field "id" of 2 questions`,
	} {
		if !strings.Contains(text.String(), line) || !strings.Contains(page.String(), line) {
			t.Errorf("%q is not told:\n%s\n%s", line, text.String(), page.String())
		}
	}
}

// A percached that is gone ends the trial; its silence is no figure.
func TestGone(t *testing.T) {
	s := &scripted{}
	s.say = func(client.Question) (string, int) { panic(http.ErrAbortHandler) }
	set := &eval.Set{Files: twoFiles(t), Questions: []eval.Question{{Number: 1, Text: "who?"}}}
	r, _, err := trial.Run(t.Context(), s.serve(t), trial.Plan{Set: set, Progress: func(float64) {}})
	if err == nil || r != nil || !strings.HasPrefix(err.Error(), "asking: ") {
		t.Error(r, err)
	}
}

func TestSave(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	r, answers := &trial.Report{Dataset: "plain"}, []trial.Answer{{Number: 1, Question: "who?"}, {Number: 2, Failure: "429"}}
	if err := trial.Save(dir, r, answers); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"answers.jsonl", "report.json", "report.md"} {
		content, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			t.Fatal(err)
		}
		if lines := strings.Count(string(content), "\n"); f == "answers.jsonl" && lines != 2 {
			t.Errorf("%d lines", lines)
		}
		var back trial.Report
		if f == "report.json" && (json.Unmarshal(content, &back) != nil || back.Dataset != "plain") {
			t.Errorf("%s", content)
		}
	}
	if err := trial.Save(dir, r, answers); err == nil {
		t.Error("a report took another's place")
	}
	// What cannot be written leaves nothing, not even a part.
	r.Rounds = []trial.Round{{F1: trial.Share{Mean: math.NaN()}}}
	broken := filepath.Join(filepath.Dir(dir), "broken")
	if err := trial.Save(broken, r, answers); err == nil {
		t.Error("a number that is none was written")
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 {
		t.Error(left, err)
	}
	for _, tc := range []struct {
		dir  string
		free bool
	}{{t.TempDir(), true}, {filepath.Join(dir, "new"), true}, {dir, false}, {filepath.Join(dir, "a", "b"), false}, {filepath.Join(dir, "report.md"), false}, {filepath.Join(dir, "report.md", "x"), false}} {
		if err := trial.Free(tc.dir); (err == nil) != tc.free {
			t.Errorf("%s: %v", filepath.Base(tc.dir), err)
		}
	}
}
