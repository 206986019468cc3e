package answer

import (
	"strings"
	"testing"

	"github.com/percached/percached"
)

// With a task, it stands before the question in the last segment, which no slice
// depends on, and the reply is begun; without one the prompt is what it was.
func TestTask(t *testing.T) {
	chatml := percached.ChatFormat{Name: "chatml", System: "<s>", Question: "</s><u>", Answer: "</u><a>"}
	plain := percached.ChatFormat{Name: "plain", Question: "\n\nQuestion: ", Answer: "\nAnswer:"}
	text := func(s percached.Segment) string {
		var b strings.Builder
		for _, t := range s.Texts {
			b.WriteString(t.Text)
		}
		return b.String()
	}
	for _, tc := range []struct {
		chat percached.ChatFormat
		task string
		want string
	}{
		{chatml, "", "</s><u>Who?</u><a>"},
		{chatml, "In one sentence.", "</s><u>In one sentence.\nQuestion: Who?</u><a>Answer:"},
		{plain, "", "\n\nQuestion: Who?\nAnswer:"},
		{plain, "In one sentence.", "\n\nIn one sentence.\nQuestion: Who?\nAnswer:"},
	} {
		set := Default()
		set.Task = tc.task
		q := &Question{Text: "Who?"}
		segments := set.ask(tc.chat, []string{"A chunk."}, q, 0)
		without := Default().ask(tc.chat, []string{"A chunk."}, q, 0)
		if got := text(segments[2]); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.chat.Name, got, tc.want)
		}
		for i := range 2 {
			if text(segments[i]) != text(without[i]) {
				t.Errorf("%s: segment %d is %q", tc.chat.Name, i, text(segments[i]))
			}
		}
		if (set.mark("m", "e") == Default().mark("m", "e")) != (tc.task == "") {
			t.Errorf("%s: the mark of answers does not tell the task", tc.chat.Name)
		}
	}
}

// Other instructions than percached's own may want more than a sentence, and the
// question is marked behind them and behind earlier turns.
func TestTaskBesideInstructions(t *testing.T) {
	own := Default()
	own.Task = DefaultTask
	others := own
	others.Instructions = "List all names."
	turns := []Turn{{Role: RoleUser, Text: "Who came?"}, {Role: RoleAssistant, Text: "Ana."}}
	for _, tc := range []struct {
		set  Settings
		q    Question
		want string
	}{
		{own, Question{Text: "Why?"}, DefaultTask + "\nQuestion: Why?"},
		{others, Question{Text: "Why?"}, freeTask + "\nQuestion: Why?"},
		{own, Question{Text: "Why?", Instructions: "In French."}, freeTask + "\nIn French.\n\nQuestion: Why?"},
		{own, Question{Text: "Why?", Earlier: turns}, DefaultTask + "\nQuestion: Who came?\nAnswer: Ana.\n\nQuestion: Why?"},
	} {
		segments := tc.set.ask(percached.ChatFormat{Name: "chatml"}, nil, &tc.q, len(tc.q.Earlier))
		if got := segments[1].Texts[0].Text; got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
