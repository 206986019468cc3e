package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/folder"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/models/demo"
)

// spoken runs a command and gives what it says.
func spoken(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs bytes.Buffer
	err = run(context.Background(), args, strings.NewReader(""), &out, &errs)
	return out.String(), errs.String(), err
}

// The first questions of the invented inbox, of real systems. With -v the tables are
// told.
func TestEvalDemo(t *testing.T) {
	t.Setenv("PERCACHED_THREADS", "1")
	dir := filepath.Join(t.TempDir(), "out")
	documents, questions := 65, 6
	if testing.Short() {
		documents, questions = 8, 2
	}
	args := []string{
		"run", "--dataset", "plain", "--path", plainDemo(t, documents), "--systems", "naive-whole,meancache@threshold=0.5,sleep-time,percached,ragcache@limit=3",
		"--questions", strconv.Itoa(questions), "--paraphrases", "--rounds", "1", "--stride", "3", "--warmup", "1", "--out", dir,
	}
	out, errs, err := spoken(t, args...)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, errs, out)
	}
	t.Log("\n" + out)
	r, err := folder.Read(dir)
	if err != nil || len(r.Units) != 1 {
		t.Fatal(err)
	}
	u := r.Units[0]
	by := map[string]eval.Result{}
	var names []string
	for _, one := range u.Results {
		names, by[one.System] = append(names, one.System), one
	}
	want := []string{"naive", "naive-whole", "naive-parallel", "sleep-time", "percache", "percached", "meancache@threshold=0.5", "ragcache@limit=3"}
	if d := cmp.Diff(want, names); d != "" {
		t.Fatal(d)
	}
	if u.Documents != documents || len(u.Unread) != 0 || len(u.Asked) != 3*questions || len(r.Run.Skipped) != 0 || r.Run.Model.Shape.Layers == 0 {
		t.Errorf("%d documents, %d asked, %+v, %+v", u.Documents, len(u.Asked), u.Unread, r.Run.Skipped)
	}
	if r.Run.Settings["threads"] != "1" || len(r.Run.Settings) != 1 {
		t.Error("settings that are not the default:", r.Run.Settings)
	}
	recalled := 0
	for _, s := range r.Run.Systems {
		one, ref := by[s.Name], by[s.Reference]
		for i, a := range one.Answers {
			if a.Failure != "" || a.TotalMS <= 0 || a.FirstMS > a.TotalMS || !u.Asked[i].Located || a.Recalled == nil {
				t.Errorf("%s, question %d: %+v", s.Name, u.Asked[i].Number, a)
				continue
			}
			if s.Name == "naive" && *a.Recalled {
				recalled++
			}
			// What is computed is the same with stored tensors and without.
			if s.Name != "naive-whole" && a.Outcome != client.OutcomeAnswerHit && a.Text != ref.Answers[i].Text {
				t.Errorf("%s, question %d: %q, without a cache %q", s.Name, u.Asked[i].Number, a.Text, ref.Answers[i].Text)
			}
			// Once a minute the daemon writes how often slices were used: far less than a slice.
			if strings.HasPrefix(s.Name, "naive") && (a.Outcome != client.OutcomeMiss || a.Tokens.Reused != 0 || a.TensorBytes != 0 || a.Written > 16<<10 || a.After.Computed != 0) {
				t.Errorf("%s caches: %+v", s.Name, a)
			}
			if a.Outcome == client.OutcomeAnswerHit && (a.Origin == "" || s.Name == "sleep-time" && a.Origin == string(client.OriginAsked)) {
				t.Errorf("%s, question %d: an answer of origin %q", s.Name, u.Asked[i].Number, a.Origin)
			}
		}
	}
	if 10*recalled < 8*len(u.Asked) {
		t.Errorf("%d of %d recalled", recalled, len(u.Asked))
	}
	outcomes := func(system string, o client.Outcome) (n int) {
		for _, a := range by[system].Answers {
			if a.Outcome == o {
				n++
			}
		}
		return n
	}
	for system, o := range map[string]client.Outcome{"meancache@threshold=0.5": client.OutcomeAnswerHit, "ragcache@limit=3": client.OutcomeTensorHit, "percache": client.OutcomeTensorHit, "percached": client.OutcomeTensorHit} {
		if outcomes(system, o) == 0 {
			t.Errorf("%s has no %s", system, o)
		}
	}
	spent := func(r eval.Result) (n int) {
		n = r.Before.Computed + r.Before.Generated
		for _, a := range r.Answers {
			n += a.After.Computed + a.After.Generated
		}
		return n
	}
	if p := by["percache"].Before; p.Computed == 0 || !slices.ContainsFunc(p.Kinds, func(k client.KindWork) bool {
		return k.Kind == client.JobKindPredict && k.Done == 1 && k.Questions > 0 && k.Questions <= 3
	}) {
		t.Errorf("a round of three predicted questions: %+v", p)
	}
	// The last job may go past the bound.
	if most, own := spent(by["percache"]), spent(by["percached"]); own == 0 || own > most+2000 || spent(by["ragcache@limit=3"]) != 0 {
		t.Errorf("percached spent %d idle tokens, percache %d", own, most)
	}
	if small := by["ragcache@limit=3"]; small.Evicted == 0 || small.TensorBytes > *r.Run.Systems[7].Settings.TensorLimit {
		t.Errorf("room for 3 slices, %d evicted, %d bytes", small.Evicted, small.TensorBytes)
	}

	// The same again has nothing to do; another run is not mixed with it.
	again, _, err := spoken(t, append(args, "--json")...)
	if err != nil || !json.Valid([]byte(again)) {
		t.Errorf("%v\n%s", err, again)
	}
	if after, err := folder.Read(dir); err != nil || !cmp.Equal(r, after) {
		t.Error("it was run again", err)
	}
	if _, _, err := spoken(t, append(args, "--seed", "9")...); err == nil || !strings.Contains(err.Error(), dir+" holds another run with a different plan") {
		t.Error(err)
	}
	if _, errs, err := spoken(t, "report", dir); err != nil {
		t.Error(err, errs)
	}
	for _, pattern := range []string{"report.md", "report.json", "tables/*.csv", "figures/*.svg", "figures/*-dark.svg"} {
		if there, err := filepath.Glob(filepath.Join(dir, pattern)); err != nil || len(there) == 0 {
			t.Error("no", pattern, err)
		}
	}
	compared, _, err := spoken(t, "compare", dir, dir, "--system", "percached", "--against", "percache")
	if err != nil || !strings.Contains(compared, "percached") {
		t.Error(err, compared)
	}
}

// What makes no sense is refused before anything starts.
func TestEvalMisused(t *testing.T) {
	dir := t.TempDir()
	good := []string{"run", "--dataset", "plain", "--path", dir}
	for _, wrong := range [][]string{
		{"--dataset", "other"},
		{"--path", ""},
		{"--users", "-1"},
		{"--meetings", "0"},
		{"--kind", "letters"},
		{"--inboxes", dir},
		{"--systems", "naive,best"},
		{"--systems", "percache@threshold=2"},
		{"--systems", ""},
		{"--limit", "much"},
		{"--limit", "0"},
		{"--questions", "-1"},
		{"--warmup", "-1"},
		{"--rounds", "-1"},
		{"--repeats", "0"},
		{"--stride", "0"},
		{"--stride", "51"},
		{"--idle-tokens-before", "-1"},
		{"--idle-tokens-after", "-1"},
		{"--seed", "-1"},
		{"--shape", "other"},
		{"more"},
	} {
		if out, _, err := spoken(t, append(slices.Clone(good), wrong...)...); !commands.Misused(err) || out != "" {
			t.Errorf("%v: %v", wrong, err)
		}
	}
	for _, args := range [][]string{{"report"}, {"compare", dir}} {
		if _, _, err := spoken(t, args...); !commands.Misused(err) {
			t.Errorf("%v: %v", args, err)
		}
	}
	// There is nothing to read.
	for _, args := range [][]string{good, {"report", dir}, {"compare", dir, dir}} {
		if _, _, err := spoken(t, args...); err == nil || commands.Misused(err) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// plainDemo lays the invented inbox out plainly: each mail is a file of its own, so
// that a question can name it. It keeps the first documents and the questions about them.
func plainDemo(t *testing.T, documentsKept int) string {
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
	if err := os.Remove(box); err != nil {
		t.Fatal(err)
	}
	kept, about := 0, map[string]bool{}
	if err := filepath.WalkDir(documents, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if kept++; kept > documentsKept {
			return os.Remove(path)
		}
		about[d.Name()] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	mail := regexp.MustCompile(`"document": "<([^>]+)>"`)
	named := regexp.MustCompile(`"document": "([^"]+)"`)
	var asked []byte
	for line := range bytes.Lines(questions) {
		line = mail.ReplaceAll(line, []byte(`"document": "$1.eml"`))
		if of := named.FindSubmatch(line); of != nil && about[path.Base(string(of[1]))] {
			asked = append(asked, line...)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "questions.jsonl"), asked, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Two builds of one commit with other changes are two versions.
func TestStamp(t *testing.T) {
	dir := t.TempDir()
	program := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	clean := []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "false"}}
	dirty := []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}}
	for _, tc := range []struct {
		settings []debug.BuildSetting
		exe      string
		want     string
	}{
		{nil, program("a", "one"), ""},
		{clean, program("a", "one"), "abc"},
		{dirty, program("a", "one"), "abc with changes (7692c3ad3540)"},
		{dirty, program("b", "one"), "abc with changes (7692c3ad3540)"},
		{dirty, program("c", "two"), "abc with changes (3fc4ccfe7458)"},
		{dirty, filepath.Join(dir, "none"), ""},
	} {
		if got := stamp(tc.settings, tc.exe); got != tc.want {
			t.Errorf("%v of %s: %q, want %q", tc.settings, tc.exe, got, tc.want)
		}
	}
}
