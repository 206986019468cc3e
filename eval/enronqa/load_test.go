package enronqa_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/enronqa"
)

// folder writes files. It compresses those whose names end with .gz.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, ".gz") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			if _, err := io.WriteString(z, content); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			content = b.String()
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// texts are the files of a set with their text, in order.
func texts(t *testing.T, s eval.Set) (all []string) {
	t.Helper()
	for _, f := range s.Files {
		var text string
		for range 2 { // each time from the start
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(in)
			if err := errors.Join(err, in.Close()); err != nil || int64(len(content)) != f.Size || text != "" && string(content) != text {
				t.Fatalf("%s: %q of %d bytes: %v", f.Name, content, f.Size, err)
			}
			text = string(content)
		}
		all = append(all, f.Name+": "+text)
	}
	return all
}

// mail is a row with the required columns.
func mail(path, user, more string) string {
	return `{"path":"` + path + `","user":"` + user + `","email":"mail ` + path + `",` + more + "}\n"
}

const (
	asked   = `"questions":["Who?"],"gold_answers":["Ana"]`
	columns = `,"rephrased_questions":null,"alternate_answers":null`
)

func TestLoad(t *testing.T) {
	dir := folder(t, map[string]string{"mails.jsonl": mail("ruiz-a/inbox/2.", "ruiz-a",
		`"questions":[" Who signs? ","How much?","When?"],"gold_answers":["Ana","$400","May 3"],`+
			`"rephrased_questions":["Whose name is below?","How much?",null],"alternate_answers":[["Ana Ruiz","Ana"],"400 dollars",[]],"include_email":[1,0,0]`) +
		mail("diaz-b/4.", "diaz-b", asked) + mail("ruiz-a/inbox/1.", "ruiz-a", asked)})
	got, err := enronqa.Load(filepath.Join(dir, "mails.jsonl"), enronqa.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := &eval.Data{
		Sets: []eval.Set{
			{
				User: "diaz-b", Kind: "emails",
				Files:     []eval.File{{Name: "diaz-b/4.eml", Size: 14}},
				Questions: []eval.Question{{Number: 1, Text: "Who?", Gold: []string{"Ana"}, Document: "diaz-b/4.eml"}},
			},
			{
				User: "ruiz-a", Kind: "emails",
				Files: []eval.File{{Name: "ruiz-a/inbox/2.eml", Size: 20}, {Name: "ruiz-a/inbox/1.eml", Size: 20}},
				Questions: []eval.Question{
					{Number: 1, Text: "Who signs?", Gold: []string{"Ana", "Ana Ruiz"}, Paraphrases: []string{"Whose name is below?"}, Document: "ruiz-a/inbox/2.eml"},
					{Number: 2, Text: "How much?", Gold: []string{"$400", "400 dollars"}, Document: "ruiz-a/inbox/2.eml"},
					{Number: 3, Text: "When?", Gold: []string{"May 3"}, Document: "ruiz-a/inbox/2.eml"},
					{Number: 4, Text: "Who?", Gold: []string{"Ana"}, Document: "ruiz-a/inbox/1.eml"},
				},
			},
		},
		PassedOver: map[string]int{"include_email": 1},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(eval.File{}, "Open")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"ruiz-a/inbox/2.eml: mail ruiz-a/inbox/2.", "ruiz-a/inbox/1.eml: mail ruiz-a/inbox/1."}, texts(t, got.Sets[1])); d != "" {
		t.Error(d)
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

// The flag changes nothing: both the mail and its questions stay.
// Questions are in order of the mails' dates, if every mail has one.
func TestOrderOfTime(t *testing.T) {
	dated := func(path, date string) string {
		return strings.Replace(mail(path, "ruiz-a", asked), "mail "+path, `Date: `+date+`\nSubject: x\n\ntext`, 1)
	}
	rows := dated("late", "Tue, 2 May 2000 10:00:00 -0700 (PDT)") + dated("early", "Tue, 2 May 2000 10:00:00 +0000")
	for _, tc := range []struct {
		rows    string
		want    []string
		ordered bool
	}{
		{rows, []string{"early.eml", "late.eml"}, true},
		{rows + mail("never", "ruiz-a", asked), []string{"late.eml", "early.eml", "never.eml"}, false},
	} {
		got, err := enronqa.Load(folder(t, map[string]string{"m.jsonl": tc.rows}), enronqa.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, q := range got.Sets[0].Questions {
			order = append(order, q.Document)
		}
		if !slices.Equal(order, tc.want) || got.Sets[0].Ordered != tc.ordered {
			t.Error(order, got.Sets[0].Ordered, "want", tc.want, tc.ordered)
		}
	}
}

func TestIncludeEmail(t *testing.T) {
	for _, flag := range []string{"true", "false", "[0]", "[1]", "null"} {
		dir := folder(t, map[string]string{"a.jsonl": mail("a/1.", "a", asked+`,"include_email":`+flag)})
		got, err := enronqa.Load(dir, enronqa.Options{})
		if err != nil || len(got.Sets[0].Files) != 1 || len(got.Sets[0].Questions) != 1 || got.PassedOver["include_email"] != 1 {
			t.Errorf("%s: %+v %v", flag, got, err)
		}
	}
}

func TestUsersAreTheFirstByName(t *testing.T) {
	dir := folder(t, map[string]string{
		"b.jsonl": mail("d/1.", "d", asked) + mail("b/1.", "b", asked) + mail("d/2.", "d", `"questions":7`),
		"a.jsonl": mail("c/1.", "c", asked) + mail("b/2.", "b", asked),
	})
	for n, want := range map[int][]string{0: {"b", "c", "d"}, 1: {"b"}, 2: {"b", "c"}, 9: {"b", "c", "d"}} {
		got, err := enronqa.Load(dir, enronqa.Options{Users: n})
		if err != nil {
			t.Fatal(err)
		}
		var users []string
		for _, s := range got.Sets {
			users = append(users, s.User)
		}
		if d := cmp.Diff(want, users); d != "" {
			t.Errorf("%d: %s", n, d)
		}
		for _, s := range got.Skipped { // the row of d that is wrong
			if n == 1 && strings.Contains(s.Where, "line 3") {
				t.Errorf("%d: %v is of nobody who was asked for", n, s)
			}
		}
	}
	if _, err := enronqa.Load(dir, enronqa.Options{Users: -1}); err == nil {
		t.Error("-1 users")
	}
}

// The published parts hold the same mails. Each is one document, with the questions of all
// parts.
func TestPartsOfTheSameMails(t *testing.T) {
	dir := folder(t, map[string]string{
		"data/train.jsonl":   mail("a/1.", "a", `"questions":["Who?","Who?"],"gold_answers":["Ana","Bo"]`+columns) + mail("a/2.", "a", `"questions":["Why?"],"gold_answers":["Snow"]`+columns),
		"data/dev.jsonl.gz":  mail("a/1.", "a", `"questions":["When?","Who?"],"gold_answers":["May 3","Ana"]`+columns),
		"data/test.jsonl":    mail("a/1.", "a", `"questions":null,"gold_answers":null`+columns) + strings.Replace(mail("a/1.", "a", asked+columns), `"mail a`, `"another a`, 1),
		"data/.cache/x.json": "", "README.md": "",
	})
	got, err := enronqa.Load(dir, enronqa.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := &eval.Data{
		Sets: []eval.Set{{
			User: "a", Kind: "emails",
			Files: []eval.File{{Name: "a/1.eml", Size: 9}, {Name: "a/1-2.eml", Size: 12}, {Name: "a/2.eml", Size: 9}},
			Questions: []eval.Question{
				{Number: 1, Text: "When?", Gold: []string{"May 3"}, Document: "a/1.eml"},
				{Number: 2, Text: "Who?", Gold: []string{"Ana"}, Document: "a/1.eml"},
				{Number: 3, Text: "Who?", Gold: []string{"Ana"}, Document: "a/1-2.eml"},
				{Number: 4, Text: "Who?", Gold: []string{"Bo"}, Document: "a/1.eml"},
				{Number: 5, Text: "Why?", Gold: []string{"Snow"}, Document: "a/2.eml"},
			},
		}},
		Skipped: []eval.Skipped{
			{Where: "README.md", Reason: "neither .parquet nor .jsonl nor .jsonl.gz"},
			{Where: ".cache", Reason: "hidden", Usual: true},
			{Where: "data/train.jsonl line 1, question 1", Reason: "duplicate: same question and answer about this mail"},
		},
		PassedOver: map[string]int{},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(eval.File{}, "Open"), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func TestSkipped(t *testing.T) {
	const right = `"questions":["Who?","When?"],"gold_answers":["Ana","May 3"]`
	skip := func(where, reason string) eval.Skipped { return eval.Skipped{Where: where, Reason: reason} }
	for _, tc := range []struct {
		name, line string
		questions  []string
		skipped    []eval.Skipped
	}{
		{"no object", `["a"]`, nil, []eval.Skipped{skip("", "not a JSON object")}},
		{"not UTF-8", "{\"user\":\"\xff\"}", nil, []eval.Skipped{skip("", "not UTF-8")}},
		{"a huge line", `{"user":"` + strings.Repeat("a", 32<<20) + `"}`, nil, []eval.Skipped{skip("", "longer than 33554432 bytes")}},
		{"no user", `{"path":"a/1.","email":"x",` + right + `}`, nil, []eval.Skipped{skip("", "no user: empty")}},
		{"a user who is a number", `{"user":7,"path":"a/1.","email":"x",` + right + `}`, nil, []eval.Skipped{skip("", "no user: not a text")}},
		{"no path", `{"user":"a","email":"x",` + right + `}`, nil, []eval.Skipped{skip("", "no path: empty")}},
		{"no email", `{"user":"a","path":"a/1.","email":" ",` + right + `}`, nil, []eval.Skipped{skip("", "no email")}},
		{"questions are a text", mail("a/1.", "a", `"questions":"Who?"`), nil, []eval.Skipped{skip("", "questions: not a list")}},
		{"a gold answer less", mail("a/1.", "a", `"questions":["Who?","When?"],"gold_answers":["Ana"]`), nil, []eval.Skipped{skip("", "gold_answers: 1 for 2 questions, so none is asked")}},
		{"gold answers are a number", mail("a/1.", "a", `"questions":["Who?"],"gold_answers":1`), nil, []eval.Skipped{skip("", "gold_answers: not a list")}},
		{"a rephrased one more", mail("a/1.", "a", right+`,"rephrased_questions":["A?","B?","C?"]`), []string{"Who?", "When?"}, []eval.Skipped{skip("", "rephrased_questions: 3 for 2 questions, so none is used")}},
		{"alternates are a text", mail("a/1.", "a", right+`,"alternate_answers":"Ana"`), []string{"Who?", "When?"}, []eval.Skipped{skip("", "alternate_answers: not a list")}},
		{"an empty question", mail("a/1.", "a", `"questions":[" ","When?"],"gold_answers":["Ana","May 3"]`), []string{"When?"}, []eval.Skipped{skip(", question 1", "no question: empty")}},
		{"an empty gold answer", mail("a/1.", "a", `"questions":["Who?","When?"],"gold_answers":["Ana",null]`), []string{"Who?"}, []eval.Skipped{skip(", question 2", "no gold answer: empty")}},
		{"other things that are no text", mail("a/1.", "a", right+`,"rephrased_questions":[7,"A?"],"alternate_answers":[["Ana R.",{}],[]]`), []string{"Who? Ana, Ana R.", "When? also A?"}, []eval.Skipped{
			skip(", question 1", "an alternate answer is not a text: it is left out\nthe rephrased question is not a text: it is left out"),
		}},
	} {
		dir := folder(t, map[string]string{"x.jsonl": mail("a/0.", "a", asked+columns) + tc.line})
		got, err := enronqa.Load(dir, enronqa.Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var questions []string
		for i, q := range got.Sets[0].Questions[1:] {
			text := q.Text
			if len(q.Gold) > 1 {
				text += " " + strings.Join(q.Gold, ", ")
			}
			if len(q.Paraphrases) > 0 {
				text += " also " + strings.Join(q.Paraphrases, ", ")
			}
			questions = append(questions, text)
			if q.Number != i+2 {
				t.Errorf("%s: question %d is number %d", tc.name, i+2, q.Number)
			}
		}
		for i := range tc.skipped {
			tc.skipped[i].Where = "x.jsonl line 2" + tc.skipped[i].Where
		}
		if d := cmp.Diff(tc.questions, questions) + cmp.Diff(tc.skipped, got.Skipped); d != "" {
			t.Errorf("%s: %s", tc.name, d)
		}
		// A mail without questions is still a document.
		if whole := strings.Contains(tc.line, "mail a/1."); whole != (len(got.Sets[0].Files) == 2) {
			t.Errorf("%s: %v", tc.name, got.Sets[0].Files)
		}
	}
}

func TestFileNames(t *testing.T) {
	for path, want := range map[string]string{
		"phan-s/sent_items/4.":          "phan-s/sent_items/4.eml",
		"a/4.eml":                       "a/4.eml",
		"/../a/./b//c..":                "a/b/c.eml",
		`a\b:c?d`:                       "a/b_c_d.eml",
		"a\x00b":                        "a_b.eml",
		"...":                           "mail.eml",
		strings.Repeat("ü/", 600) + "4": strings.Repeat("ü/", 299) + "4.eml",
	} {
		name, _ := json.Marshal(path)
		line := strings.Replace(mail("PATH", "a", asked), `"PATH"`, string(name), 1)
		got, err := enronqa.Load(folder(t, map[string]string{"x.jsonl": line}), enronqa.Options{})
		if err != nil || got.Sets[0].Files[0].Name != want || got.Sets[0].Questions[0].Document != want {
			t.Errorf("%s: %+v %v", path, got, err)
		}
	}
}

func TestInboxes(t *testing.T) {
	boxes := folder(t, map[string]string{"a.mbox": "From x\n\nall of a", "a.mbox.gz": "", "b.mbox.gz": "From x\n\nall of b"})
	dir := folder(t, map[string]string{"x.jsonl": mail("a/1.", "a", asked+columns) + mail("b/1.", "b", asked) + mail("c/1.", "c", asked) + mail("d/1.", "../d", asked)})
	got, err := enronqa.Load(dir, enronqa.Options{Inboxes: boxes})
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, s := range got.Sets {
		files = append(files, texts(t, s)...)
	}
	want := []string{"d/1.eml: mail d/1.", "inbox.mbox: From x\n\nall of a", "a/1.eml: mail a/1.", "inbox.mbox: From x\n\nall of b", "b/1.eml: mail b/1.", "c/1.eml: mail c/1."}
	if d := cmp.Diff(want, files); d != "" {
		t.Error(d)
	}
	skipped := []eval.Skipped{
		{Where: "the inbox of ../d", Reason: "the user's name cannot be a file name"},
		{Where: "the inbox of c", Reason: boxes + " has neither c.mbox nor c.mbox.gz"},
	}
	if d := cmp.Diff(skipped, got.Skipped); d != "" {
		t.Error(d)
	}
	whole := must(os.ReadFile(filepath.Join(boxes, "b.mbox.gz")))
	if err := os.WriteFile(filepath.Join(boxes, "b.mbox.gz"), whole[:len(whole)-4], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := enronqa.Load(dir, enronqa.Options{Inboxes: boxes}); !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "cannot read the inbox of b: ") {
		t.Error(err)
	}
}

func TestNothingToDo(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		path  string
		says  string
	}{
		{"no folder", nil, "none", "none: "},
		{"an empty folder", nil, "", "holds no .parquet, .jsonl or .jsonl.gz"},
		{"another file", map[string]string{"a.csv": ""}, "a.csv", "is neither .parquet nor .jsonl nor .jsonl.gz"},
		{"an empty file", map[string]string{"a.jsonl": "\n"}, "", "the last is a.jsonl: no rows"},
		{"other columns", map[string]string{"a.jsonl": `{"user":"a","questions":[]}` + "\n" + `{"email":"x"}`}, "", "a.jsonl: missing columns: path, gold_answers"},
		{"nothing asked", map[string]string{"a.jsonl": mail("a/1.", "a", `"questions":[],"gold_answers":[]`+columns)}, "", "the last is user a: no question to ask"},
		{"damage", map[string]string{"a.jsonl": "\x1f\x8b" + strings.Repeat("x", 99)}, "", "gzip"},
	} {
		for _, users := range []int{0, 1} {
			_, err := enronqa.Load(filepath.Join(folder(t, tc.files), tc.path), enronqa.Options{Users: users})
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %v", tc.name, err)
			}
		}
	}
}
