package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/node"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// predicting is what bench predict is asked for.
type predicting struct {
	node.Options
	paths       []string
	kind        string
	questions   string // file of what people asked of the documents
	foreign     string // file of what they asked of others
	limit       int    // questions
	rounds      int    // of prediction
	predictions int
	warm        int // chunks
	between     bool
	list        bool
	share       float64 // of content words that must stand in one chunk
}

func benchPredictCommand() *cobra.Command {
	o := predicting{Options: node.Default()}
	o.Create = true
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "predict PATH...",
		Short: "Measure what prediction brings, over documents and the questions people really asked of them",
		Long: `Takes documents into temporary folders, does the idle work there, and asks
questions, in order, of services that stand on copies: one that keeps nothing
(cold), one that keeps what was asked (reactive), and some that did idle work
before: predictions alone (predicted), prefilling of chunks alone (warmed), and
both (idle). Tells how many predicted questions are well formed, supported and
distinct, by rules that docs/prediction.md states, how the real questions were
answered, and how a floor on similarity would part them.

Questions are JSON objects, one a line: {"question": "..."}.`,
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
	f.StringVar(&o.kind, "kind", "emails", "what the documents are: emails, dialog, meetings, notes")
	f.StringVar(&o.questions, "questions", "", "file of questions that were asked of the documents")
	f.StringVar(&o.foreign, "foreign", "", "file of questions that were asked of other documents; they are only searched for")
	f.IntVar(&o.limit, "max-questions", 1000, "questions to ask; all are held against the rules")
	f.IntVar(&o.rounds, "rounds", 100, "rounds of prediction")
	f.IntVar(&o.predictions, "max-predictions", 500, "kept predictions behind which no round begins")
	f.IntVar(&o.warm, "warm", 1000, "chunks that may be prefilled without a prediction; 0 leaves out the services that do so")
	f.BoolVar(&o.between, "idle-between", false, "do idle work between the questions too, within the same limits")
	f.IntVar(&o.Idle.Stride, "stride", o.Idle.Stride, "questions predicted at a time")
	f.Float64Var(&o.Idle.Floor, "floor", o.Idle.Floor, "similarity to its best chunk below which a prediction is dropped")
	f.Float64Var(&o.share, "share", 0.8, "share of a question's content words that must stand in one chunk to call it supported")
	f.BoolVar(&o.list, "list", false, "name the predicted questions in the report")
	f.BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// check says what is wrong before anything takes time.
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
	o.Data = "temporary" // named later
	if err := o.Validate(); err != nil {
		return cmdline.Misused(err)
	}
	return nil
}

// readQuestions reads a file of JSON lines; other fields are passed over.
func readQuestions(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: questions", "%w", err)
	}
	defer f.Close()
	var questions []string
	lines := json.NewDecoder(bufio.NewReader(f))
	for n := 1; ; n++ {
		var q struct {
			Question string `json:"question"`
		}
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
		questions = append(questions, q.Question)
	}
}

func (o *predicting) run(ctx context.Context, stderr io.Writer) (*predictingReport, error) {
	questions, err := readQuestions(o.questions)
	if err != nil {
		return nil, err
	}
	var foreign []string
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
		func() error { return b.takeIn(ctx) },
		func() error { return b.prepare(ctx) },
		func() error { return b.ask(ctx, questions[:min(len(questions), b.limit)]) },
		func() error { return b.judge(ctx, questions, foreign) },
		b.close,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return b.report, nil
}
