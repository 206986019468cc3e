package answer

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/qkvtree"
)

// laid is a prompt that fits the engine's context, with the chunks that its
// segments came from.
type laid struct {
	prompt percached.Prompt
	chunks []percached.Chunk // of segments 1, 2, ..., or of the one text
	ranks  []int             // of the chunks: 0 is the best
	nodes  []qkvtree.Node    // of the instructions and of each chunk
}

// layOut makes the prompt. Chunks stand in the order of the settings; side by
// side they stand in the order of their paths, as the engine wants them. What
// there is no room for is left out: the oldest turns first, then the worst chunks.
func (r *run) layOut(chunks []percached.Chunk) (*laid, error) {
	defer func() { r.answer.Times.MatchTensors += lap(r.Now, &r.at) }() // the stage goes on with what is stored
	chunks = slices.Clone(chunks)
	rank := map[percached.ChunkID]int{}
	for i, c := range chunks {
		rank[c.ID] = i
	}
	if r.set.Order == percached.Canonical {
		slices.SortStableFunc(chunks, func(a, b percached.Chunk) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	}
	segments, err := r.segments(chunks)
	if err != nil {
		return nil, err
	}
	at := make([]int, len(chunks))
	for i := range at {
		at[i] = i
	}
	if r.set.Placement == percached.Parallel {
		root := percached.Path{}.Child(segments[0].Tokens)
		path := func(i int) []byte { p := root.Child(segments[i+1].Tokens); return p[:] }
		slices.SortStableFunc(at, func(i, j int) int { return cmp.Or(bytes.Compare(path(i), path(j)), cmp.Compare(i, j)) })
		// Two texts of the same tokens are one branch.
		at = slices.CompactFunc(at, func(i, j int) bool { return slices.Equal(segments[i+1].Tokens, segments[j+1].Tokens) })
	}
	for i := range chunks {
		segments[i+1].Rank = rank[chunks[i].ID]
	}
	at = r.fit(segments, at)
	p := &laid{nodes: []qkvtree.Node{{Tokens: segments[0].Tokens}}}
	p.prompt = percached.Prompt{Priority: r.priority(), Placement: r.set.Placement, Planes: r.set.Planes, MaxTokens: r.set.MaxTokens, Stop: r.Engine.Info().Chat.Stop, EndLoops: true, Segments: segments[:1:1]}
	for _, i := range at {
		s := segments[i+1]
		p.prompt.Segments = append(p.prompt.Segments, s)
		p.chunks = append(p.chunks, chunks[i])
		p.ranks = append(p.ranks, s.Rank)
		p.nodes = append(p.nodes, qkvtree.Node{Tokens: s.Tokens, Chunk: chunks[i].ID})
	}
	p.prompt.Segments = append(p.prompt.Segments, segments[len(segments)-1])
	if r.set.Whole {
		return p, r.join(p)
	}
	return p, nil
}

// segments are those of a prompt of all these chunks, with their tokens, and with
// as many earlier turns as there is room for beside the chunks.
func (r *run) segments(chunks []percached.Chunk) ([]percached.Segment, error) {
	texts := make([]string, len(chunks))
	for i := range chunks {
		texts[i] = chunks[i].Rendered()
	}
	info := r.Engine.Info()
	for turns := r.q.turns(); ; turns-- {
		segments := r.set.ask(info.Chat, texts, &r.q, turns)
		tokens, err := r.Engine.Tokenize(segments)
		if err != nil {
			return nil, err
		}
		sum := r.set.MaxTokens
		for i := range segments {
			segments[i].Tokens = tokens[i]
			sum += len(tokens[i])
		}
		if sum <= info.Context || turns == 0 {
			return segments, nil
		}
	}
}

// ask lays out the segments. With a task, the question stands behind it and the model's
// reply is begun for it, so that it answers and does not go on with a text. One that
// chats gets chunks that are computed apart as quotations; in sequence these harm.
func (s Settings) ask(chat percached.ChatFormat, chunks []string, q *Question, turns int) []percached.Segment {
	if s.Task == "" {
		return chat.Ask(s.Instructions, chunks, q.asking(turns, false))
	}
	if chat.Plain() {
		chat.Question = "\n\n"
	} else {
		chat.Answer += "Answer:"
		if s.Placement == percached.Parallel {
			chunks = quoted(chunks)
		}
	}
	task := s.Task
	if s.Instructions != instructions || q.Instructions != "" { // those may want more than a sentence
		task = freeTask
	}
	return chat.Ask(s.Instructions, chunks, task+"\n"+q.asking(turns, true))
}

// quoted marks each chunk off as a quotation.
func quoted(chunks []string) []string {
	all := make([]string, len(chunks))
	for i, c := range chunks {
		all[i] = "Document:\n\"\"\"\n" + strings.TrimRight(c, "\n ") + "\n\"\"\"\n\n"
	}
	return all
}

// fit leaves out the worst of the chunks at these places until the prompt and an
// answer fit the context, as the engine would, but ahead of time: so that the
// tensors behind what is left out are looked for where they are, and what the
// answer rests on is known before it begins. Room is kept for an answer of the
// service's own bound, so that one with less is made from the same.
func (r *run) fit(segments []percached.Segment, at []int) []int {
	sum := r.set.MaxTokens + len(segments[0].Tokens) + len(segments[len(segments)-1].Tokens)
	for _, i := range at {
		sum += len(segments[i+1].Tokens)
	}
	for sum > r.Engine.Info().Context && len(at) > 0 {
		worst := 0
		for n, i := range at {
			if segments[i+1].Rank > segments[at[worst]+1].Rank {
				worst = n
			}
		}
		sum -= len(segments[at[worst]+1].Tokens)
		at = slices.Delete(at, worst, worst+1)
	}
	return at
}

// used are the chunks of a prompt, best first.
func (p *laid) used() []percached.Chunk {
	at := make([]int, len(p.chunks))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(i, j int) int { return cmp.Compare(p.ranks[i], p.ranks[j]) })
	used := make([]percached.Chunk, len(at))
	for n, i := range at {
		used[n] = p.chunks[i]
	}
	return used
}
