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
		segments := set.ask(tc.chat, []string{"A chunk."}, "Who?")
		without := Default().ask(tc.chat, []string{"A chunk."}, "Who?")
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
