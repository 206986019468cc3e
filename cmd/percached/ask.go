package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
)

// answerKeys of the configuration are of use where questions are answered.
func answerKeys() []string {
	return append(documentKeys(), "tensor-limit", "model", "kv", "context", "placement", "k", "max-tokens")
}

// documentKeys of the configuration are of use where documents are cut and found.
func documentKeys() []string {
	return []string{"embed-model", "chunk-words", "threads", "gpu-layers"}
}

func askCommand(dial dialer) *cobra.Command {
	var q client.Question
	var threshold shareFlag
	var maxAge time.Duration
	var explain, bypass, refresh bool
	return verb{
		use: "ask QUESTION", short: "Answer a question from a space's documents",
		long: `Answers a question from the documents of a space. If the same or a similar
question was answered before and nothing speaks against it, the stored answer is
given; else the model computes one, from stored tensors as far as there are any.
An answer whose numbers, dates, names or words do not stand in the documents is
not stored, and the best passage is shown, on a terminal behind the answer and
elsewhere instead of it, with the words that may answer between stars.`,
		example: `  percached ask "When is the dentist appointment?" --space mail
  percached ask "Who leads Heron?" --explain`,
		args: cobra.ExactArgs(1), keys: answerKeys(), need: need{Model: true}, space: oneSpace,
		flags: func(cmd *cobra.Command) {
			f := cmd.Flags()
			f.BoolVar(&explain, "explain", false, "tell how the answer came: outcome, gate, citations, reuse, times")
			f.BoolVar(&bypass, "bypass", false, "leave stored answers alone")
			f.BoolVar(&refresh, "refresh", false, "compute the answer anew and store it in place of the old one")
			f.DurationVar(&maxAge, "max-age", 0, "do not give stored answers that are older")
			f.Var(&threshold, "threshold", "similarity from which on a stored answer may be given, 0 to 1 (default: the space's)")
		},
		before: func(args []string) error {
			if maxAge < 0 {
				return cmdline.Misusef("--max-age: %v is negative", maxAge)
			}
			return nil
		},
		run: func(ctx context.Context, c *invocation, args []string) error {
			q.Question, q.Bypass, q.Refresh, q.MaxAgeSeconds = args[0], optional(bypass), optional(refresh), optional(maxAge.Seconds())
			q.Threshold = threshold.of1
			if c.json {
				r, err := c.AskWithResponse(ctx, c.space, q)
				if err != nil {
					return err
				}
				return c.show(r.Body, nil)
			}
			p := &cmdline.Printer{W: c.out}
			a, err := c.listen(ctx, q, p)
			if err != nil {
				return err
			}
			for _, n := range a.Notes {
				c.say("note: %s", n)
			}
			if explain {
				explanation(p, a)
				return p.Err
			}
			if !a.Refused {
				sources(&cmdline.Printer{W: c.stderr}, a)
			}
			return p.Err
		},
	}.command(dial)
}

// share is a flag with a number from 0 to 1, which may be absent: 0 says something.
type shareFlag struct{ of1 *float64 }

func (s *shareFlag) String() string {
	if s.of1 == nil {
		return ""
	}
	return strconv.FormatFloat(*s.of1, 'g', -1, 64)
}

func (s *shareFlag) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1 {
		return errors.New("it is no number from 0 to 1")
	}
	s.of1 = &v
	return nil
}

func (*shareFlag) Type() string { return "float" }

// listen asks, and prints the answer: to a person as it comes, and behind one that is
// not grounded what the documents say; to what is no terminal only what is to be
// believed.
func (c *invocation) listen(ctx context.Context, q client.Question, p *cmdline.Printer) (*client.Answer, error) {
	resp, err := c.Ask(ctx, c.space, q, client.AsEvents)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	person := cmdline.Terminal(c.out)
	for m, err := range client.Messages(resp.Body) {
		if err != nil {
			if ctx.Err() != nil {
				err = ctx.Err()
			}
			return nil, err
		}
		switch m.Event {
		case "token":
			var t client.Token
			if err := json.Unmarshal(m.Data, &t); err != nil {
				return nil, err
			}
			if person {
				p.Text(t.Text)
			}
		case "error":
			e := &client.ProblemError{}
			if err := json.Unmarshal(m.Data, &e.Problem); err != nil {
				return nil, err
			}
			return nil, e
		case "done":
			var a client.Answer
			if err := json.Unmarshal(m.Data, &a); err != nil {
				return nil, err
			}
			switch {
			case a.Instead == nil && person:
				p.Line("")
			case a.Instead == nil:
				p.Line("%s", a.Answer)
			case person && a.Answer != "":
				p.Line("")
				fallthrough
			default:
				p.Line("Not sure; the documents say:")
				p.Line("%s", marked(a.Instead))
			}
			return &a, p.Err
		}
	}
	return nil, errNoEnd
}

// marked is a part of a document, with what may answer the question between stars.
func marked(i *client.Instead) string {
	var b strings.Builder
	text, at := []rune(i.Text), 0
	for _, m := range i.Marks {
		if m.Start < at || m.End < m.Start || m.End > len(text) {
			continue
		}
		b.WriteString(string(text[at:m.Start]) + "**" + string(text[m.Start:m.End]) + "**")
		at = m.End
	}
	return b.String() + string(text[at:])
}

// sources tells a person what an answer rests on: beside it, so that the answer
// alone is standard output.
func sources(p *cmdline.Printer, a *client.Answer) {
	const most = 3
	for i, d := range cited(a) {
		if i == most {
			p.Line("  and more: --explain tells all")
			return
		}
		p.Line("  from %s", d.About)
	}
}

// source is a document that an answer rests on, with so many chunks.
type source struct {
	client.Citation
	chunks int
}

// cited are the documents of an answer, each once, the first cited first.
func cited(a *client.Answer) (all []source) {
	for _, c := range a.Citations {
		if i := slices.IndexFunc(all, func(s source) bool { return s.Document == c.Document }); i >= 0 {
			all[i].chunks++
		} else {
			all = append(all, source{c, 1})
		}
	}
	return all
}

// explanation tells a person how an answer came.
func explanation(p *cmdline.Printer, a *client.Answer) {
	p.Line("")
	p.Line("outcome   %s", a.Outcome)
	p.Line("gate      %s", a.Gate.Why)
	for _, c := range a.Gate.Considered {
		var tests []string
		for _, t := range c.Tests {
			mark := "+"
			if !t.Passed {
				mark = "-"
			}
			tests = append(tests, mark+string(t.Name))
		}
		p.Line("          %.3f %q: %s", c.Similarity, c.Question, strings.Join(tests, " "))
	}
	if a.Tokens.Prompt > 0 {
		p.Line("reuse     %d of %d chunks stored, %d of %d prompt tokens reused", a.Chunks.Stored, a.Chunks.All, a.Tokens.Reused, a.Tokens.Prompt)
	}
	switch {
	case a.Grounded:
		p.Line("grounded  yes")
	case len(a.Missing) > 0:
		p.Line("grounded  no: in no document %q", a.Missing)
	default:
		p.Line("grounded  no")
	}
	for _, d := range cited(a) {
		more := ""
		if d.chunks > 1 {
			more = fmt.Sprintf(", %d chunks", d.chunks)
		}
		p.Line("from      %s [document %s%s]", d.About, d.Document, more)
	}
	for _, name := range stages() {
		if took := a.Times[name+"_ms"]; took > 0 {
			p.Line("%-16s %9.2f ms", name, took)
		}
	}
}

// stages of an answer, in their order.
func stages() []string {
	return []string{
		"match_question", "retrieve", "match_tensors", "queue", "load_tensors", "prefill", "first_token", "decode", "capture", "store", "total",
	}
}

// day is the day of a time that may not be known.
func day(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.Format(time.DateOnly)
}

// TimeLayout is how times are written.
const TimeLayout = "2006-01-02T15:04:05Z07:00"
