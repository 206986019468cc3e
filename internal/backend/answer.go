package backend

import (
	"context"
	"math"
	"strconv"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/qabank"
)

// wireAnswer converts an answer to the type of the interface.
func wireAnswer(ids percached.PublicIDs, a answer.Answer) api.Answer {
	out := api.Answer{
		Answer: a.Text, Outcome: string(a.Outcome), Refused: a.Refused, Grounds: wireGrounds(a.Grounds), UnderstoodAs: a.UnderstoodAs, Citations: []api.Citation{},
		Gate:   api.Gate{Why: a.Gate.Why, Similarity: a.Gate.Similarity},
		Chunks: api.Reuse(a.Chunks), Tokens: api.Tokens(a.Tokens), Finish: string(a.Finish), Times: map[string]float64{}, Joules: a.Joules, Notes: a.Notes,
	}
	if a.Memory != nil {
		m := api.Memory(*a.Memory)
		out.Memory = &m
	}
	if a.Entry != (qabank.ID{}) {
		out.Entry = a.Entry.String()
	}
	for _, c := range a.Citations {
		out.Citations = append(out.Citations, wireCitation(ids, c))
	}
	for _, c := range a.Gate.Considered {
		out.Gate.Considered = append(out.Gate.Considered, wireConsidered(c))
	}
	for _, d := range a.Drafts {
		out.Drafts = append(out.Drafts, api.DraftUse{Source: string(d.Source), Batches: d.Batches, Proposed: d.Proposed, Accepted: d.Accepted})
	}
	for _, s := range a.Times.Stages() {
		out.Times[s.Name+"_ms"] = wireMS(s.Took)
	}
	return out
}

func wireGrounds(g answer.Grounds) api.Grounds {
	out := api.Grounds{Grounded: g.Grounded, Missing: g.Missing}
	for _, s := range g.Spans {
		in := api.InQuote
		if s.About {
			in = api.InAbout
		}
		out.Spans = append(out.Spans, api.Span{Word: s.Word, Citation: s.Passage, In: in, Start: s.Start, End: s.End})
	}
	if i := g.Instead; i != nil {
		out.Instead = &api.Instead{Citation: i.Passage, Text: i.Text, Marks: []api.Mark{}}
		for _, m := range i.Marks {
			out.Instead.Marks = append(out.Instead.Marks, api.Mark(m))
		}
	}
	return out
}

func wireCitation(ids percached.PublicIDs, c answer.Citation) api.Citation {
	c.Document, c.Chunk = ids.Document(c.Document), ids.Chunk(c.Chunk)
	return api.Citation(c)
}

func wireConsidered(c answer.Considered) api.Considered {
	out := api.Considered{
		Entry: c.Entry.String(), Question: c.Question, Exact: c.Exact, Similarity: c.Similarity, Served: c.Served, Tests: []api.Test{},
	}
	for _, t := range c.Tests {
		out.Tests = append(out.Tests, api.Test(t))
	}
	return out
}

// wireMS is a duration in milliseconds, to the microsecond.
func wireMS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// wireListener passes the events of an answer to the listener of the interface.
func wireListener(ids percached.PublicIDs, l api.Listener) answer.Listener {
	out := answer.Listener{Piece: l.Token}
	if l.Stage != nil {
		out.Stage = func(name string, took time.Duration) { l.Stage(api.Stage{Name: name, MS: wireMS(took)}) }
	}
	if l.Citation != nil {
		out.Cite = func(c answer.Citation) { l.Citation(wireCitation(ids, c)) }
	}
	return out
}

// questionOf converts a client's question.
func questionOf(q api.AskRequest) answer.Question {
	out := answer.Question{
		Space: q.Space, Text: q.Question.Question, Bypass: q.Bypass, Refresh: q.Refresh, Settings: percached.Settings{Threshold: q.Threshold, MaxWrong: q.MaxWrong},
		MaxAge: maxAge(q.MaxAge), Instructions: q.Instructions, MaxTokens: q.MaxTokens,
	}
	for _, t := range q.Earlier {
		out.Earlier = append(out.Earlier, answer.Turn(t))
	}
	return out
}

// maxAge converts seconds. A value above zero never becomes zero, which means any age.
func maxAge(seconds float64) time.Duration {
	d := seconds * float64(time.Second)
	switch {
	case d >= math.MaxInt64:
		return math.MaxInt64
	case d > 0:
		return max(1, time.Duration(d))
	case d < 0:
		return -1 // any negative value is refused
	}
	return 0
}

func (b *Backend) ask(ctx context.Context, q api.AskRequest, l api.Listener) (api.Answer, error) {
	asked := questionOf(q)
	asked.Caller = api.Caller(ctx)
	if q.Conversation != "" {
		id, err := conversationID(q.Conversation)
		if err != nil {
			return api.Answer{}, err
		}
		asked.Conversation = percached.ChunkID(id)
	}
	if err := shape(&asked, q, b.Engine.Info().Chat.Tools); err != nil {
		return api.Answer{}, err
	}
	ids, err := b.Knowledge.PublicIDs(q.Space)
	if err != nil { // the asker counts the failed question
		if _, failed := b.Asker.Ask(ctx, asked, answer.Listener{}); failed != nil {
			err = failed
		}
		return api.Answer{}, err
	}
	a, err := b.Asker.Ask(ctx, asked, wireListener(ids, l))
	if err != nil {
		return api.Answer{}, err
	}
	return wireAnswer(ids, a), nil
}

// Embed embeds texts without prefixes.
func (b *Backend) Embed(ctx context.Context, texts []string) (api.Embedded, error) {
	defer b.Scheduler.Foreground()() // idle work uses the embedder, too
	vectors, err := b.Asker.EmbedBy(ctx, b.Embedder, api.Caller(ctx), texts)
	return api.Embedded{Model: b.Embedder.Info().Name, Vectors: vectors}, err
}

// history lists the questions of a space, the latest page first and the latest question last.
func (b *Backend) history(_ context.Context, p api.Page) (out api.Records, err error) {
	ids, err := b.Knowledge.PublicIDs(p.Space)
	if err != nil {
		return out, err
	}
	before := uint64(math.MaxUint64)
	if p.After != "" {
		if before, err = strconv.ParseUint(p.After, 10, 64); err != nil {
			return out, invalid("query:after", wrongCursor)
		}
	}
	found, next, err := b.History.Before(p.Space, before, p.Limit)
	out.Questions = []api.Record{}
	for _, r := range found {
		out.Questions = append(out.Questions, wireRecord(ids, r))
	}
	if next > 0 {
		out.Next = strconv.FormatUint(next, 10)
	}
	return out, err
}

func wireRecord(ids percached.PublicIDs, r answer.Record) api.Record {
	return api.Record{
		Asked: r.Asked, Question: r.Question, Outcome: string(r.Outcome), Chunks: ids.Chunks(r.Chunks), TookMS: wireMS(r.Took),
		Answer: r.Answer, Memory: r.Memory, Wrong: r.Wrong,
	}
}

// clearSpaceHistory deletes the history of a space. CleanUp removes its bytes from disk.
func (b *Backend) clearSpaceHistory(ctx context.Context, space string) (out api.Cleared, err error) {
	if _, err := b.Knowledge.Space(space); err != nil {
		return out, err
	}
	err = b.Library.RemoveFromMeta(ctx, space, func() (err error) {
		if out.Removed, err = b.History.Clear(space); err == nil { // predictions made from the history reveal it
			b.Asker.Settle()
			_, err = b.Predictor.ForgetHistory(space)
		}
		return err
	})
	if late := b.Scheduler.Forget(space); err == nil { // a running job may use the history
		err = late
	}
	return out, err
}

func (b *Backend) clearHistory(ctx context.Context, in api.ClearHistoryRequest) (api.Cleared, error) {
	got, err := b.clearSpaceHistory(ctx, in.Space)
	if err == nil && in.CleanUp {
		got.CleanedUp = b.cleanUp(ctx)
	}
	return got, err
}
