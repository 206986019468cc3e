package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/grammar"
	"github.com/percached/percached/llm/reply"
)

// run is one prompt at the server.
type run struct {
	*Engine
	*served   // when the run began
	prompt    percached.Prompt
	answer    bool // false: the prompt is to be kept only
	emit      func(string) error
	messages  []message
	estimated int // tokens of the prompt
	maxTokens int
	grammar   *grammar.Grammar
	begin     time.Time
	result    percached.Result
}

// plan checks the prompt and lays it out.
func (r *run) plan(op string) error {
	p := r.prompt
	if err := r.validate(op); err != nil {
		return err
	}
	var parts []part
	for i, s := range p.Segments {
		ids := tokensOf(s)
		if err := checkTokens(op, i, ids); err != nil {
			return err
		}
		if r.answer && i == len(p.Segments)-1 && len(ids) == 0 {
			return fault.New(fault.Invalid, op, "the question is empty")
		}
		r.estimated += len(ids)
		parts = append(parts, partsOfTokens(ids)...)
	}
	if r.estimated+p.MaxTokens > r.info.Context {
		return fault.New(fault.Invalid, op, "about %d tokens, and %d for the answer, exceed the context of %d", r.estimated, p.MaxTokens, r.info.Context)
	}
	for i, s := range p.Segments {
		if s.Slice != nil {
			return fault.Wrap(op, &percached.SliceError{Segment: i, Reason: r.info.NoSlices})
		}
	}
	var err error
	if r.messages, err = messagesOf(op, parts); err != nil || p.Grammar == "" {
		return err
	}
	if r.info.NoGrammar != "" {
		return fault.New(fault.Unsupported, op, "answers cannot be held to a form: %s", r.info.NoGrammar)
	}
	r.grammar, err = grammar.Parse(p.Grammar)
	return err
}

// validate checks the order of segments, and values.
func (r *run) validate(op string) error {
	p, last := r.prompt, len(r.prompt.Segments)-1
	invalid := func(format string, args ...any) error { return fault.New(fault.Invalid, op, format, args...) }
	switch s := p.Sampling; {
	case last < 0:
		return invalid("the prompt has no segments")
	case p.Placement > percached.Parallel:
		return invalid("unknown placement %d", p.Placement)
	case p.Placement == percached.Parallel:
		return fault.New(fault.Unsupported, op, "placement parallel: %s", r.info.NoParallel)
	case p.Priority > percached.Background:
		return invalid("unknown priority %d", p.Priority)
	case p.Planes > percached.QKV:
		return invalid("unknown planes %d", p.Planes)
	case p.MaxTokens < 0:
		return invalid("MaxTokens is %d: it must not be negative", p.MaxTokens)
	case r.answer && p.MaxTokens == 0:
		return invalid("MaxTokens is 0: an answer needs room")
	case !(s.Temperature >= 0) || math.IsInf(float64(s.Temperature), 0) || s.TopK < 0 || !(s.TopP >= 0 && s.TopP <= 1):
		return invalid("sampling %+v makes no sense", s)
	case slices.Contains(p.Stop, ""):
		return invalid("a stop string is empty")
	}
	for i, s := range p.Segments {
		switch {
		case s.Kind > percached.KindQuestion:
			return invalid("segment %d has the unknown kind %d", i, s.Kind)
		case s.Kind == percached.KindSystem && i > 0:
			return invalid("segment %d: instructions stand first", i)
		case s.Kind == percached.KindTurn && i > 1 && p.Segments[i-1].Kind == percached.KindChunk:
			return invalid("segment %d: turns stand before chunks", i)
		case s.Kind == percached.KindQuestion && i < last:
			return invalid("segment %d: the question stands last", i)
		}
	}
	switch q := p.Segments[last]; {
	case !r.answer:
	case q.Kind != percached.KindQuestion:
		return invalid("the prompt ends without a question")
	case q.Slice != nil:
		return invalid("the question carries a slice: it is always computed")
	case q.Capture:
		return invalid("the question cannot be captured while it is answered")
	}
	return nil
}

// body is the request in OpenAI's format, with what the kind of server understands beside it.
func (r *run) body() map[string]any {
	b := map[string]any{
		"model": r.server.model, "messages": r.messages, "max_tokens": r.maxTokens, "temperature": 0, "stream": true,
		"seed": r.prompt.Sampling.Seed & math.MaxInt32,
	}
	include := map[string]any{"include_usage": true}
	b["stream_options"] = include
	if s := r.prompt.Sampling; s.Temperature > 0 && s.TopK != 1 {
		b["temperature"] = s.Temperature
		if s.TopP > 0 {
			b["top_p"] = s.TopP
		}
		if r.server.kind != other && r.server.kind != ollama {
			b["top_k"] = s.TopK
		}
	}
	// Thoughts are not part of an answer: models that can be asked not to think are asked.
	noThought := map[string]any{"enable_thinking": false}
	switch r.server.kind {
	case llamaServer:
		b["chat_template_kwargs"], b["cache_prompt"], b["timings_per_token"] = noThought, !r.uncached, true
		b["min_p"] = 0
		if r.prompt.Sampling.TopP == 0 {
			b["top_p"] = 1
		}
		if r.grammar != nil {
			b["grammar"] = r.prompt.Grammar
		}
	case vllm:
		b["chat_template_kwargs"], include["continuous_usage_stats"] = noThought, true
	case sglang:
		b["chat_template_kwargs"] = noThought
	}
	return b
}

// errEnough ends the reading of an answer that is complete for percached.
var errEnough = errors.New("the answer is complete")

// send has the server run the prompt.
func (r *run) send(ctx context.Context) error {
	return r.client.send(ctx, request{
		method: http.MethodPost, path: "/v1/chat/completions", body: r.body(),
		header: map[string]string{"Accept": "text/event-stream", "Percached-Prefix": prefixOf(r.messages)},
		read: func(in io.Reader) (bool, error) {
			a := &answering{run: r, ended: func() error { return context.Cause(ctx) }, out: reply.New(r.emit, r.prompt.Stop, r.prompt.EndLoops, r.server.marks)}
			if !r.answer {
				a.out.Emit = nil
			}
			err := events(in, a.event)
			if errors.Is(err, errEnough) {
				err = nil
			}
			return a.out.Text() == "" && !a.final, a.end(err)
		},
	})
}

// answering is an answer that comes in events.
type answering struct {
	*run
	ended   func() error // why the request has ended; nil: it has not
	out     *reply.Writer
	finish  percached.Finish // empty: the answer goes on
	thought bool             // a thought came
	final   bool             // another try would be no better
	pieces  int              // events with text
	bytes   int
	usage   *usage
	timings *timings
}

// event takes one event.
func (a *answering) event(data []byte) (complete bool, err error) {
	var c chunk
	if json.Unmarshal(data, &c) != nil {
		return false, fault.New(fault.Unavailable, op, "the server sent an event that is not a chunk of an answer")
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return false, fault.New(fault.Unavailable, op, "the server failed while it answered")
	}
	if c.Usage != nil {
		a.usage = c.Usage
	}
	if c.Timings != nil {
		a.timings = c.Timings
	}
	if len(c.Choices) > 0 {
		err = a.choice(c.Choices[0])
	}
	return a.finish != "", err
}

// choice takes the next piece of the answer, and why it ends.
func (a *answering) choice(c choice) error {
	d := c.Delta
	a.thought = a.thought || hasText(d.Reasoning) || hasText(d.Thinking)
	if d.Content != nil && *d.Content != "" && a.finish == "" {
		if err := a.text(*d.Content); err != nil {
			return err
		}
	}
	if c.Finish != nil && *c.Finish != "" && a.finish == "" {
		return a.ends(*c.Finish)
	}
	return nil
}

// text takes a piece of the answer.
func (a *answering) text(piece string) error {
	if a.pieces == 0 {
		a.result.Times.FirstToken = a.Now().Sub(a.begin)
	}
	a.pieces++
	if a.bytes += len(piece); a.bytes > mostBytes*(a.maxTokens+mostBytes) {
		a.final = true
		return fault.New(fault.Unavailable, op, "the server's answer is longer than the %d tokens that it may have", a.maxTokens)
	}
	if !a.answer {
		return nil
	}
	ended, err := a.out.Write([]byte(piece), false)
	switch {
	case err != nil:
		return err
	case ended != "":
		a.finish = ended
		return errEnough
	}
	return a.ended()
}

// ends takes the reason for which the server ended the answer.
func (a *answering) ends(reason string) (err error) {
	finish := percached.FinishEnd
	switch reason {
	case "length":
		finish = percached.FinishLength
	case "content_filter":
		a.final = true
		return fault.New(fault.Unavailable, op, "a filter of the server ended the answer")
	case "abort", "error":
		return errBroken
	}
	if a.answer {
		finish, err = a.out.End(finish)
		if a.thought && a.out.Text() == "" {
			finish = percached.FinishThought
		}
	}
	a.finish = finish
	return err
}

// end makes the result of what came.
func (a *answering) end(err error) error {
	if err == nil && a.finish == "" { // [DONE] without a reason
		if err = a.ends("stop"); a.answer && a.pieces == 0 && !a.thought {
			err = errBroken
		}
	}
	res := &a.result
	if a.answer {
		res.Text, res.Finish = a.out.Text(), a.finish
	}
	res.Usage = a.counted()
	took := a.Now().Sub(a.begin)
	if a.pieces == 0 {
		res.Times.FirstToken = took
	}
	res.Times.Prefill, res.Times.Decode = res.Times.FirstToken, took-res.Times.FirstToken
	if t := a.timings; t != nil && t.PromptMS > 0 {
		res.Times.Prefill = time.Duration(t.PromptMS * float64(time.Millisecond))
	}
	if err == nil && a.grammar != nil {
		if m := a.grammar.Matcher(); !m.Allows([]byte(res.Text)) || res.Finish == percached.FinishEnd && !(m.Accept([]byte(res.Text)) && m.MayEnd()) {
			err = fault.New(fault.Unavailable, op, "the server did not hold the answer to its form")
		}
	}
	return err
}

// counted are the tokens by the server's counters, or else by estimate.
func (a *answering) counted() percached.Usage {
	u := percached.Usage{Prompt: a.estimated, Generated: a.pieces}
	if c := a.usage; c != nil {
		u.Prompt, u.Generated = c.Prompt, c.Completion
		if c.Details != nil && c.Details.Cached != nil {
			u.Reused = *c.Details.Cached
		}
	}
	if t := a.timings; t != nil {
		u.Reused = t.Cached
		if a.usage == nil {
			u.Prompt, u.Generated = t.Cached+t.Prompt, t.Answered
		}
	}
	u.Prompt = max(u.Prompt, 0)
	u.Reused = max(0, min(u.Reused, u.Prompt))
	u.Computed = u.Prompt - u.Reused
	u.Generated = max(0, min(u.Generated, a.maxTokens))
	if !a.answer {
		u.Generated = 0
	}
	return u
}
