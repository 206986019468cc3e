package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/answer"
)

func askCommand() *cobra.Command {
	c := defaultSetup()
	q := answer.Question{}
	var asJSON, explain bool
	cmd := &cobra.Command{
		Use:   "ask QUESTION",
		Short: "Answer a question from a space's documents",
		Long: `Answers a question from the documents of a space. If the same or a similar
question was answered before and nothing speaks against it, the stored answer is
given; else the model computes one, from stored tensors as far as there are any.`,
		Example: `  percached ask "When is the dentist appointment?" --space mail
  percached ask "Who leads Heron?" --explain`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Text, q.Settings = args[0], c.wanted(cmd)
			return withService(cmd, c, true, func(ctx context.Context, s *service) error {
				out := cmd.OutOrStdout()
				if asJSON {
					a, err := s.asker.Ask(ctx, q, answer.Listener{})
					if err != nil {
						return err
					}
					return writeJSON(out, wireAnswer(a))
				}
				p := &printer{w: out}
				a, err := s.asker.Ask(ctx, q, answer.Listener{Piece: p.text})
				if err != nil {
					return err
				}
				p.line("")
				if p.err != nil {
					return p.err
				}
				for _, n := range a.Notes {
					say(cmd.ErrOrStderr(), "note: %s", n)
				}
				if explain {
					return explanation(out, &a)
				}
				return nil
			})
		},
	}
	c.dataFlag(cmd)
	c.answerFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&q.Space, "space", defaultSpace, "space to ask")
	f.BoolVar(&asJSON, "json", false, "print a JSON object")
	f.BoolVar(&explain, "explain", false, "tell how the answer came: outcome, gate, citations, reuse, times")
	f.BoolVar(&q.Bypass, "bypass", false, "leave stored answers alone")
	f.BoolVar(&q.Refresh, "refresh", false, "compute the answer anew and store it in place of the old one")
	f.DurationVar(&q.MaxAge, "max-age", 0, "do not give stored answers that are older")
	return cmd
}

// explanation tells a person how an answer came.
func explanation(w io.Writer, a *answer.Answer) error {
	p := &printer{w: w}
	p.line("")
	p.line("outcome   %s", a.Outcome)
	p.line("gate      %s", a.Gate.Why)
	for _, c := range a.Gate.Considered {
		var tests []string
		for _, t := range c.Tests {
			mark := "+"
			if !t.Passed {
				mark = "-"
			}
			tests = append(tests, mark+t.Name)
		}
		p.line("          %.3f %q: %s", c.Similarity, c.Question, strings.Join(tests, " "))
	}
	if a.Tokens.Prompt > 0 {
		p.line("reuse     %d of %d chunks stored, %d of %d prompt tokens reused", a.Chunks.Stored, a.Chunks.All, a.Tokens.Reused, a.Tokens.Prompt)
	}
	for _, c := range a.Citations {
		p.line("from      %s [document %s]", c.About, c.Document)
	}
	for _, s := range a.Times.Stages() {
		if s.Took > 0 {
			p.line("%-16s %9.2f ms", s.Name, ms(s.Took))
		}
	}
	return p.err
}

// printer writes until a write fails.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) text(s string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, s)
	}
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}
