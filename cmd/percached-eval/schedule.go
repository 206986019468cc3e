package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/selftest"
)

// schedule has the options of bench schedule.
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
		Short: "Measure cost and savings of adaptive population and conversion",
		Long: `Adds documents to two new data folders and asks eight questions of both: one has adaptive
population and conversion, the other does not.

Half of the documents, the oldest, are added before the first question, and a quarter of
the others before each of the next four. All due idle work runs before each question. The
similarity threshold is 0.85; it rises to 0.90 after the second question and falls to 0.85
after the fifth. From the first question on, tensors are limited to a share of what the
first idle work stored; after the sixth the limit is lifted.

By default three kinds of questions alternate, drawn with --seed: one about a document
that was not predicted, one of the latest predictions, and a prediction with a word
replaced. --questions names a file with a JSON object a line, each with a question; the
first eight are asked.

Both folders use the same model and alternate, so that a slow phase of the machine affects
both.`,
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
	f.StringVar(&o.Data, "data", "", "New folder for both data folders (default: a temporary one)")
	f.StringVar(&o.Model, "model", "", "GGUF file of the language model (default: the built-in model)")
	f.StringVar(&o.KV, "kv", o.KV, "Type of keys and values: f16, q8_0 or q4_0")
	f.StringVar(&o.Placement, "placement", o.Placement, "Placement of chunks: sequential or parallel")
	f.IntVar(&o.Idle.Stride, "stride", o.Idle.Stride, "Number of questions predicted at a time")
	f.IntVar(&o.K, "k", o.K, "Number of chunks in a prompt")
	f.IntVar(&o.MaxTokens, "max-tokens", o.MaxTokens, "Maximum length of an answer in tokens")
	f.StringVar(&o.kind, "kind", "emails", "Kind of documents: emails, dialog, meetings or notes")
	f.StringVar(&o.questions, "questions", "", "File of questions, one JSON object a line (default: made from the documents)")
	f.Float64Var(&o.share, "limit-share", 0.6, "Limit of tensors as a share (0-1) of what the first idle work stored")
	f.Uint64Var(&o.seed, "seed", 1, "Seed for drawing questions")
	f.BoolVar(&o.json, "json", false, "Print JSON")
}

func (o *schedule) check(paths []string) error {
	if len(paths) == 0 {
		return cmdline.Misusef("PATH is missing: name files, mailboxes or folders")
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

// open opens both nodes. The second uses the model of the first.
func (c *course) open(ctx context.Context) error {
	o := c.Options
	o.Create, o.TensorLimit = true, unlimited
	// Prediction continues even if it does not pay, because the model may be slow.
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
	for _, s := range []*scheduleSide{c.sides.Without, c.sides.With} { // the first one owns the model
		if s != nil {
			errs = append(errs, s.Node.Close())
		}
	}
	return errors.Join(errs...)
}
