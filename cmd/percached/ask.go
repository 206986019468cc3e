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

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

// answerKeys are the configuration keys of commands that answer questions.
func answerKeys() []string {
	return append(documentKeys(), "tensor-limit", "model", "kv", "context", "placement", "k", "max-tokens")
}

// documentKeys are the configuration keys of commands that chunk and search documents.
func documentKeys() []string {
	return []string{"embed-model", "chunk-words", "threads", "gpu-layers"}
}

func askCommand(dial dialer) *cobra.Command {
	var q client.Question
	var threshold, maxWrong shareFlag
	var maxAge time.Duration
	var explain, bypass, refresh bool
	var conversation string
	return apiCommand{
		use: "ask QUESTION", short: "Answer a question from a space's documents",
		long: `Answers a question from the documents of a space. percached returns the stored
answer of the same or a similar question if it is still valid. Otherwise the model
computes an answer and reuses stored tensors.

percached checks that the numbers, dates, names and most words of an answer occur in
the documents. If they do not, it does not store the answer, and prints the best
passage with the likely words between stars. On a terminal the passage follows the
answer; in a pipe or a file it replaces the answer.`,
		example: `  percached ask "When is the dentist appointment?" --space mail
  percached ask "Who leads Heron?" --explain`,
		args: cobra.ExactArgs(1), keys: answerKeys(), need: need{Model: true}, space: oneSpaceFlag,
		flags: func(cmd *cobra.Command) {
			f := cmd.Flags()
			f.BoolVar(&explain, "explain", false, "Print how percached found the answer: outcome, gate, citations, reuse, times, energy")
			f.BoolVar(&bypass, "bypass", false, "Do not return a stored answer; compute one from stored tensors")
			f.BoolVar(&refresh, "refresh", false, "Compute a new answer and replace the stored one")
			f.DurationVar(&maxAge, "max-age", 0, "Maximum age of a stored answer, such as 24h (default: no limit)")
			f.StringVar(&conversation, "conversation", "", "ID of a conversation, which the question continues (see percached conversations)")
			f.Var(&threshold, "threshold", "Minimum similarity (0-1) of a stored question whose answer may be returned (default: the space's)")
			f.Var(&maxWrong, "max-wrong", "Maximum share (0-1) of wrong answers among stored answers returned for a question in other words; 0: only exact repeats and questions that clearly mean the same (default: the space's)")
		},
		before: func(args []string) error {
			if maxAge < 0 {
				return cmdline.Misusef("--max-age: %v is negative", maxAge)
			}
			if conversation != "" {
				return checkConversationID([]string{conversation})
			}
			return nil
		},
		run: func(ctx context.Context, c *session, args []string) error {
			q.Question, q.Bypass, q.Refresh, q.MaxAgeSeconds = args[0], optional(bypass), optional(refresh), optional(maxAge.Seconds())
			q.Threshold, q.MaxWrong, q.Conversation = threshold.value, maxWrong.value, optional(conversation)
			if c.json {
				r, err := c.AskWithResponse(ctx, c.space, q)
				if err != nil {
					return err
				}
				return c.printBody(r.Body, nil)
			}
			p := &cmdline.Printer{W: c.out}
			a, err := c.streamAnswer(ctx, q, p)
			if err != nil {
				return err
			}
			for _, n := range a.Notes {
				c.note("note: %s", n)
			}
			if explain {
				printExplanation(p, a)
				return p.Err
			}
			if !a.Refused {
				printSources(&cmdline.Printer{W: c.stderr}, a)
			}
			return p.Err
		},
	}.command(dial)
}

// shareFlag is a number from 0 to 1. It is nil if the flag is not given.
type shareFlag struct{ value *float64 }

func (s *shareFlag) String() string {
	if s.value == nil {
		return ""
	}
	return strconv.FormatFloat(*s.value, 'g', -1, 64)
}

func (s *shareFlag) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || v < 0 || v > 1 {
		return errors.New("the value must be a number from 0 to 1")
	}
	s.value = &v
	return nil
}

func (*shareFlag) Type() string { return "float" }

// streamAnswer asks a question and prints the answer. On a terminal it prints the tokens
// as they arrive, and a passage of the documents after an ungrounded answer. Elsewhere it
// prints the grounded answer, or the passage alone.
func (c *session) streamAnswer(ctx context.Context, q client.Question, p *cmdline.Printer) (*client.Answer, error) {
	arrived := cmdline.Waiting(c.stderr, "waiting for the answer")
	defer arrived()
	resp, err := c.Ask(ctx, c.space, q, client.AsEvents)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	live := cmdline.Terminal(c.out)
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
			if live {
				arrived()
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
			arrived()
			switch {
			case a.Instead == nil && live:
				p.Line("")
			case a.Instead == nil:
				p.Line("%s", a.Answer)
			case live && a.Answer != "":
				p.Line("")
				fallthrough
			default:
				p.Line("Not sure; the documents say:")
				p.Line("%s", highlight(a.Instead))
			}
			return &a, p.Err
		}
	}
	return nil, errStreamCut
}

// highlight returns a passage with the words that may answer the question between stars.
func highlight(i *client.Instead) string {
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

// printSources prints the cited documents. They go to stderr, so that stdout has the answer
// alone.
func printSources(p *cmdline.Printer, a *client.Answer) {
	const most = 3
	for i, d := range citedDocuments(a) {
		if i == most {
			p.Line("  and more; --explain lists all")
			return
		}
		p.Line("  from %s", d.About)
	}
}

// citedDocument is a cited document and the number of its chunks.
type citedDocument struct {
	client.Citation
	chunks int
}

// citedDocuments returns each cited document once, in the order of citation.
func citedDocuments(a *client.Answer) (all []citedDocument) {
	for _, c := range a.Citations {
		if i := slices.IndexFunc(all, func(s citedDocument) bool { return s.Document == c.Document }); i >= 0 {
			all[i].chunks++
		} else {
			all = append(all, citedDocument{c, 1})
		}
	}
	return all
}

// printExplanation prints how percached found an answer.
func printExplanation(p *cmdline.Printer, a *client.Answer) {
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
	if m := a.Memory; m != nil {
		used := "not needed"
		if m.Needed {
			used = "used"
		}
		p.Line("memory    %s (facts: %d): %s", used, m.Facts, m.Why)
	}
	if a.Tokens.Prompt > 0 {
		p.Line("reuse     %d of %d chunks stored, %d of %d prompt tokens reused", a.Chunks.Stored, a.Chunks.All, a.Tokens.Reused, a.Tokens.Prompt)
	}
	if a.Chunks.Packed != nil && a.Chunks.Form != nil {
		p.Line("packed    %d of the stored chunks, down to %s: the answer may differ from the exact one", *a.Chunks.Packed, *a.Chunks.Form)
	}
	for _, d := range a.Drafts {
		p.Line("drafts    %s: %d of %d tokens accepted (batches: %d)", d.Source, d.Accepted, d.Proposed, d.Batches)
	}
	switch {
	case a.Grounded:
		p.Line("grounded  yes")
	case len(a.Missing) > 0:
		p.Line("grounded  no: not in the documents: %q", a.Missing)
	default:
		p.Line("grounded  no")
	}
	for _, d := range citedDocuments(a) {
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
	switch {
	case a.Joules == nil:
		p.Line("energy    unknown (percached status says why)")
	case *a.Joules < 0.01:
		p.Line("energy    below 0.01 J")
	default:
		p.Line("energy    %.2f J", *a.Joules)
	}
}

// stages names the stages of an answer in their order.
func stages() []string {
	return []string{
		"match_question", "retrieve", "match_tensors", "queue", "load_tensors", "prefill", "first_token", "decode", "capture", "store", "total",
	}
}
