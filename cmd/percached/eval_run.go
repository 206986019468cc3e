package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/cmd/percached/cli"
	"github.com/percached/percached/eval/plain"
	"github.com/percached/percached/eval/trial"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/llm/llamacpp"
)

// evaluation is what eval run is asked for.
type evaluation struct {
	dataset, path, out, kind string
	limit                    int
	paraphrases, asJSON      bool
}

func evalRunCommand() *cobra.Command {
	var o evaluation
	cmd := &cobra.Command{
		Use:   "run --dataset plain --path DIR",
		Short: "Ask questions over documents, and report how good and how fast the answers are",
		Long: `Starts a daemon on a data folder of its own, takes the documents in, and asks one
question at a time: every question for the first time, its paraphrases if they are
wanted, every question again. Idle work is paused. In the end it asks past the bank
what the bank answered: where the model computes another text, the stored answer may
have been wrong, and is named.

DIR holds the folder documents (anything that percached add reads) and the file
questions.jsonl, an object a line:

  question     what is asked
  answers      right answers, a list (or answer, one of them); without them quality
               is not measured
  paraphrases  the question in other words, a list
  document     what the name of the file with the answer ends with, for the recall
               of retrieval: "plan.md" or "notes/plan.md"

Exact match and F1 hold answers against right ones as SQuAD does: without case,
punctuation and articles. A question that fails counts as a wrong answer. Questions
go by the number of their line.

--out makes a folder with report.md, report.json and answers.jsonl, a line for each
question asked. The daemon takes its settings from the environment
(PERCACHED_MODEL=FILE, for one); the report names those that are not the default.
The exit status is 1 if something could not be read, or a question failed.`,
		Example: `  percached eval run --dataset plain --path mine
  percached eval run --dataset plain --path mine --paraphrases --out results`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case o.dataset != "plain":
				return misuse("--dataset must be plain, not %q", o.dataset)
			case o.path == "":
				return misuse("--path must name a folder")
			case o.limit < 0:
				return misuse("--limit must not be negative")
			case o.kind != "" && !slices.Contains([]string{"emails", "dialog", "meetings", "notes"}, o.kind):
				return misuse("--kind must be emails, dialog, meetings or notes, not %q", o.kind)
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.dataset, "dataset", "", "how the data lies: plain")
	f.StringVar(&o.path, "path", "", "folder of the data")
	f.StringVar(&o.out, "out", "", "new folder for the report")
	f.StringVar(&o.kind, "kind", "", "what the documents are: emails (the default), dialog, meetings, notes")
	f.IntVar(&o.limit, "limit", 0, "ask the first so many questions alone; 0: all")
	f.BoolVar(&o.paraphrases, "paraphrases", false, "ask the paraphrases, too")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object")
	return cmd
}

func (o *evaluation) run(ctx context.Context, stdout, stderr io.Writer) error {
	const op = "percached: eval"
	if o.out != "" { // better known before than after
		if err := trial.Free(o.out); err != nil {
			return fault.New(fault.Conflict, op, "--out: %w", err)
		}
	}
	set, err := plain.Load(o.path)
	if err != nil {
		kind := fault.Invalid
		if errors.Is(err, fs.ErrNotExist) {
			kind = fault.NotFound
		}
		return fault.New(kind, op, "%w", err)
	}
	r, answers, err := o.try(ctx, trial.Plan{
		Set: set, Limit: o.limit, Paraphrases: o.paraphrases, Kind: o.kind, Progress: cli.Progress(stderr, "asked"),
	}, stderr)
	if err != nil {
		return err
	}
	m := thisMachine()
	r.Dataset, r.Commit = o.dataset, commit()
	r.Machine = trial.Machine{OS: m.OS, Arch: m.Arch, CPUs: m.CPUs, MemoryBytes: m.MemoryBytes, CPU: llamacpp.CPU().Model}
	if o.out != "" {
		if err := trial.Save(o.out, r, answers); err != nil {
			return fault.New(fault.Unavailable, op, "--out: %w", err)
		}
	}
	show := r.Text
	if o.asJSON {
		show = r.JSON
	}
	if err := show(stdout); err != nil {
		return err
	}
	if !r.Well() {
		return cli.Unwell{}
	}
	return nil
}

// try tries it on a daemon that ends with it.
func (o *evaluation) try(ctx context.Context, p trial.Plan, stderr io.Writer) (r *trial.Report, answers []trial.Answer, err error) {
	const op = "percached: eval"
	dir, err := os.MkdirTemp("", "percached-eval-")
	if err != nil {
		return nil, nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	defer os.RemoveAll(dir)
	exe, err := os.Executable()
	if err != nil {
		return nil, nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	defer log.Close()
	say(stderr, "%d files, %d questions; %d skipped", len(p.Set.Files), len(p.Set.Questions), len(p.Set.Skipped))
	d, err := startProcess(ctx, exe, filepath.Join(dir, "data"), log)
	if err == nil {
		defer d.stop()
		var c *client.ClientWithResponses
		if c, err = client.NewClientWithResponses(d.url, client.WithToken(d.token)); err == nil {
			r, answers, err = trial.Run(ctx, c, p)
		}
	}
	if err != nil && ctx.Err() == nil {
		lastWords(log.Name(), stderr)
	}
	return r, answers, fault.Wrap(op, err)
}

// commit is what go build stamps in a checkout; empty where it does not.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	said := map[string]string{}
	for _, s := range info.Settings {
		said[s.Key] = s.Value
	}
	if said["vcs.modified"] == "true" {
		return said["vcs.revision"] + " with changes"
	}
	return said["vcs.revision"]
}
