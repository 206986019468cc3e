package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/report"
	"github.com/percached/percached/eval/systems"
	"github.com/percached/percached/eval/trial"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llamacpp"
)

// evaluation has the options of percached-eval run.
type evaluation struct {
	dataSource
	random              selftest.Source // a model of random weights, if it has a shape
	chosen              []eval.System
	systems, out, limit string
	plan                eval.Plan
	atOnce              int
	asJSON              bool
}

func evalRunCommand() *cobra.Command {
	o := evaluation{plan: eval.Plan{Seed: 1, Repeats: 1, Warmup: 3, Rounds: 2, Stride: 5}}
	names, groups := systems.Names()
	cmd := &cobra.Command{
		Use:   "run --dataset NAME --path PATH",
		Short: "Run questions on several systems, and report quality and latency",
		Long: `Starts a daemon with a new data folder for each user, adds the user's documents to one
space for each system, and asks each question of every system in turn. Idle work runs
before the questions and after each one, if the system has idle work.

All systems are settings of percached, so that they share model, prompts, retrieval and
machine:
  ` + strings.Join(names, ", ") + `
Groups: ` + strings.Join(groups, ", ") + `
Variants: SYSTEM@KEY=NUMBER, such as percache@threshold=0.8,
percached@max-wrong=0.05, percached@stride=2 or ragcache@limit=69 (slices). The run adds
the systems that a system is compared with.

Data sets:
  enronqa  parquet or JSON lines of EnronQA, or a folder of such files; the documents are
           a user's mails. --inboxes names a folder with USER.mbox or USER.mbox.gz,
           whose mails are added as further documents
  locomo   the JSON file of LoCoMo; a conversation is one user
  mised    JSON lines of MISeD, or the files of QMSum; --meetings of them are one user
  qmsum    the same
  plain    your own data: the folder documents (anything that percached add reads) and
           the file questions.jsonl, one object a line:
             question     the question
             answers      list of right answers (or answer: one right answer)
             paraphrases  list of the question in other words
             document     end of the name of the file with the answer

--out stores the run after each user, so that the same command can continue it and
percached-eval report can read it. The folder contains text of the documents. The daemon
takes its settings from the environment, such as PERCACHED_MODEL=FILE; the report lists
settings that are not the default. The exit status is 1 if a file could not be read or a
question failed.`,
		Example: `  percached-eval run --dataset plain --path mine --systems naive,percached
  percached-eval run --dataset enronqa --path enronqa --users 2 --questions 50 --out run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	o.dataSource.flags(f)
	f.StringVar(&o.random.Shape, "shape", "", "Shape of a model with random weights, to measure times only: "+strings.Join(gguf.Shapes(), ", "))
	f.StringVar(&o.random.Quant, "quant", "q4_0", "Type of the random weights: f32, f16, q8_0 or q4_0")
	f.StringVar(&o.systems, "systems", "all", "Systems, variants and groups, separated by commas")
	f.StringVar(&o.out, "out", "", "Folder to store the run (default: not stored)")
	f.IntVar(&o.plan.Questions, "questions", 0, "Maximum number of questions per user; 0: all")
	f.BoolVar(&o.plan.Paraphrases, "paraphrases", false, "Also ask the paraphrases, after the questions")
	f.BoolVar(&o.plan.Distinct, "distinct", false, "Ask identical questions of a user once")
	f.IntVar(&o.plan.Repeats, "repeats", o.plan.Repeats, "Number of repeats of the whole run")
	f.IntVar(&o.plan.Warmup, "warmup", o.plan.Warmup, "Number of warm-up questions, which do not count")
	f.IntVar(&o.plan.Rounds, "rounds", o.plan.Rounds, "Rounds of prediction from the documents before the questions")
	f.IntVar(&o.plan.Stride, "stride", o.plan.Stride, "Number of questions predicted in a round (1-50)")
	f.StringVar(&o.limit, "limit", "1GiB", "Maximum size of tensors for each system and user")
	f.IntVar(&o.plan.IdleTokensBefore, "idle-tokens-before", 0, "Maximum tokens of percached's idle work before the questions; 0 here and in --idle-tokens-after: as many as percache used")
	f.IntVar(&o.plan.IdleTokensAfter, "idle-tokens-after", 0, "Maximum tokens of idle work after each question; unused tokens add up")
	f.Uint64Var(&o.plan.Seed, "seed", o.plan.Seed, "Seed for the order of questions and the intervals")
	f.IntVar(&o.atOnce, "at-once", 1, "Number of users at a time, each with a daemon of its own; give each its share of the processors with PERCACHED_THREADS")
	f.BoolVar(&o.asJSON, "json", false, "Print JSON")
	return cmd
}

func (o *evaluation) check() (err error) {
	if err := o.dataSource.check(); err != nil {
		return err
	}
	if o.random.Shape != "" {
		if err := o.random.Check(); err != nil {
			return err
		}
	}
	p := &o.plan
	p.NoQuality = o.random.Shape != ""
	switch {
	case p.Questions < 0 || p.Warmup < 0 || p.Rounds < 0 || p.IdleTokensBefore < 0 || p.IdleTokensAfter < 0:
		return cmdline.Misusef("--questions, --warmup, --rounds and --idle-tokens-... must not be negative")
	case p.Repeats < 1 || o.atOnce < 1 || p.Stride < 1 || p.Stride > 50:
		return cmdline.Misusef("--repeats and --at-once must be at least 1, and --stride from 1 to 50")
	}
	if o.atOnce > 1 {
		p.AtOnce = o.atOnce
	}
	p.LimitBytes, err = cmdline.ParseSize(o.limit)
	if err != nil || p.LimitBytes < 1 {
		return cmdline.Misusef("--limit must be a size such as 512MiB, not %q", o.limit)
	}
	if o.chosen, err = systems.Choose(o.systems); err != nil {
		return cmdline.Misusef("--systems: %w", err)
	}
	return nil
}

func (o *evaluation) run(ctx context.Context, stdout, stderr io.Writer) error {
	const op = "percached: eval"
	data, err := o.load()
	if err != nil {
		kind := fault.Invalid
		if errors.Is(err, fs.ErrNotExist) {
			kind = fault.NotFound
		}
		return fault.New(kind, op, "%w", err)
	}
	temp, err := os.MkdirTemp("", "percached-eval-")
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	defer os.RemoveAll(temp)
	out := o.out
	if out == "" {
		out = filepath.Join(temp, "run")
	}
	var args []string
	if o.random.Shape != "" {
		file, err := o.random.File(ctx, stderr)
		if err != nil {
			return err
		}
		args = append(args, "--model", file)
	}
	m := machine.This()
	setup := trial.Setup{
		Data: data, Dir: out, Tell: showProgress(stderr),
		Run: eval.Run{
			Dataset: o.dataset, Commit: commit(), Plan: o.plan, Systems: o.chosen,
			Machine: eval.Machine{OS: m.OS, Arch: m.Arch, CPUs: m.CPUs, MemoryBytes: m.MemoryBytes, CPU: llamacpp.CPU().Model},
		},
		Start: func(ctx context.Context) (*trial.Daemon, error) { return startDaemon(ctx, temp, stderr, args...) },
	}
	cmdline.Say(stderr, "%s", size(data, o.chosen, &o.plan))
	results, err := trial.Run(ctx, setup)
	if err != nil {
		return fault.Wrap(op, err)
	}
	r := report.Make(results)
	show := r.Text
	if o.asJSON {
		show = r.JSON
	}
	if err := show(stdout); err != nil {
		return err
	}
	if o.out != "" {
		cmdline.Say(stderr, "Stored in %s. For tables and figures, run percached-eval report %s", o.out, o.out)
	}
	if h := r.Header; len(h.Failures)+len(h.Unread) > 0 || slices.ContainsFunc(h.Skipped, func(s eval.Skipped) bool { return !s.Usual }) {
		return cmdline.Unwell{}
	}
	return nil
}

// size describes the size of a run.
func size(d *eval.Data, chosen []eval.System, p *eval.Plan) string {
	files, questions := 0, 0
	for _, s := range d.Sets {
		n := len(s.Questions)
		if p.Questions > 0 {
			n = min(n, p.Questions)
		}
		files, questions = files+len(s.Files), questions+n
	}
	return fmt.Sprintf("%d users, %d files, %d questions, %d skipped; %d systems, %d repeats",
		len(d.Sets), files, questions, len(d.Skipped), len(chosen), p.Repeats)
}

// startDaemon starts a daemon on a new data folder, and deletes the folder when it stops.
func startDaemon(ctx context.Context, temp string, stderr io.Writer, args ...string) (*trial.Daemon, error) {
	const op = "percached: eval"
	exe, err := os.Executable()
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	dir, err := os.MkdirTemp(temp, "daemon-")
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	d, err := child.Start(ctx, exe, filepath.Join(dir, "data"), log, args...)
	if err != nil {
		log.Close()
		child.ShowLog(log.Name(), stderr)
		return nil, err
	}
	api, err := client.NewClient(d.URL, client.WithToken(d.Token))
	if err != nil {
		return nil, errors.Join(err, d.Stop(), log.Close())
	}
	return &trial.Daemon{API: api, Stop: func() error {
		err := d.Stop()
		if err != nil && ctx.Err() == nil {
			child.ShowLog(log.Name(), stderr)
		}
		return errors.Join(err, log.Close(), os.RemoveAll(dir))
	}}, nil
}

// showProgress prints the progress of a run and the estimated time left.
func showProgress(w io.Writer) func(trial.Step) {
	began, first, last, terminal := time.Now(), -1.0, trial.Step{}, cmdline.Terminal(w)
	return func(s trial.Step) {
		if first < 0 { // earlier work took no time now
			first = s.Of1
		}
		left := ""
		if done := s.Of1 - first; done > 0.02 {
			left = fmt.Sprintf(", about %v left", time.Duration(float64(time.Since(began))*(1-s.Of1)/done).Round(time.Second))
		}
		line := fmt.Sprintf("%3.0f %%: repeat %d, user %s, %s%s", 100*s.Of1, s.Repeat, s.User, s.What, left)
		switch {
		case terminal && s.Of1 >= 1:
			fmt.Fprint(w, "\r\033[K")
		case terminal:
			fmt.Fprint(w, "\r\033[K"+line)
		case s.User != last.User || s.What != last.What || s.Repeat != last.Repeat || int(20*s.Of1) != int(20*last.Of1):
			fmt.Fprintln(w, line)
		}
		last = s
	}
}

// commit is the commit that go build records. It is empty if it is unknown.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	exe, err := os.Executable()
	if err != nil {
		return ""
	}
	return stamp(info.Settings, exe)
}

// stamp names a build. For a build with uncommitted changes it adds a hash of the program.
func stamp(settings []debug.BuildSetting, exe string) string {
	values := map[string]string{}
	for _, s := range settings {
		values[s.Key] = s.Value
	}
	if values["vcs.modified"] != "true" {
		return values["vcs.revision"]
	}
	f, err := os.Open(exe)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // nothing was written
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return fmt.Sprintf("%s with changes (%.6x)", values["vcs.revision"], sum.Sum(nil))
}
