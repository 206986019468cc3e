package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llamacpp"
)

// preempt is what bench preempt is asked for.
type preempt struct {
	source     source
	background int
	runs       int
	threads    int
	split      int
	json       bool
}

const (
	preemptSystem = 64  // tokens of the background prompt's first segment
	preemptChunk  = 128 // and of each other
	preemptAsk    = 16  // of the foreground's prompt
)

func preemptCommand(open opener) *cobra.Command {
	var o preempt
	cmd := &cobra.Command{
		Use:   "preempt",
		Short: "Measure how long a question waits for idle work to stop",
		Long: `Keeps background work busy with a long prompt whose slices are captured, asks
something in the foreground at random moments, and measures the time from the
question's arrival to the start of its own work.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			r, err := o.measure(cmd.Context(), open, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			return show(cmd.OutOrStdout(), o.json, r)
		},
	}
	o.source.flags(cmd, "135m")
	f := cmd.Flags()
	f.IntVar(&o.background, "background-tokens", 2000, "tokens of the background prompt")
	f.IntVar(&o.runs, "runs", 20, "how often something is asked")
	f.IntVar(&o.threads, "threads", runtime.NumCPU(), "threads that compute")
	f.IntVar(&o.split, "split", llamacpp.Default().Split, "tokens computed at a time")
	f.BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

func (o *preempt) check() error {
	if err := o.source.check(); err != nil {
		return err
	}
	switch {
	case o.background < preemptSystem+2*preemptChunk || o.background > 1<<20:
		return misuse("--background-tokens must be at least %d, not %d", preemptSystem+2*preemptChunk, o.background)
	case o.runs < 1:
		return misuse("--runs must be at least 1, not %d", o.runs)
	case o.threads < 1:
		return misuse("--threads must be at least 1, not %d", o.threads)
	case o.split < 1:
		return misuse("--split must be at least 1, not %d", o.split)
	}
	return nil
}

// preemptReport is what bench preempt found out.
type preemptReport struct {
	Shape            string  `json:"shape,omitempty"`
	Quant            string  `json:"quant,omitempty"`
	Model            string  `json:"model"`
	BackgroundTokens int     `json:"background_tokens"`
	Split            int     `json:"split"`
	Threads          int     `json:"threads"`
	Runs             int     `json:"runs"`
	Preempted        int     `json:"preempted"` // how often background work was really stopped
	WaitMedianMs     float64 `json:"wait_median_ms"`
	WaitP95Ms        float64 `json:"wait_p95_ms"`
	WaitMaxMs        float64 `json:"wait_max_ms"`
	BatchMs          float64 `json:"batch_ms"`      // mean over the background prompt
	LastBatchMs      float64 `json:"last_batch_ms"` // at its end, the longest
	Within           bool    `json:"within"`        // the longest wait is at most one mean batch and 20 ms
}

func (o *preempt) measure(ctx context.Context, open opener, stderr io.Writer) (*preemptReport, error) {
	warnIdle(stderr)
	path, err := o.source.file(ctx, stderr)
	if err != nil {
		return nil, err
	}
	c := llamacpp.Default()
	c.Model, c.Threads, c.Split = path, o.threads, o.split
	c.Context = (o.background + 512) / 256 * 256
	e, err := load(ctx, open, c, stderr)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	sizes := []int{preemptSystem}
	for left := o.background - preemptSystem; left > 0; left -= preemptChunk {
		sizes = append(sizes, min(left, preemptChunk))
	}
	segs, err := exact(e, 2, sizes...)
	if err != nil {
		return nil, err
	}
	back := capturing(percached.Prompt{Segments: segs, Priority: percached.Background})
	ask, err := exact(e, 3, preemptAsk)
	if err != nil {
		return nil, err
	}
	info := e.Info()
	r := &preemptReport{Model: info.Name, BackgroundTokens: o.background, Split: info.Split, Threads: info.Threads, Runs: o.runs}
	if o.source.model == "" {
		r.Shape, r.Quant = o.source.shape, o.source.quant
	}
	say(stderr, "computing %d tokens undisturbed", o.background)
	whole, err := r.batches(ctx, e, back, segs)
	if err != nil {
		return nil, err
	}
	p := &preempting{e: e, back: back, front: percached.Prompt{Segments: ask}, whole: whole, stderr: stderr}
	waits, err := p.run(ctx, o.runs)
	if err != nil {
		return nil, err
	}
	r.Preempted = p.preempted
	r.WaitMedianMs, r.WaitP95Ms, r.WaitMaxMs = ms(median(waits)), ms(quantile(waits, 0.95)), ms(quantile(waits, 1))
	r.Within = r.WaitMaxMs <= r.BatchMs+20
	return r, nil
}

// batches measures one batch, and gives the time of the whole prompt.
func (r *preemptReport) batches(ctx context.Context, e engine, back percached.Prompt, segs []percached.Segment) (time.Duration, error) {
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

// preempting keeps background work running and asks between.
type preempting struct {
	e           engine
	back, front percached.Prompt
	whole       time.Duration // of the background prompt
	stderr      io.Writer
	preempted   int
}

func (p *preempting) run(ctx context.Context, runs int) ([]time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- p.work(ctx) }()
	waits, err := p.ask(ctx, runs)
	cancel()
	if werr := <-done; err == nil {
		err = werr
	}
	return waits, err
}

// work prefills in the background, again and again, until ctx ends.
func (p *preempting) work(ctx context.Context) error {
	for {
		_, err := p.e.Prefill(ctx, p.back)
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, llm.ErrPreempted):
			p.preempted++
		case err != nil:
			return err
		}
	}
}

func (p *preempting) ask(ctx context.Context, runs int) ([]time.Duration, error) {
	random := rand.New(rand.NewPCG(4, 0))
	var waits []time.Duration
	for i := range runs {
		pause := time.NewTimer(time.Duration(random.Int64N(int64(p.whole) + 1)))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, ctx.Err()
		}
		res, err := p.e.Prefill(ctx, p.front)
		if err != nil {
			return nil, err
		}
		waits = append(waits, res.Times.Queue)
		say(p.stderr, "question %d of %d waited %.1f ms", i+1, runs, ms(res.Times.Queue))
	}
	return waits, nil
}

func (r *preemptReport) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "model\t%s, split %d, %d threads\n", r.Model, r.Split, r.Threads)
	fmt.Fprintf(t, "background\t%d tokens, one batch %.1f ms, the last %.1f ms\n", r.BackgroundTokens, r.BatchMs, r.LastBatchMs)
	fmt.Fprintf(t, "questions\t%d, background work stopped %d times\n", r.Runs, r.Preempted)
	fmt.Fprintf(t, "wait\tmedian %.1f ms, p95 %.1f ms, max %.1f ms\n", r.WaitMedianMs, r.WaitP95Ms, r.WaitMaxMs)
	within := "within one batch and 20 ms"
	if !r.Within {
		within = "LONGER than one batch and 20 ms"
	}
	fmt.Fprintf(t, "longest\t%s\n", within)
	return t.Flush()
}
