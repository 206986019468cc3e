package answer

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qkvtree"
)

// promptPlan is a prompt that fits the engine's context, with the chunks in it. The
// engine runs it as it is, or refuses it. The zero plan has no chunks: there is nothing
// to answer from.
type promptPlan struct {
	prompt    percached.Prompt
	context   int // the engine's, in tokens
	talk      talk
	chunks    []rankedChunk
	nodes     []qkvtree.Node // of each segment but the question: the instructions, the conversation, each chunk
	citations []Citation
}

// rankedChunk is a chunk of the prompt; rank 0 is the best.
type rankedChunk struct {
	percached.Chunk
	rank    int
	segment percached.Segment
}

// empty says that there is nothing to answer from.
func (p *promptPlan) empty() bool { return len(p.chunks) == 0 && !p.talk.tells }

// before counts the nodes before the chunks.
func (p *promptPlan) before() int { return len(p.nodes) - len(p.chunks) }

// used returns the chunks of the prompt, best first.
func (p *promptPlan) used() []percached.Chunk {
	ranked := slices.SortedFunc(slices.Values(p.chunks), func(a, b rankedChunk) int { return cmp.Compare(a.rank, b.rank) })
	used := make([]percached.Chunk, len(ranked))
	for i, c := range ranked {
		used[i] = c.Chunk
	}
	return used
}

// plan plans the request's prompt and sends its citations.
func (a *Asker) plan(r request, chunks []percached.Chunk, p *progress) (promptPlan, error) {
	if len(chunks) == 0 && !r.tells {
		return promptPlan{citations: []Citation{}}, nil
	}
	plan, err := planPrompt(a.Engine, r.Question, r.settings, r.priority(), chunks)
	p.lap(&p.times.MatchTensors) // the stage ends when the stored tensors are found
	if err != nil {
		return promptPlan{}, err
	}
	plan.citations = p.cite(plan.used())
	switch {
	case plan.empty() && r.settings.MaxTokens > a.Engine.Info().Context/2:
		return promptPlan{}, errShorter // the settings are those of the longer context
	case plan.empty(): // a model would make something up
		return promptPlan{}, fault.New(fault.Invalid, "answer.plan", "no document fits into the model's context beside the instructions and the question")
	}
	return plan, nil
}

// planPrompt lays out a prompt of at most K chunks, given best first. It leaves out what
// does not fit the context: the oldest turns first, then the worst chunks. So it is known
// before the answer begins what the answer rests on, and tensors are looked up at the
// paths that the engine will compute. Room is kept for an answer of the service's own
// bound, so that a client with a lower bound gets the same prompt.
func planPrompt(e tokenizer, q Question, s Settings, priority percached.Priority, best []percached.Chunk) (promptPlan, error) {
	chunks := make([]rankedChunk, len(best))
	for i, c := range best {
		chunks[i] = rankedChunk{Chunk: c, rank: i}
	}
	if s.Order == percached.Canonical {
		slices.SortStableFunc(chunks, func(a, b rankedChunk) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	}
	laid, err := layPrompt(e, q, s, chunks)
	if err != nil {
		return promptPlan{}, err
	}
	info := e.Info()
	room := info.Context - s.MaxTokens - laid.tokens() // beside the chunks
	var fitting []rankedChunk
	for i, c := range chunks {
		c.segment = laid.chunks[i]
		if s.Placement == percached.Parallel && slices.ContainsFunc(fitting, c.sameTokens) {
			continue // two branches of the same tokens would count twice
		}
		fitting = append(fitting, c)
		room -= len(c.segment.Tokens)
	}
	for room < 0 && len(fitting) > 0 {
		worst := worstChunk(fitting)
		room += len(fitting[worst].segment.Tokens)
		fitting = slices.Delete(fitting, worst, worst+1)
	}
	if s.Whole {
		return planWhole(e, s, priority, laid, fitting)
	}
	plan := newPlan(info, s, priority, laid, fitting)
	for _, c := range fitting {
		plan.prompt.Segments = append(plan.prompt.Segments, c.segment)
	}
	plan.prompt.Segments = append(plan.prompt.Segments, laid.question)
	return plan, nil
}

func newPlan(info percached.ModelInfo, s Settings, priority percached.Priority, laid laidPrompt, chunks []rankedChunk) promptPlan {
	plan := promptPlan{
		prompt: percached.Prompt{
			Priority: priority, Placement: s.Placement, Planes: s.Planes, MaxTokens: s.MaxTokens, Stop: info.Chat.Stop, EndLoops: true,
			Segments: laid.first(),
		},
		context: info.Context,
		talk:    laid.talk,
		chunks:  chunks,
		nodes:   []qkvtree.Node{{Tokens: laid.system.Tokens}},
	}
	for i, of := range laid.lead {
		node := qkvtree.Node{Tokens: of.Tokens, Chunk: laid.talk.id, Turn: true}
		if i == 0 && laid.talk.instructed { // documents and conversations end, they stay
			node.Chunk = percached.ChunkID{}
		}
		plan.nodes = append(plan.nodes, node)
	}
	for _, c := range chunks {
		plan.nodes = append(plan.nodes, qkvtree.Node{Tokens: c.segment.Tokens, Chunk: c.ID})
	}
	return plan
}

func (c rankedChunk) sameTokens(other rankedChunk) bool {
	return slices.Equal(c.segment.Tokens, other.segment.Tokens)
}

func worstChunk(chunks []rankedChunk) int {
	worst := 0
	for i, c := range chunks {
		if c.rank > chunks[worst].rank {
			worst = i
		}
	}
	return worst
}

// planWhole makes one segment of the prompt. It holds the same chunks as separate
// segments would; if the one text takes more tokens than they, it loses the worst.
func planWhole(e tokenizer, s Settings, priority percached.Priority, laid laidPrompt, chunks []rankedChunk) (promptPlan, error) {
	info := e.Info()
	for {
		segments := laid.first()
		for _, c := range chunks {
			segments = append(segments, c.segment)
		}
		whole := joinSegments(append(segments, laid.question))
		tokens, err := e.Tokenize([]percached.Segment{whole})
		if err != nil {
			return promptPlan{}, err
		}
		whole.Tokens = tokens[0]
		if len(whole.Tokens)+s.MaxTokens <= info.Context || len(chunks) == 0 {
			plan := newPlan(info, s, priority, laid, chunks)
			plan.prompt.Segments = []percached.Segment{whole}
			return plan, nil
		}
		worst := worstChunk(chunks)
		chunks = slices.Delete(chunks, worst, worst+1)
	}
}

// joinSegments makes one segment, which is always computed, of the texts of many. Texts
// without control tokens between them become one text.
func joinSegments(segments []percached.Segment) percached.Segment {
	one := percached.Segment{Kind: percached.KindQuestion}
	for _, s := range segments {
		for _, t := range s.Texts {
			if n := len(one.Texts); n > 0 && one.Texts[n-1].Special == t.Special {
				one.Texts[n-1].Text += t.Text
			} else {
				one.Texts = append(one.Texts, t)
			}
		}
	}
	return one
}

// laidPrompt is a prompt's segments with their tokens, in order.
type laidPrompt struct {
	talk     talk
	system   percached.Segment
	lead     []percached.Segment // of the conversation
	chunks   []percached.Segment
	question percached.Segment
}

// first returns the segments before the chunks.
func (l *laidPrompt) first() []percached.Segment {
	return slices.Concat([]percached.Segment{l.system}, l.lead)
}

// tokens counts the tokens beside the chunks.
func (l *laidPrompt) tokens() int {
	n := len(l.question.Tokens)
	for _, s := range l.first() {
		n += len(s.Tokens)
	}
	return n
}

// layPrompt makes the segments of a prompt of all these chunks. The conversation's window is
// half the context, or half as long as often as it takes for everything to fit.
func layPrompt(e tokenizer, q Question, s Settings, chunks []rankedChunk) (laidPrompt, error) {
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = c.Rendered()
	}
	info := e.Info()
	for window := windowOf(info); ; window /= 2 {
		if window == 0 {
			q.Earlier, q.summary = nil, ""
		}
		t := q.talkOf(window)
		segments := s.promptSegments(info.Chat, texts, &q, t)
		tokens, err := e.Tokenize(segments)
		if err != nil {
			return laidPrompt{}, err
		}
		sum := s.MaxTokens
		for i := range segments {
			segments[i].Tokens = tokens[i]
			sum += len(tokens[i])
		}
		if sum > info.Context && window > 0 {
			continue
		}
		rest := segments[1 : len(segments)-1]
		return laidPrompt{
			talk: t, system: segments[0], lead: rest[:len(t.lead)], chunks: rest[len(t.lead):], question: segments[len(segments)-1],
		}, nil
	}
}

// promptSegments makes the segments of a prompt without their tokens. With a task, the
// question follows the task and the model's reply is begun for it, so that the model
// answers and does not continue a text. The reply to a request is not: a small model answers
// "Summarize the meeting." with "No." A model with turns gets parallel chunks as
// quotations; sequential chunks it reads better without. The client's instructions and the
// conversation stand before the chunks: so their tensors are reused whatever the chunks are,
// and those of chunks too in parallel placement.
func (s Settings) promptSegments(chat percached.ChatFormat, chunks []string, q *Question, t talk) []percached.Segment {
	if s.Task != "" && !chat.Plain() && s.Placement == percached.Parallel {
		chunks = quoted(chunks)
	}
	task, question := s.Task, t.recalled+q.promptText(s.Task != "")
	switch {
	case s.Task == "":
	case chat.Plain():
		chat.Question = "\n\n"
	case !chat.NoOpening && !isRequest(q.Text):
		chat.Answer += "Answer:"
	}
	if task != "" {
		if s.Instructions != instructions || q.Instructions != "" { // they may want more than a sentence
			task = freeTask
		}
		question = task + "\n" + question
	}
	segments := chat.Ask(s.Instructions, slices.Concat(t.lead, chunks), question)
	for i := range t.lead {
		segments[1+i].Kind = percached.KindTurn
	}
	return segments
}

// quoted marks each chunk as a quotation.
func quoted(chunks []string) []string {
	all := make([]string, len(chunks))
	for i, c := range chunks {
		all[i] = "Document:\n\"\"\"\n" + strings.TrimRight(c, "\n ") + "\n\"\"\"\n\n"
	}
	return all
}
