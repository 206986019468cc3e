package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/node"
)

// predicting has the options of bench predict.
type predicting struct {
	node.Options
	paths       []string
	kind        string
	questions   string // file of questions about the documents
	foreign     string // file of questions about other documents
	limit       int    // questions
	rounds      int    // of prediction
	predictions int
	warm        int // chunks
	between     bool
	inOrder     bool
	list        bool
	share       float64 // of content words that one chunk must contain
}

func benchPredictCommand() *cobra.Command {
	o := predicting{Options: node.Default()}
	o.Create = true
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "predict PATH...",
		Short: "Measure what prediction saves for real questions",
		Long: `Adds documents to temporary folders, runs idle work, and asks real questions in order of
five copies: one that stores nothing (cold), one that stores what was asked (reactive),
and three with idle work before: predictions only (predicted), prefilled chunks only
(warmed), and both (idle). It reports how many predicted questions are well formed,
supported and distinct (rules: docs/prediction.md), how the real questions were answered,
and how a minimum similarity would separate them.

Questions are JSON objects, one a line: {"question": "..."}. With --in-order they also have
the "document" (end of its path) that must have come before; documents are added one after
the other, in the order of their paths, and idle work runs after each and after each
question. Without it, all documents come first.`,
		Example: `  percached-eval bench predict inbox.mbox --questions questions.jsonl --rounds 20`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			o.paths = paths
			if err := o.check(); err != nil {
				return err
			}
			r, err := o.run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return cmdline.Show(cmd.OutOrStdout(), asJSON, r)
		},
	}
	commands.AnswerFlags(cmd, &o.Config)
	f := cmd.Flags()
	f.StringVar(&o.kind, "kind", "emails", "Kind of documents: emails, dialog, meetings or notes")
	f.StringVar(&o.questions, "questions", "", "File of questions about the documents")
	f.StringVar(&o.foreign, "foreign", "", "File of questions about other documents, which are only searched for")
	f.IntVar(&o.limit, "max-questions", 1000, "Maximum number of questions to ask; the rules apply to all")
	f.IntVar(&o.rounds, "rounds", 100, "Maximum number of rounds of prediction")
	f.IntVar(&o.predictions, "max-predictions", 500, "Number of predictions after which no round starts")
	f.IntVar(&o.warm, "warm", 1000, "Maximum number of chunks to prefill without a prediction; 0 leaves out the copies that do so")
	f.BoolVar(&o.between, "idle-between", false, "Also run idle work between the questions, within the same limits")
	f.BoolVar(&o.inOrder, "in-order", false, "Add each document when a question needs it")
	f.IntVar(&o.Idle.Stride, "stride", o.Idle.Stride, "Number of questions predicted at a time")
	f.Float64Var(&o.Idle.Floor, "floor", o.Idle.Floor, "Minimum similarity (0-1) of a prediction to its best chunk")
	f.Float64Var(&o.share, "share", 0.8, "Share (0-1) of content words that one chunk must contain to support a question")
	f.BoolVar(&o.list, "list", false, "List the predicted questions in the report")
	f.BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

// check returns an error if the options are wrong.
func (o *predicting) check() error {
	switch {
	case o.questions == "":
		return cmdline.Misusef("--questions: no file is named")
	case o.limit < 1:
		return cmdline.Misusef("--max-questions must be at least 1")
	case o.rounds < 0 || o.predictions < 0 || o.warm < 0:
		return cmdline.Misusef("--rounds, --max-predictions and --warm must not be negative")
	case !(o.share > 0 && o.share <= 1):
		return cmdline.Misusef("--share must be above 0 and at most 1")
	}
	o.Data = "temporary" // set later
	if err := o.Validate(); err != nil {
		return cmdline.Misused(err)
	}
	return nil
}

// realQuestion is a question that people asked.
type realQuestion struct {
	Question string `json:"question"`
	Document string `json:"document"` // end of the path of the document that must be there; empty: any
}

func textsOf(questions []realQuestion) []string {
	out := make([]string, len(questions))
	for i, q := range questions {
		out[i] = q.Question
	}
	return out
}

// readQuestions reads a file of JSON lines, and ignores other fields.
func readQuestions(path string) ([]realQuestion, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: questions", "%w", err)
	}
	defer f.Close()
	var questions []realQuestion
	lines := json.NewDecoder(bufio.NewReader(f))
	for n := 1; ; n++ {
		var q realQuestion
		switch err := lines.Decode(&q); {
		case errors.Is(err, io.EOF):
			if len(questions) == 0 {
				return nil, cmdline.Misusef("%s: there is no question", path)
			}
			return questions, nil
		case err != nil:
			return nil, cmdline.Misusef("%s: question %d: %v", path, n, err)
		case strings.TrimSpace(q.Question) == "":
			return nil, cmdline.Misusef("%s: question %d is empty", path, n)
		}
		questions = append(questions, q)
	}
}

func (o *predicting) run(ctx context.Context, stderr io.Writer) (*predictingReport, error) {
	questions, err := readQuestions(o.questions)
	if err != nil {
		return nil, err
	}
	var foreign []realQuestion
	if o.foreign != "" {
		if foreign, err = readQuestions(o.foreign); err != nil {
			return nil, err
		}
	}
	dir, err := os.MkdirTemp("", "percached-")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: predict", "%w", err)
	}
	defer os.RemoveAll(dir)
	b := &predictionBench{predicting: o, dir: dir, stderr: stderr, report: &predictingReport{Floor: o.Idle.Floor, Share: o.share}}
	defer b.close()
	for _, step := range []func() error{
		func() error {
			if b.inOrder {
				return b.openEmpty(ctx)
			}
			if err := b.addDocuments(ctx); err != nil {
				return err
			}
			return b.prepare(ctx)
		},
		func() error { return b.ask(ctx, questions[:min(len(questions), b.limit)]) },
		func() error { return b.judge(ctx, textsOf(questions), textsOf(foreign)) },
		b.close,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.report, nil
}
