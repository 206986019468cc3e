package main

import (
	"context"
	"io"
	"runtime"
	"time"

	"github.com/percached/percached/internal/selftest"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/llamacpp"
)

// preempt is what bench preempt is asked for.
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
	preemptSystem = 64  // tokens of a prompt's first segment
	preemptChunk  = 128 // and of each other
)

func preemptCommand(open selftest.Opener) *cobra.Command {
	var o preempt
	cmd := &cobra.Command{
		Use:   "preempt",
		Short: "Measure what idle work adds to a question's latency",
		Long: `Asks the same question in pairs: once while nothing else runs, and once while
background work keeps the engine busy with a long prompt whose slices are
captured. Both come at the same random moment, in random order. Most of the
question's prompt is stored, in memory.

A latency runs from the call to its return, so it holds the wait for the engine.
What is added is the median over the pairs, of the differences and of the ratios
less 1: the two of a pair are asked within seconds, so what slows the machine
down for a while slows both. The wait is the time from the question's arrival
to the start of its own work. A question that found no background work at it
does not count and is asked again.`,
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
	f.IntVar(&o.background, "background-tokens", 2000, "tokens of the background prompt")
	f.IntVar(&o.tokens, "tokens", 640, "tokens of the question's prompt")
	f.Float64Var(&o.stored, "stored", 0.9, "share of them that is stored")
	f.IntVar(&o.generate, "generate", 32, "tokens of the answer; 0 computes the prompt alone")
	f.IntVar(&o.runs, "runs", 21, "how many pairs are asked")
	f.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "threads that compute")
	f.IntVar(&o.split, "split", llamacpp.Default().Split, "tokens computed at a time")
	f.BoolVar(&o.json, "json", false, "print a JSON object")
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

// segmented are the sizes of a prompt's segments in front of its last one.
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
	segs, err := selftest.Exact(e, 2, segmented(o.background)...)
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
	cmdline.Say(stderr, "computing %d tokens undisturbed", o.background)
	back := selftest.Capturing(percached.Prompt{Segments: segs, Priority: percached.Background})
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

// question is a prompt of which a share is stored: its slices are computed
// and stay in memory.
func (o *preempt) question(ctx context.Context, e selftest.Engine) (percached.Prompt, error) {
	stored := o.storedTokens()
	segs, err := selftest.Exact(e, 3, append(segmented(stored), max(1, o.tokens-stored))...)
	if err != nil {
		return percached.Prompt{}, err
	}
	p := percached.Prompt{Segments: segs}
	m := &meter{e: e, prompt: p}
	if err := m.captured(ctx); err != nil {
		return percached.Prompt{}, err
	}
	p = selftest.Restoring(p, m.slices)
	p.MaxTokens = o.generate
	return p, nil
}

// batches measures one batch, and gives the time of the whole prompt.
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
	// The last batch: as many tokens behind all the others.
	p := percached.Prompt{Segments: append([]percached.Segment(nil), segs...)}
	last := &p.Segments[len(p.Segments)-1]
	last.Tokens = segs[1].Tokens[:min(r.Split, len(segs[1].Tokens))]
	took, err := e.SuffixOnly(ctx, p, 5)
	r.LastBatchMs = ms(median(took))
	return res.Times.Prefill + res.Times.Capture, err
}
