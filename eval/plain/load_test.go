package plain_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/plain"
)

// folder writes files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestQuestions(t *testing.T) {
	for _, tc := range []struct {
		name, lines string
		want        []eval.Question
		skipped     []eval.Skipped
		passedOver  map[string]int
	}{
		{name: "the question alone", lines: `{"question":"Who?"}`, want: []eval.Question{{Number: 1, Text: "Who?"}}},
		{
			name:  "all of it",
			lines: `{"question":"Who?","answer":"Ana","answers":["Ana Ruiz"],"also":["A. Ruiz"],"paraphrases":["Which person?"],"document":"a.md","id":7}` + "\n",
			want: []eval.Question{{
				Number: 1, Text: "Who?", Gold: []string{"Ana", "Ana Ruiz", "A. Ruiz"}, Paraphrases: []string{"Which person?"}, Document: "a.md",
			}},
			passedOver: map[string]int{"id": 1},
		},
		{
			name: "numbers are those of lines", lines: "\ufeff{\"question\":\"Who?\"}\r\n\n  \n{\"question\":\"Where?\",\"answer\":null}",
			want: []eval.Question{{Number: 1, Text: "Who?"}, {Number: 4, Text: "Where?"}},
		},
		{
			name: "bad lines",
			lines: strings.Join([]string{
				`{"question":"Who?"}`, `{"question":`, `["Who?"]`, `null`, `{"question":7}`, `{"question":" "}`, `{}`, `{"question":"Who?","answers":"Ana"}`,
				`{"question":"Who?","answers":["Ana",""]}`, `{"question":"Who?","paraphrases":["\n"]}`, "{\"question\":\"\xff\"}",
				`{"question":"` + strings.Repeat("o", 1<<20) + `"}`, `{"question":"Who?"} {}`, `{"question":"Where?"}`,
			}, "\n"),
			want: []eval.Question{{Number: 1, Text: "Who?"}, {Number: 14, Text: "Where?"}},
			skipped: []eval.Skipped{
				{Where: "questions.jsonl line 2", Reason: "not a JSON object"},
				{Where: "questions.jsonl line 3", Reason: "not a JSON object"},
				{Where: "questions.jsonl line 4", Reason: "not a JSON object"},
				{Where: "questions.jsonl line 5", Reason: "question is not a text"},
				{Where: "questions.jsonl line 6", Reason: "no question"},
				{Where: "questions.jsonl line 7", Reason: "no question"},
				{Where: "questions.jsonl line 8", Reason: "answers is not a list of texts"},
				{Where: "questions.jsonl line 9", Reason: "an answer is empty"},
				{Where: "questions.jsonl line 10", Reason: "a paraphrase is empty"},
				{Where: "questions.jsonl line 11", Reason: "not UTF-8"},
				{Where: "questions.jsonl line 12", Reason: "longer than 1048576 bytes"},
				{Where: "questions.jsonl line 13", Reason: "not a JSON object"},
			},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := plain.Load(folder(t, map[string]string{"documents/a.md": "x", "questions.jsonl": tc.lines}))
			if err != nil {
				t.Fatal(err)
			}
			want := &eval.Data{
				Sets:    []eval.Set{{User: "me", Ordered: true, Files: []eval.File{{Name: "a.md", Size: 1}}, Questions: tc.want}},
				Skipped: tc.skipped, PassedOver: tc.passedOver,
			}
			if d := cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(eval.File{}, "Open")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestDocuments(t *testing.T) {
	dir := folder(t, map[string]string{
		"documents/b.md": "12345", "documents/mail/cur/1:2,S": "", "documents/mail/a.eml": "1", "documents/.git/x": "", "documents/.b.swp": "",
		"questions.jsonl": `{"question":"Who?"}`, "elsewhere.md": "",
	})
	if err := os.Symlink("../elsewhere.md", filepath.Join(dir, "documents", "link.md")); err != nil {
		t.Skip(err)
	}
	got, err := plain.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := &eval.Data{
		Sets: []eval.Set{{
			User: "me", Ordered: true,
			Files:     []eval.File{{Name: "b.md", Size: 5}, {Name: "mail/a.eml", Size: 1}, {Name: "mail/cur/1:2,S"}},
			Questions: []eval.Question{{Number: 1, Text: "Who?"}},
		}},
		Skipped: []eval.Skipped{
			{Where: "documents/.b.swp", Reason: "hidden", Usual: true}, {Where: "documents/.git", Reason: "hidden", Usual: true}, {Where: "documents/link.md", Reason: "a link", Usual: true},
		},
		PassedOver: map[string]int{},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(eval.File{}, "Open")); d != "" {
		t.Error(d)
	}
	for range 2 { // each time from the start
		in, err := got.Sets[0].Files[0].Open()
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(in)
		if err := errors.Join(err, in.Close()); err != nil || string(content) != "12345" {
			t.Errorf("%q %v", content, err)
		}
	}
}

// One refused name would fail the whole upload.
func TestNames(t *testing.T) {
	long := strings.Repeat(strings.Repeat("n", 199)+"/", 5)
	dir := folder(t, map[string]string{
		"documents/" + long[:999] + "m": "1", "documents/" + long + "m": "1", "documents/ü ~\"'.md": "1", "questions.jsonl": `{"question":"Who?"}`,
	})
	for _, name := range []string{"a\nb.md", "c\xff.md", `d\e.md`, "f\x1b/g.md"} {
		path := filepath.Join(dir, "documents", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Skip(err)
		}
	}
	got, err := plain.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range got.Sets[0].Files {
		files = append(files, f.Name)
	}
	if d := cmp.Diff([]string{long[:999] + "m", "ü ~\"'.md"}, files); d != "" {
		t.Error(d)
	}
	want := []eval.Skipped{
		{Where: `documents/"a\nb.md"`, Reason: "its name holds control characters"},
		{Where: `documents/"c\xff.md"`, Reason: "its name is not UTF-8"},
		{Where: `documents/"d\\e.md"`, Reason: "its name holds a backslash"},
		{Where: `documents/"f\x1b"`, Reason: "its name holds control characters"},
		{Where: `documents/"` + long + `m"`, Reason: "its name is longer than 1000 bytes"},
	}
	if d := cmp.Diff(want, got.Skipped); d != "" {
		t.Error(d)
	}
}

// The folders may be links; links in them are skipped.
func TestLinkedFolders(t *testing.T) {
	dir := folder(t, map[string]string{"notes/a.md": "1", "mine/questions.jsonl": `{"question":"Who?"}`})
	err := errors.Join(os.Symlink("../notes", filepath.Join(dir, "mine", "documents")), os.Symlink("mine", filepath.Join(dir, "link")))
	if err != nil {
		t.Skip(err)
	}
	got, err := plain.Load(filepath.Join(dir, "link"))
	if err != nil || len(got.Sets[0].Files) != 1 || got.Sets[0].Files[0].Name != "a.md" || len(got.Skipped) != 0 {
		t.Errorf("%+v %v", got, err)
	}
}

func TestNothingToDo(t *testing.T) {
	const one = `{"question":"Who?"}`
	for _, tc := range []struct {
		name    string
		files   map[string]string
		missing bool
		says    string
	}{
		{"nothing", map[string]string{}, true, "cannot read the documents: "},
		{"no documents", map[string]string{"questions.jsonl": one}, true, "cannot read the documents: "},
		{"no questions", map[string]string{"documents/a.md": ""}, true, "cannot read the questions: "},
		{"documents are a file", map[string]string{"documents": "", "questions.jsonl": one}, false, "cannot read the documents: "},
		{"hidden documents alone", map[string]string{"documents/.a": "", "questions.jsonl": one}, false, "the last is documents/.a: hidden"},
		{"an empty file", map[string]string{"documents/a.md": "", "questions.jsonl": "\n"}, false, "questions.jsonl has no question"},
		{"bad lines alone", map[string]string{"documents/a.md": "", "questions.jsonl": "{}\n7\n"}, false, "skipped items: 2, the last is questions.jsonl line 2: not a JSON object"},
	} {
		_, err := plain.Load(folder(t, tc.files))
		if err == nil || errors.Is(err, fs.ErrNotExist) != tc.missing || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
