package mised_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/mised"
)

// folder writes files. It compresses those whose names end with .gz.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, ".gz") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, err := io.WriteString(z, content)
			if err := errors.Join(err, z.Close()); err != nil {
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

// text is the text of a file, read twice.
func text(t *testing.T, f eval.File) (text string) {
	t.Helper()
	for range 2 {
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
	return text
}

// dialog is a line of MISeD about a meeting whose transcript has its name.
func dialog(id, turns string) string {
	return `{"dialogId":"d","meeting":{"meetingId":"` + id + `","transcriptSegments":[{"speakerName":"Ana","text":"This is ` + id + ` ."}]},"dialog":{"dialogTurns":[` + turns + `]}}` + "\n"
}

func turn(query, response string) string {
	return `{"query":"` + query + `","response":"` + response + `","responseAttribution":{"indexRanges":[{"startIndex":0,"endIndex":0}]}}`
}

func skip(where, reason string) eval.Skipped { return eval.Skipped{Where: where, Reason: reason} }

func question(n int, text, gold, document string) eval.Question {
	return eval.Question{Number: n, Text: text, Gold: []string{gold}, Document: document}
}

func compare(t *testing.T, name string, want, got *eval.Data) {
	t.Helper()
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(eval.File{}, "Open", "Size"), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("%s: %s", name, d)
	}
}

func TestMISeD(t *testing.T) {
	dir := folder(t, map[string]string{"x.jsonl.gz": dialog("A1", turn("Who?", "Ana.")+","+turn("Why?", "Snow.")) + dialog("B2", turn("Who?", "Bo.")) +
		dialog("C3", turn("When?", "May 3.")) + dialog("A1", turn("Who?", "Ana.")+","+turn("How much?", "$400."))})
	all, err := mised.Load(filepath.Join(dir, "x.jsonl.gz"), mised.Options{Meetings: 2})
	if err != nil {
		t.Fatal(err)
	}
	want := &eval.Data{
		Sets: []eval.Set{
			{
				User: "user-1", Kind: "meetings", Ordered: true, Files: []eval.File{{Name: "A1.json"}, {Name: "B2.json"}},
				Questions: []eval.Question{
					question(1, "Who?", "Ana.", "A1.json"), question(2, "Why?", "Snow.", "A1.json"), question(3, "How much?", "$400.", "A1.json"),
					question(4, "Who?", "Bo.", "B2.json"),
				},
			},
			{User: "user-2", Kind: "meetings", Ordered: true, Files: []eval.File{{Name: "C3.json"}}, Questions: []eval.Question{question(1, "When?", "May 3.", "C3.json")}},
		},
		Skipped:    []eval.Skipped{skip("x.jsonl.gz line 4, turn 1", "duplicate: same question and answer about this meeting")},
		PassedOver: map[string]int{"responseAttribution": 6},
	}
	compare(t, "all", want, all)
	const file = `{"meetingId":"A1","transcriptSegments":[{"speakerName":"Ana","text":"This is A1 ."}]}`
	if d := cmp.Diff(file, text(t, all.Sets[0].Files[0])); d != "" {
		t.Error(d)
	}

	one, err := mised.Load(dir, mised.Options{Users: 1, Meetings: 1})
	if err != nil {
		t.Fatal(err)
	}
	want.Sets = []eval.Set{{User: "user-1", Kind: "meetings", Ordered: true, Files: want.Sets[0].Files[:1], Questions: want.Sets[0].Questions[:3]}}
	want.PassedOver["responseAttribution"] = 4 // fields of other meetings are not counted
	compare(t, "one", want, one)
}

// A turn may have its question in other words.
func TestParaphrase(t *testing.T) {
	other := strings.Replace(turn("Who leads?", "Ana."), `"query"`, `"paraphrase":"Who is the chair?","query"`, 1)
	got, err := mised.Load(folder(t, map[string]string{"x.jsonl": dialog("A1", other+","+turn("Why?", "Snow."))}), mised.Options{})
	if err != nil {
		t.Fatal(err)
	}
	q := got.Sets[0].Questions
	if d := cmp.Diff([]string{"Who is the chair?"}, q[0].Paraphrases); d != "" || q[1].Paraphrases != nil {
		t.Error(d, q[1].Paraphrases)
	}
}

func qmsum(say string) string {
	return `{"topic_list":[{"topic":"t","relevant_text_span":[["0","1"]]}],
		"general_query_list":[{"query":"Summarize the whole meeting.","answer":"It was ` + say + `."}],
		"specific_query_list":[{"query":"What of it?","answer":"Much.","relevant_text_span":[["0","1"]]}],
		"meeting_transcripts":[{"speaker":"The Chair (Ana Ruiz)","content":"We begin with ` + say + ` ."},{"speaker":"Bo","content":"{vocalsound}"}]}`
}

func TestQMSum(t *testing.T) {
	line := func(say string) string { return strings.ReplaceAll(qmsum(say), "\n", " ") + "\n" }
	questions := func(file, say string) []eval.Question {
		return []eval.Question{question(1, "Summarize the whole meeting.", "It was "+say+".", file), question(2, "What of it?", "Much.", file)}
	}
	set := func(n, file, say string) eval.Set {
		return eval.Set{User: "user-" + n, Kind: "meetings", Ordered: true, Files: []eval.File{{Name: file}}, Questions: questions(file, say)}
	}
	over := map[string]int{"topic_list": 2, "relevant_text_span": 2}
	for name, tc := range map[string]struct {
		files map[string]string
		want  *eval.Data
	}{
		"a file each":       {map[string]string{"all/covid_1.json": qmsum("snow"), "all/covid_2.json": "\ufeff" + qmsum("rain")}, &eval.Data{Sets: []eval.Set{set("1", "covid_1.json", "snow"), set("2", "covid_2.json", "rain")}}},
		"a line each":       {map[string]string{"val.jsonl": line("snow") + line("rain")}, &eval.Data{Sets: []eval.Set{set("1", "val-1.json", "snow"), set("2", "val-2.json", "rain")}}},
		"a list":            {map[string]string{"val.json.gz": "[" + qmsum("snow") + "," + qmsum("rain") + "]"}, &eval.Data{Sets: []eval.Set{set("1", "val-1.json", "snow"), set("2", "val-2.json", "rain")}}},
		"one name for both": {map[string]string{"a/x.json": qmsum("snow"), "b/x.json": qmsum("rain")}, &eval.Data{Sets: []eval.Set{set("1", "x.json", "snow"), set("2", "x-2.json", "rain")}}},
		"the same in two forms": {map[string]string{"a/m.json": qmsum("snow"), "val.jsonl": line("snow"), ".git/x": "", "LICENSE": ""}, &eval.Data{
			Sets: []eval.Set{set("1", "m.json", "snow")},
			Skipped: []eval.Skipped{
				{Where: ".git", Reason: "hidden", Usual: true},
				skip("LICENSE", "neither .jsonl nor .jsonl.gz nor .json"),
				skip("val.jsonl line 1, general query 1", "duplicate: same question and answer about this meeting"), skip("val.jsonl line 1, specific query 1", "duplicate: same question and answer about this meeting"),
			},
		}},
	} {
		got, err := mised.Load(folder(t, tc.files), mised.Options{Meetings: 1})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tc.want.PassedOver = over
		compare(t, name, tc.want, got)
	}
}

// Missing or unusual fields are tolerated and reported.
func TestTolerates(t *testing.T) {
	const segment = `{"speakerName":"Ana","text":"This is A1 ."}`
	asked := []eval.Question{question(1, "Who?", "Ana.", "A1.json")}
	named := []eval.Question{question(1, "Who?", "Ana.", "x-2.json")}
	for _, tc := range []struct {
		name, line string
		want       []eval.Question
		skipped    []eval.Skipped
		over       map[string]int
	}{
		{"fields named otherwise", `{"meeting":{"meeting_id":"A1","transcript_segments":[{"speaker":"Ana","content":"x"}]},"dialog":{"dialog_turns":[{"question":"Who?","answer":"Ana."}]}}`, asked, nil, nil},
		{"all outside", `{"meetingId":"A1","transcriptSegments":[` + segment + `],"dialogTurns":[{"query":"Who?","response":"Ana."}]}`, asked, nil, nil},
		{
			"further fields", `{"split":"a","meeting":{"domain":"b","meetingId":"A1","transcriptSegments":[{"text":"x","time":1,"speakerName":"Bo"}]},"dialog":{"dialogType":1,"dialogTurns":[{"query":"Who?","response":"Ana.","time":2}]}}`,
			asked, nil,
			map[string]int{"split": 1, "domain": 1, "time": 2, "dialogType": 1},
		},
		{"no meetingId", `{"meeting":{"transcriptSegments":[` + segment + `]},"dialog":{"dialogTurns":[{"query":"Who?","response":"Ana."}]}}`, named, []eval.Skipped{skip("", "no meetingId: the meeting is named x-2.json")}, nil},
		{
			"no speaker, no text", `{"meeting":{"meetingId":"A1","transcriptSegments":[{"text":"x"},{"speakerName":"Bo"},7]},"dialog":{"dialogTurns":[{"query":"Who?","response":"Ana."}]}}`,
			asked,
			[]eval.Skipped{skip("", "2 of 3 segments have no text"), skip("", "1 of 3 segments do not say who speaks")},
			nil,
		},
		{"no response", dialog("A1", `{"query":"Who?","response":null}`), []eval.Question{{Number: 1, Text: "Who?", Document: "A1.json"}}, []eval.Skipped{skip(", turn 1", "no response: the question is asked without a right answer")}, nil},
		{"no query", dialog("A1", `{"response":"Ana."},{"query":7},"Who?"`), nil, []eval.Skipped{skip(", turn 1", "no query"), skip(", turn 2", "no query"), skip(", turn 3", "no query")}, nil},
		{"a transcript that came before", `{"meeting":{"meetingId":"A0"},"dialog":{"dialogTurns":[{"query":"Why?","response":"Snow."}]}}`, nil, nil, nil},
		{"no transcript", `{"meeting":{"meetingId":"A1"},"dialog":{"dialogTurns":[{"query":"Who?","response":"Ana."}]}}`, nil, []eval.Skipped{skip("", "no transcript, here or earlier, of the meeting A1")}, nil},
		{"neither transcript nor name", `{"dialog":{}}`, nil, []eval.Skipped{skip("", "no transcript and no meetingId")}, nil},
		{"no dialog", `{"meeting":{"meetingId":"A1","transcriptSegments":[` + segment + `]}}`, nil, []eval.Skipped{skip("", "no valid dialogTurns")}, nil},
		{"a list that is none", `{"meeting":{"meetingId":"A1","transcriptSegments":[` + segment + `]},"dialog":{"dialogTurns":{}}}`, nil, []eval.Skipped{skip("", "no valid dialogTurns")}, nil},
		{"a transcript that is none", `{"meeting":{"meetingId":"A1","transcriptSegments":{}},"dialog":{"dialogTurns":[{"query":"Who?","response":"Ana."}]}}`, nil, []eval.Skipped{skip("", "no transcript, here or earlier, of the meeting A1")}, nil},
		{"other types", `{"meeting":[],"dialog":7,"meetingId":{}}`, nil, []eval.Skipped{skip("", "no transcript and no meetingId")}, nil},
		{"something else", `{"b":1,"a":2}`, nil, []eval.Skipped{skip("", "neither a MISeD dialog nor a QMSum meeting; its fields: a, b")}, nil},
		{"no object", `["a"]`, nil, []eval.Skipped{skip("", "not a JSON object")}, nil},
		{"a huge line", `{"meeting":"` + strings.Repeat("a", 32<<20) + `"}`, nil, []eval.Skipped{skip("", "longer than 33554432 bytes")}, nil},
	} {
		first := strings.ReplaceAll(dialog("A0", `{"query":"Where?","response":"Here."}`), "\n", "") + "\n"
		got, err := mised.Load(folder(t, map[string]string{"x.jsonl": first + tc.line}), mised.Options{Meetings: 1})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for i := range tc.skipped {
			tc.skipped[i].Where = "x.jsonl line 2" + tc.skipped[i].Where
		}
		want := &eval.Data{Sets: []eval.Set{{User: "user-1", Kind: "meetings", Ordered: true, Files: []eval.File{{Name: "A0.json"}}, Questions: []eval.Question{question(1, "Where?", "Here.", "A0.json")}}}, PassedOver: tc.over}
		want.Skipped = tc.skipped
		switch {
		case tc.name == "a transcript that came before":
			want.Sets[0].Questions = append(want.Sets[0].Questions, question(2, "Why?", "Snow.", "A0.json"))
		case tc.want != nil:
			want.Sets = append(want.Sets, eval.Set{User: "user-2", Kind: "meetings", Ordered: true, Files: []eval.File{{Name: tc.want[0].Document}}, Questions: tc.want})
		case tc.name == "no query", tc.name == "no dialog", tc.name == "a list that is none": // a meeting without questions
			want.Skipped = append(want.Skipped, skip("user-2", "no question about any of its meetings"))
		}
		compare(t, tc.name, want, got)
	}
}

func TestFileNames(t *testing.T) {
	for id, want := range map[string]string{"IS 1/a\\b:c": "IS 1_a_b_c.json", "..": "meeting.json", strings.Repeat("ü", 200): strings.Repeat("ü", 100) + ".json"} {
		name, _ := json.Marshal(id)
		line := strings.Replace(dialog("ID", turn("Who?", "Ana.")), `"ID"`, string(name), 1)
		got, err := mised.Load(folder(t, map[string]string{"x.jsonl": line}), mised.Options{})
		if err != nil || got.Sets[0].Files[0].Name != want {
			t.Errorf("%s: %v %v", id, got, err)
		}
	}
}

func TestNothingToDo(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		path  string
		o     mised.Options
		says  string
	}{
		{"no folder", nil, "none", mised.Options{}, "none: "},
		{"another file", map[string]string{"a.csv": ""}, "a.csv", mised.Options{}, "a.csv: neither .jsonl nor .jsonl.gz nor .json"},
		{"an empty folder", nil, "", mised.Options{}, "no question"},
		{"no JSON", map[string]string{"a.json": "{"}, "", mised.Options{}, "the last is a.json: not a JSON object"},
		{"too large", map[string]string{"a.json": `"` + strings.Repeat("a", 32<<20) + `"`}, "", mised.Options{}, "a.json: longer than 33554432 bytes"},
		{"damage", map[string]string{"a.jsonl": "\x1f\x8b" + strings.Repeat("x", 99)}, "", mised.Options{}, "gzip"},
		{"-1 users", nil, "", mised.Options{Users: -1}, "-1 users"},
		{"-1 meetings", nil, "", mised.Options{Meetings: -1}, "-1 meetings"},
	} {
		_, err := mised.Load(filepath.Join(folder(t, tc.files), tc.path), tc.o)
		if err == nil || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(dialog("A1", turn("Who?", "Ana.")))
	f.Add(strings.ReplaceAll(qmsum("snow"), "\n", " "))
	f.Fuzz(func(t *testing.T, content string) {
		got, err := mised.Load(folder(t, map[string]string{"x.jsonl": content, "y.json": content}), mised.Options{})
		if (got == nil) == (err == nil) {
			t.Errorf("%v %v", got, err)
		}
	})
}
