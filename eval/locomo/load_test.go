package locomo

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/eval"
)

// talk has two conversations: the first with a broken session and a question without an
// answer, the second without questions.
const talk = `[{"sample_id": "conv-1", "conversation": {
  "speaker_a": "Ann", "speaker_b": "Bob",
  "session_1_date_time": "1:56 pm on 8 May, 2023", "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I have  a dog.\nHe is Rex."}, {"speaker": "Bob", "dia_id": "D1:2", "text": "Nice!"}],
  "session_2_date_time": "some day", "session_2": [{"speaker": "Ann", "dia_id": "D2:1", "text": "Hi"}],
  "session_3_date_time": "9:00 am on 12 June, 2023", "session_3": [{"speaker": "Bob", "dia_id": "D3:1", "text": "I am 40 now."}]},
 "qa": [{"question": "How old is Bob?", "answer": 40, "evidence": ["D1:2; D3:1"], "category": 1},
  {"question": "What is the dog called?", "answer": "Rex", "evidence": ["D1:1"], "category": 4},
  {"question": "What is Bob's dog called?", "adversarial_answer": "Rex", "evidence": ["D1:1"], "category": 5},
  {"question": "Has Bob a dog?", "answer": "No", "evidence": ["D1:1"], "category": 5}]},
 {"sample_id": "conv-2", "conversation": {}, "qa": []}]`

func write(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "locomo.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	got, err := Load(write(t, talk), 0)
	if err != nil {
		t.Fatal(err)
	}
	want := &eval.Data{
		Sets: []eval.Set{{
			User: "conv-1", Kind: "dialog", Ordered: true,
			Files: []eval.File{{Name: "2023-05-08 Session 1.txt", Size: 41}, {Name: "2023-06-12 Session 3.txt", Size: 18}},
			Questions: []eval.Question{
				{Number: 2, Text: "What is the dog called?", Gold: []string{"Rex"}, Document: "2023-05-08 Session 1.txt"},
				{Number: 1, Text: "How old is Bob?", Gold: []string{"40"}, Document: "2023-06-12 Session 3.txt"},
			},
		}},
		Skipped: []eval.Skipped{
			{Where: "conv-1, session 2", Reason: `the date is "some day", not such as "1:56 pm on 8 May, 2023"`},
			{Where: "conv-1", Reason: "2 questions without an answer"},
			{Where: "conv-2", Reason: "0 sessions and 0 questions with an answer"},
		},
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(eval.File{}, "Open"), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
	in, err := got.Sets[0].Files[0].Open()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if want := "Ann: I have a dog. He is Rex.\nBob: Nice!\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
	if want := int64(len(text)); got.Sets[0].Files[0].Size != want {
		t.Errorf("the size is %d, want %d", got.Sets[0].Files[0].Size, want)
	}
}

func TestNothingToAsk(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{`{"dialogId": 1}`, "not a list of conversations"},
		{`[]`, "holds no question to ask"},
		{`[{"sample_id": "x"}]`, "x: 0 sessions and 0 questions with an answer"},
	} {
		if _, err := Load(write(t, tc.text), 0); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %s", tc.text, err, tc.want)
		}
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none"), 0); err == nil {
		t.Error("a missing file was read")
	}
}
