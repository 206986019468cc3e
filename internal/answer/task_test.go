package answer

import (
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
)

// A task stands before the question in the last segment, on which no slice depends, and the
// reply is begun. A model with turns gets parallel chunks as quotations. Without a task the
// prompt stays as it was.
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
	const chunk = "### Note\nA chunk.\n\n"
	for _, tc := range []struct {
		chat      percached.ChatFormat
		task      string
		placement percached.Placement
		want      string
		chunk     string
	}{
		{chatml, "", percached.Parallel, "</s><u>Who?</u><a>", chunk},
		{chatml, "In one sentence.", percached.Sequential, "</s><u>In one sentence.\nQuestion: Who?</u><a>Answer:", chunk},
		{chatml, "In one sentence.", percached.Parallel, "</s><u>In one sentence.\nQuestion: Who?</u><a>Answer:", "Document:\n\"\"\"\n### Note\nA chunk.\n\"\"\"\n\n"},
		{plain, "", percached.Parallel, "\n\nQuestion: Who?\nAnswer:", chunk},
		{plain, "In one sentence.", percached.Parallel, "\n\nIn one sentence.\nQuestion: Who?\nAnswer:", chunk},
	} {
		set := Default()
		taskless := Default()
		taskless.Placement = tc.placement
		set.Task, set.Placement = tc.task, tc.placement
		q := &Question{Text: "Who?"}
		segments := set.promptSegments(tc.chat, []string{chunk}, q, talk{})
		without := Default().promptSegments(tc.chat, nil, q, talk{})
		if got := text(segments[2]); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.chat.Name, got, tc.want)
		}
		if text(segments[0]) != text(without[0]) || text(segments[1]) != tc.chunk {
			t.Errorf("%s: %q, %q", tc.chat.Name, text(segments[0]), text(segments[1]))
		}
		if (set.mark("m", "e") == taskless.mark("m", "e")) != (tc.task == "") {
			t.Errorf("%s: the mark of answers does not tell the task", tc.chat.Name)
		}
	}
}

// The reply to a request is not begun. Questions are questions without a question mark, too.
func TestRequest(t *testing.T) {
	chat := percached.ChatFormat{Name: "chatml", Answer: "<a>"}
	set := Default()
	set.Task = DefaultTask
	for text, want := range map[string]string{
		"Who came?":                         "<a>Answer:",
		"who came":                          "<a>Answer:",
		"What’s the code":                   "<a>Answer:",
		"Is it paid":                        "<a>Answer:",
		"Can you list all who came?":        "<a>Answer:",
		"誰が来ましたか？":                          "<a>Answer:",
		"Summarize the meeting.":            "<a>",
		"list all who came":                 "<a>",
		"Fasse die Besprechung zusammen.":   "<a>",
		"the budget for Heron":              "<a>",
		"Is it paid? Answer with yes or no": "<a>Answer:",
	} {
		segments := set.promptSegments(chat, nil, &Question{Text: text}, talk{})
		last := segments[len(segments)-1].Texts
		if got := last[len(last)-1].Text; got != want {
			t.Errorf("%s: the reply begins with %q, want %q", text, got, want)
		}
	}
}

// Instructions that are not percached's own may want more than a sentence. The question is
// marked behind them and behind earlier turns.
func TestTaskBesideInstructions(t *testing.T) {
	own := Default()
	own.Task = DefaultTask
	others := own
	others.Instructions = "List all names."
	turns := []Turn{{Role: RoleUser, Text: "Who came?"}, {Role: RoleAssistant, Text: "Ana."}}
	for _, tc := range []struct {
		set  Settings
		q    Question
		want []string // behind the service's instructions
	}{
		{own, Question{Text: "Why?"}, []string{DefaultTask + "\nQuestion: Why?"}},
		{others, Question{Text: "Why?"}, []string{freeTask + "\nQuestion: Why?"}},
		{own, Question{Text: "Why?", Instructions: " In French.\n"}, []string{"In French.\n\n", freeTask + "\nQuestion: Why?"}},
		{own, Question{Text: "Why?", Earlier: turns}, []string{"Question: Who came?\nAnswer: Ana.\n\n", DefaultTask + "\nQuestion: Why?"}},
	} {
		segments := tc.set.promptSegments(percached.ChatFormat{Name: "chatml"}, nil, &tc.q, tc.q.talkOf(1<<12))
		var got []string
		for _, s := range segments[1:] {
			got = append(got, s.Texts[0].Text)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
