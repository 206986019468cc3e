package openai

import (
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// The chat format of a server is one of marks. They stand where a model's own format has its
// control tokens, and become the borders of messages. Only Special text has marks.
const (
	markSystem    = "<|percached:system|>"
	markUser      = "<|percached:user|>"
	markAssistant = "<|percached:assistant|>"
)

// marks are the roles by their mark.
var roles = []struct{ mark, role string }{{markSystem, "system"}, {markUser, "user"}, {markAssistant, "assistant"}}

var format = percached.ChatFormat{
	Name: "messages", System: markSystem, Question: markUser, Answer: markAssistant, Lone: markUser, NoOpening: true,
}

// message is one message of a chat.
type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// part is a piece of a prompt: a mark, or text.
type part struct {
	mark int // index of roles; -1: text
	text string
}

// partsOf splits a text at the marks, if it is Special.
func partsOf(t percached.Text) []part {
	if !t.Special {
		return []part{{-1, t.Text}}
	}
	var all []part
	for text := t.Text; text != ""; {
		at, found := len(text), -1
		for i, r := range roles {
			if n := strings.Index(text, r.mark); n >= 0 && n < at {
				at, found = n, i
			}
		}
		if at > 0 {
			all = append(all, part{-1, text[:at]})
		}
		if found < 0 {
			break
		}
		all = append(all, part{found, ""})
		text = text[at+len(roles[found].mark):]
	}
	return all
}

// messagesOf lays out a prompt. Text before the first mark belongs to the user. A prompt that
// ends before the question gets an empty one, because many servers want one: what stands before
// it is the beginning of the prompt that a question will have.
func messagesOf(op string, parts []part) ([]message, error) {
	var all []message
	for _, p := range parts {
		switch last := len(all) - 1; {
		case p.mark >= 0:
			all = append(all, message{Role: roles[p.mark].role})
		case p.text == "":
		case last < 0:
			all = append(all, message{"user", p.text})
		default:
			all[last].Content += p.text
		}
	}
	if last := len(all) - 1; last >= 0 && all[last].Role == "assistant" {
		if strings.TrimSpace(all[last].Content) != "" {
			return nil, fault.New(fault.Unsupported, op, "the server writes all of a reply: it cannot be begun for it")
		}
		all = all[:last]
	}
	if last := len(all) - 1; last < 0 || all[last].Role != "user" {
		all = append(all, message{"user", "-"})
	}
	for i := range all {
		all[i].Content = strings.ToValidUTF8(all[i].Content, "\uFFFD")
		if all[i].Content == "" {
			all[i].Content = " " // some servers refuse an empty one
		}
	}
	return all, nil
}
