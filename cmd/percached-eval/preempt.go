package main

import (
	"context"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/llm/llamacpp"
)

// preempt has the options of bench preempt.
type preempt struct {
	source     selftest.Source
	background int
	tokens     int
	stored     float64
	generate   int
	runs       int
	threads    int
	split      int
	json       bool
}

const (
	preemptSystem = 64  // tokens of the first segment
	preemptChunk  = 128 // tokens of every other segment
)

func preemptCommand(open selftest.Opener) *cobra.Command {
	var o preempt
	cmd := &cobra.Command{
		Use:   "preempt",
		Short: "Measure what idle work adds to a question's latency",
		Long: `Asks a question in pairs: once on an idle engine, and once while background work computes
a long prompt and captures its slices. Both start at the same random moment, in random
order. Most of the question's prompt is stored in memory.

The latency is the time from the call to its return, including the wait for the engine.
The added latency is the median difference within a pair, and the median ratio less 1. A
pair takes seconds, so a slow phase of the machine affects both questions. The wait is
the time until the question's own work starts. A question that met no background work
does not count and is repeated.`,
		Args:    cobra.NoArgs,
		Example: `  percached-eval bench preempt --shape tiny --runs 5`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			r, err := o.measure(cmd.Context(), open, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return cmdline.Show(cmd.OutOrStdout(), o.json, r)
		},
	}
	o.source.Flags(cmd, "135m")
	f := cmd.Flags()
	f.IntVar(&o.background, "background-tokens", 2000, "Tokens of the background prompt")
	f.IntVar(&o.tokens, "tokens", 640, "Tokens of the question's prompt")
	f.Float64Var(&o.stored, "stored", 0.9, "Stored share of the question's prompt (0-1)")
	f.IntVar(&o.generate, "generate", 32, "Tokens of the answer; 0: prefill only")
	f.IntVar(&o.runs, "runs", 21, "Number of pairs")
	f.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "Number of compute threads")
	f.IntVar(&o.split, "split", llamacpp.Default().Split, "Tokens computed in one batch")
	f.BoolVar(&o.json, "json", false, "Print JSON")
	return cmd
}

func (o *preempt) check() error {
	if err := o.source.Check(); err != nil {
		return err
	}
	for _, n := range []struct {
		name            string
		value, min, max int
	}{
		{"background-tokens", o.background, preemptSystem + 2*preemptChunk, 1 << 20},
		{"tokens", o.tokens, 2, 1 << 20},
		{"generate", o.generate, 0, 1 << 20},
		{"runs", o.runs, 1, 1 << 20},
		{"threads", o.threads, 1, 512},
		{"split", o.split, 1, 4096},
	} {
		if n.value < n.min || n.value > n.max {
			return cmdline.Misusef("--%s must be between %d and %d, not %d", n.name, n.min, n.max, n.value)
		}
	}
	if stored := o.storedTokens(); !(o.stored > 0 && o.stored < 1) || stored < 1 || stored >= o.tokens {
		return cmdline.Misusef("--stored must be a share between 0 and 1 that leaves a token stored and one computed, not %v", o.stored)
	}
	return nil
}

func (o *preempt) storedTokens() int { return int(float64(o.tokens)*o.stored + 0.5) }

// segmented returns the sizes of all segments of a prompt except the last.
func segmented(tokens int) []int {
	var sizes []int
	for size := preemptSystem; tokens > 0; size = preemptChunk {
		sizes = append(sizes, min(size, tokens))
		tokens -= size
	}
	return sizes
}

func (o *preempt) measure(ctx context.Context, open selftest.Opener, stderr io.Writer) (*preemptReport, error) {
	selftest.WarnSlow(stderr)
	path, err := o.source.File(ctx, stderr)
	if err != nil {
		return nil, err
	}
	c := llamacpp.Default()
	c.Model, c.Threads, c.Split = path, o.threads, o.split
	c.Context = (max(o.background, o.tokens+o.generate) + 512) / 256 * 256
	e, err := selftest.Load(ctx, open, c, stderr)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	info := e.Info()
	if n := max(o.background, o.tokens+o.generate); n > info.Context {
		return nil, fault.New(fault.Invalid, "percached: preempt", "%d tokens do not fit into the model's context of %d", n, info.Context)
	}
	segs, err := selftest.ExactPrompt(e, 2, segmented(o.background)...)
	if err != nil {
		return nil, err
	}
	front, err := o.question(ctx, e)
	if err != nil {
		return nil, err
	}
	r := &preemptReport{Model: info.Name, BackgroundTokens: o.background, Split: info.Split, Threads: info.Threads, Runs: o.runs}
	if o.source.Model == "" {
		r.Shape, r.Quant = o.source.Shape, o.source.Quant
	}
	cmdline.Say(stderr, "computing %d tokens without questions", o.background)
	back := selftest.WithCapture(percached.Prompt{Segments: segs, Priority: percached.Background})
	whole, err := r.batches(ctx, e, back, segs)
	if err != nil {
		return nil, err
	}
	p := newPreempting(e, back, front, whole, stderr)
	if err := p.run(ctx, o.runs); err != nil {
		return nil, err
	}
	r.fill(p)
	return r, nil
}

// question makes the prompt of the question, with the slices of its stored share in memory.
func (o *preempt) question(ctx context.Context, e selftest.Engine) (percached.Prompt, error) {
	stored := o.storedTokens()
	segs, err := selftest.ExactPrompt(e, 3, append(segmented(stored), max(1, o.tokens-stored))...)
	if err != nil {
		return percached.Prompt{}, err
	}
	p := percached.Prompt{Segments: segs}
	m := &meter{e: e, prompt: p}
	if err := m.captured(ctx); err != nil {
		return percached.Prompt{}, err
	}
	p = selftest.WithSlices(p, m.slices)
	p.MaxTokens = o.generate
	return p, nil
}

// batches measures one batch, and returns the time of the whole prompt.
func (r *preemptReport) batches(ctx context.Context, e selftest.Engine, back percached.Prompt, segs []percached.Segment) (time.Duration, error) {
	res, err := e.Prefill(ctx, back)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, s := range segs {
		n += (len(s.Tokens) + r.Split - 1) / r.Split
	}
	r.BatchMs = ms(res.Times.Prefill) / float64(n)
	// The last batch is the slowest: its tokens follow all the others.
	p := percached.Prompt{Segments: append([]percached.Segment(nil), segs...)}
	last := &p.Segments[len(p.Segments)-1]
	last.Tokens = segs[1].Tokens[:min(r.Split, len(segs[1].Tokens))]
	took, err := e.SuffixOnly(ctx, p, 5)
	r.LastBatchMs = ms(median(took))
	return res.Times.Prefill + res.Times.Capture, err
}
