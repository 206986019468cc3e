package api

import (
	"cmp"
	"strings"
)

// chatReply makes what is answered to one chat.
type chatReply struct {
	id, model string
	created   int64
	usage     bool // a stream ends with the usage
}

// whole is an answer as a whole.
func (c chatReply) whole(a Answer) chatCompletion {
	return chatCompletion{
		ID: c.id, Object: "chat.completion", Created: c.created, Model: c.model,
		Choices: []chatChoice{{Message: chatMessage{Role: "assistant", Content: cmp.Or(unsure(a), a.Answer)}, Finish: finishOf(a)}},
		Usage:   usageOf(a), Own: ownOf(a),
	}
}

// chunk is a piece of a stream; one without choices has the usage alone.
func (c chatReply) chunk(choices ...chatChunkChoice) chatChunk {
	if choices == nil {
		choices = []chatChunkChoice{}
	}
	return chatChunk{ID: c.id, Object: "chat.completion.chunk", Created: c.created, Model: c.model, Choices: choices}
}

// role begins a stream.
func (c chatReply) role() chatChunk {
	return c.chunk(chatChunkChoice{Delta: chatDelta{Role: "assistant", Content: new("")}})
}

// content is a piece of the answer's text.
func (c chatReply) content(text string) chatChunk {
	return c.chunk(chatChunkChoice{Delta: chatDelta{Content: &text}})
}

// ends are the chunks behind the text: why it ended, and how much it was if the
// client wants to know.
func (c chatReply) ends(a Answer) []chatChunk {
	last := c.chunk(chatChunkChoice{Finish: new(finishOf(a))})
	last.Own = new(ownOf(a))
	if !c.usage {
		return []chatChunk{last}
	}
	usage := c.chunk()
	usage.Usage = new(usageOf(a))
	return []chatChunk{last, usage}
}

// finishOf says why an answer ended. That it is complete has one name.
func finishOf(a Answer) string {
	if a.Finish == "length" || a.Finish == "thought" {
		return "length"
	}
	return "stop"
}

// usageOf counts tokens: those taken from stored tensors are cached, and those of
// a stored answer are none.
func usageOf(a Answer) chatUsage {
	u := chatUsage{Prompt: a.Tokens.Prompt, Completion: a.Tokens.Generated, Total: a.Tokens.Prompt + a.Tokens.Generated}
	u.Details.Cached = a.Tokens.Reused
	return u
}

func ownOf(a Answer) chatOwn {
	return chatOwn{
		Outcome: a.Outcome, Refused: a.Refused, Grounds: a.Grounds, Citations: a.Citations, Gate: a.Gate, Chunks: a.Chunks, Tokens: a.Tokens, Times: a.Times,
	}
}

// unsure is what is said instead of an answer that is not grounded: the best passage,
// with the words that may answer the question in bold type.
func unsure(a Answer) string {
	if a.Grounded || a.Instead == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("Not sure; the documents say:\n\n")
	text, at := []rune(a.Instead.Text), 0
	for _, m := range a.Instead.Marks {
		b.WriteString(string(text[at:m.Start]) + "**" + string(text[m.Start:m.End]) + "**")
		at = m.End
	}
	b.WriteString(string(text[at:]))
	return b.String()
}
