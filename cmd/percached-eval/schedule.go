package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/selftest"

	"github.com/percached/percached/internal/node"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
)

// schedule is what bench schedule is asked for.
type schedule struct {
	node.Options
	kind      string
	questions string // a file; empty: made from the documents
	share     float64
	seed      uint64
	json      bool
}

func scheduleCommand() *cobra.Command {
	o := schedule{Options: node.Default()}
	cmd := &cobra.Command{
		Use:   "schedule PATH...",
		Short: "Measure what adaptive population and conversion cost and save",
		Long: `Takes documents into two new data folders and leads both through the same course
of eight questions: one with adaptive population and conversion, one without.

Half of the documents, the oldest, are there before the first question, and a
quarter of the others comes in before each of the four next. Before each question
all idle work that is due is done. The similarity threshold is 0.85; it rises to
0.90 behind the second question and falls to 0.85 behind the fifth. What the
first idle work stored says how many bytes of tensors may be stored from the
first question on; behind the sixth there is room for all.

Without --questions three kinds of questions take turns, drawn by --seed: one
about a document, that nobody predicted; one of the latest predictions as it
stands; and one with a word swapped. With --questions a JSON object a line is read,
with a question in each: the first eight are asked.

Both stand on the same model, and take turns: what slows the machine down for a
while slows both.`,
		Example: `  percached-eval bench schedule inbox.mbox --json
  percached-eval bench schedule notes/ --kind notes --questions asked.jsonl`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := o.check(paths); err != nil {
				return err
			}
			r, err := o.measure(cmd.Context(), paths, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return cmdline.Show(cmd.OutOrStdout(), o.json, r)
		},
	}
	o.flags(cmd)
	return cmd
}

func (o *schedule) flags(cmd *cobra.Command) {
	o.MaxTokens, o.Placement, o.Idle.Cutoff = 64, "sequential", betweenThresholds
	commands.DocumentFlags(cmd, &o.Config)
	f := cmd.Flags()
	f.StringVar(&o.Data, "data", "", "folder to make, that keeps both data folders (default: nothing is kept)")
	f.StringVar(&o.Model, "model", "", "GGUF file of a language model (default: the one that is built in)")
	f.StringVar(&o.KV, "kv", o.KV, "type of keys and values: f16, q8_0, q4_0")
	f.StringVar(&o.Placement, "placement", o.Placement, "sequential or parallel")
	f.IntVar(&o.Idle.Stride, "stride", o.Idle.Stride, "questions predicted at a time")
	f.IntVar(&o.K, "k", o.K, "chunks of a prompt")
	f.IntVar(&o.MaxTokens, "max-tokens", o.MaxTokens, "tokens of an answer")
	f.StringVar(&o.kind, "kind", "emails", "what the documents are: emails, dialog, meetings, notes")
	f.StringVar(&o.questions, "questions", "", "file of questions, a JSON object a line (default: made from the documents)")
	f.Float64Var(&o.share, "limit-share", 0.6, "share of what the first idle work stored that may be stored until the limit is raised")
	f.Uint64Var(&o.seed, "seed", 1, "seed that questions are drawn with")
	f.BoolVar(&o.json, "json", false, "print a JSON object")
}

func (o *schedule) check(paths []string) error {
	if len(paths) == 0 {
		return cmdline.Misusef("name the documents: percached-eval bench schedule PATH..., files, mailboxes or folders")
	}
	if !(o.share > 0 && o.share < 1) {
		return cmdline.Misusef("--limit-share must be a share between 0 and 1, not %v", o.share)
	}
	if _, err := parsePlacement(o.Placement); err != nil {
		return err
	}
	if o.Data != "" && (home.Exists(o.scheduled()) || home.Exists(o.plain())) {
		return cmdline.Misusef("--data %s: there are data folders in it already", o.Data)
	}
	return nil
}

// scheduled and plain are the two data folders.
func (o *schedule) scheduled() string { return filepath.Join(o.Data, "with") }
func (o *schedule) plain() string     { return filepath.Join(o.Data, "without") }

func (o *schedule) measure(ctx context.Context, paths []string, stderr io.Writer) (r *scheduleReport, err error) {
	selftest.WarnSlow(stderr)
	docs, err := readAll(ctx, paths, stderr)
	if err != nil {
		return nil, err
	}
	given, err := givenQuestions(o.questions)
	if err != nil {
		return nil, err
	}
	if o.Data == "" {
		if o.Data, err = os.MkdirTemp("", "percached-"); err != nil {
			return nil, fault.New(fault.Unavailable, "percached: schedule", "%w", err)
		}
		defer os.RemoveAll(o.Data)
	}
	c := &course{schedule: o, stderr: stderr, docs: docs, given: given, asked: map[string]bool{}}
	defer func() { err = errors.Join(err, c.close()) }()
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	return c.run(ctx)
}

// open makes both services. The second stands on the first one's model.
func (c *course) open(ctx context.Context) error {
	o := c.Options
	o.Create, o.TensorLimit = true, unlimited
	// What pays is not the question here: a model that predicts slowly predicts on.
	o.Idle.PayTrial = 365 * 24 * time.Hour
	for _, s := range []struct {
		to        **scheduleSide
		dir       string
		scheduled bool
	}{{&c.sides.With, c.scheduled(), true}, {&c.sides.Without, c.plain(), false}} {
		o.Data, o.Idle.Adaptive, o.Idle.Conversion = s.dir, s.scheduled, s.scheduled
		svc, err := node.Open(ctx, o, true, c.stderr)
		if err != nil {
			return err
		}
		*s.to = &scheduleSide{Node: svc}
		o.Engine, o.Embedder = svc.Engine, svc.Embedder
		if err := svc.Space(scheduleSpace, c.kind, true); err != nil {
			return err
		}
	}
	if why := o.Engine.Info().NoSlices; why != "" {
		return fault.New(fault.Unsupported, "percached: schedule", "this model's tensors cannot be stored: %s", why)
	}
	return nil
}

func (c *course) close() error {
	var errs []error
	for _, s := range []*scheduleSide{c.sides.Without, c.sides.With} { // the model is the first one's
		if s != nil {
			errs = append(errs, s.Node.Close())
		}
	}
	return errors.Join(errs...)
}
