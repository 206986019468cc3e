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

	"github.com/percached/percached/internal/selftest"

	"github.com/percached/percached/internal/child"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/report"
	"github.com/percached/percached/eval/systems"
	"github.com/percached/percached/eval/trial"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llamacpp"
)

// evaluation is what eval run is asked for.
type evaluation struct {
	dataSource
	random              selftest.Source // a model of random weights, if it has a shape
	chosen              []eval.System
	systems, out, limit string
	plan                eval.Plan
	asJSON              bool
}

func evalRunCommand() *cobra.Command {
	o := evaluation{plan: eval.Plan{Seed: 1, Repeats: 1, Warmup: 3, Rounds: 2, Stride: 5}}
	names, groups := systems.Names()
	cmd := &cobra.Command{
		Use:   "run --dataset NAME --path PATH",
		Short: "Ask questions over documents of several systems, and report how good and how fast the answers are",
		Long: `Starts a daemon on a data folder of its own for each user, takes the user's documents
into a space for each system, and asks one question at a time of every system in
turn. Idle work is done before the questions and behind each, as a system has it.
A daemon is started once before that, to see what runs.

Systems are all settings of percached, so that model, prompts, retrieval and machine
are the same:
  ` + strings.Join(names, ", ") + `
Groups of them: ` + strings.Join(groups, ", ") + `; a variant is SYSTEM@KEY=NUMBER, as in
percache@threshold=0.8, percached@stride=2, ragcache@limit=69 (in slices). With a
system come those that it is held against.

Data sets:
  enronqa  parquet or JSON lines of EnronQA, or a folder of such files; a user's mails
           are the documents. --inboxes names a folder with USER.mbox or USER.mbox.gz,
           whose mails lie around them
  mised    JSON lines of MISeD, or QMSum's own files; --meetings of them are a user
  qmsum    the same
  plain    your own: the folder documents (anything that percached add reads) and
           the file questions.jsonl, an object a line:
             question     what is asked
             answers      right answers, a list (or answer, one of them)
             paraphrases  the question in other words, a list
             document     what the name of the file with the answer ends with

--out keeps the run, user by user: the same command goes on where it was cut off, and
percached-eval report makes tables and figures of it. What is kept there holds text
of the documents. The daemon takes its settings from the environment
(PERCACHED_MODEL=FILE, for one); the report names those that are not the default.
The exit status is 1 if something could not be read, or a question failed.`,
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
	f.StringVar(&o.random.Shape, "shape", "", "use a model with random weights, for times and compute alone: "+strings.Join(gguf.Shapes(), ", "))
	f.StringVar(&o.random.Quant, "quant", "q4_0", "type of the random weights: f32, f16, q8_0, q4_0")
	f.StringVar(&o.systems, "systems", "all", "systems, variants and groups, with commas")
	f.StringVar(&o.out, "out", "", "folder that keeps the run")
	f.IntVar(&o.plan.Questions, "questions", 0, "questions of each user, at the most; 0: all")
	f.BoolVar(&o.plan.Paraphrases, "paraphrases", false, "ask the paraphrases behind the questions, too")
	f.BoolVar(&o.plan.Distinct, "distinct", false, "of a user's questions in the same words, ask one alone")
	f.IntVar(&o.plan.Repeats, "repeats", o.plan.Repeats, "how often all is done")
	f.IntVar(&o.plan.Warmup, "warmup", o.plan.Warmup, "questions asked before the others, that do not count")
	f.IntVar(&o.plan.Rounds, "rounds", o.plan.Rounds, "rounds of prediction from the documents before the questions")
	f.IntVar(&o.plan.Stride, "stride", o.plan.Stride, "questions predicted in a round")
	f.StringVar(&o.limit, "limit", "1GiB", "bytes of tensors for each system and user")
	f.IntVar(&o.plan.IdleTokensBefore, "idle-tokens-before", 0, "tokens of idle work before the questions that percached may spend; with 0 here and below: what percache has spent")
	f.IntVar(&o.plan.IdleTokensAfter, "idle-tokens-after", 0, "the same behind each question; what is left over stays")
	f.Uint64Var(&o.plan.Seed, "seed", o.plan.Seed, "seed of the order of questions and of the intervals")
	f.BoolVar(&o.asJSON, "json", false, "print a JSON object")
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
	case p.Repeats < 1 || p.Stride < 1 || p.Stride > 50:
		return cmdline.Misusef("--repeats must be at least 1, and --stride from 1 to 50")
	}
	p.LimitBytes, err = cmdline.ParseSize(o.limit)
	if err != nil || p.LimitBytes < 1 {
		return cmdline.Misusef("--limit must be a number of bytes such as 512MiB, not %q", o.limit)
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
		Data: data, Dir: out, Tell: howFar(stderr),
		Run: eval.Run{
			Dataset: o.dataset, Commit: commit(), Plan: o.plan, Systems: o.chosen,
			Machine: eval.Machine{OS: m.OS, Arch: m.Arch, CPUs: m.CPUs, MemoryBytes: m.MemoryBytes, CPU: llamacpp.CPU().Model},
		},
		Start: func(ctx context.Context) (*trial.Daemon, error) { return startTried(ctx, temp, stderr, args...) },
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
		cmdline.Say(stderr, "Kept in %s. Tables and figures: percached-eval report %s", o.out, o.out)
	}
	if h := r.Header; len(h.Failures)+len(h.Unread) > 0 || slices.ContainsFunc(h.Skipped, func(s eval.Skipped) bool { return !s.Usual }) {
		return cmdline.Unwell{}
	}
	return nil
}

// size says how much is to be done.
func size(d *eval.Data, chosen []eval.System, p *eval.Plan) string {
	files, questions := 0, 0
	for _, s := range d.Sets {
		n := len(s.Questions)
		if p.Questions > 0 {
			n = min(n, p.Questions)
		}
		files, questions = files+len(s.Files), questions+n
	}
	return fmt.Sprintf("%d users, %d files, %d questions; %d skipped; %d systems, each question asked of each, %d times",
		len(d.Sets), files, questions, len(d.Skipped), len(chosen), p.Repeats)
}

// startTried starts a daemon on a new data folder, which goes when it is stopped.
func startTried(ctx context.Context, temp string, stderr io.Writer, args ...string) (*trial.Daemon, error) {
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

// howFar tells how far a run is, and about how long it will take.
func howFar(w io.Writer) func(trial.Step) {
	began, first, last, terminal := time.Now(), -1.0, trial.Step{}, cmdline.Terminal(w)
	return func(s trial.Step) {
		if first < 0 { // what was there already took no time now
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

// commit is what go build stamps in a checkout; empty where it does not, or where it
// cannot be told.
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

// stamp names a build. With changes, of which a commit may have many, a hash of the
// program tells one from another.
func stamp(settings []debug.BuildSetting, exe string) string {
	said := map[string]string{}
	for _, s := range settings {
		said[s.Key] = s.Value
	}
	if said["vcs.modified"] != "true" {
		return said["vcs.revision"]
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
	return fmt.Sprintf("%s with changes (%.6x)", said["vcs.revision"], sum.Sum(nil))
}
