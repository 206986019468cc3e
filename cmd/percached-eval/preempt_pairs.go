package main

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/llm"
)

// preemptTries is how many questions in a row may meet no background work. That happens only
// between two background calls.
const preemptTries = 50

// preempting asks a question alone and during background work.
type preempting struct {
	e           selftest.Engine
	back, front percached.Prompt
	whole       time.Duration // of the background prompt
	random      *rand.Rand
	stderr      io.Writer

	answer      *string // the answer that every question must return
	generated   int
	alone, busy latencies
	waits       []time.Duration // of questions during background work
	preempted   int             // number of preemptions
	missed      int             // questions that met no background work
}

// latencies has the times of one half of each pair, in the order of the pairs.
type latencies struct{ whole, first []time.Duration }

func (l *latencies) add(q arrival) {
	l.whole, l.first = append(l.whole, q.took), append(l.first, q.first)
}

// arrival has the times of one question.
type arrival struct{ took, first, wait time.Duration }

func newPreempting(e selftest.Engine, back, front percached.Prompt, whole time.Duration, stderr io.Writer) *preempting {
	return &preempting{e: e, back: back, front: front, whole: whole, random: rand.New(rand.NewPCG(4, 0)), stderr: stderr}
}

func (p *preempting) run(ctx context.Context, runs int) error {
	if _, err := p.ask(ctx); err != nil { // to warm up
		return err
	}
	for i := range runs {
		moment := p.moment()
		halves := []func(context.Context, time.Duration) error{p.undisturbed, p.disturbed}
		if p.random.IntN(2) == 1 {
			halves[0], halves[1] = halves[1], halves[0]
		}
		for _, half := range halves {
			if err := half(ctx, moment); err != nil {
				return err
			}
		}
		cmdline.Say(p.stderr, "pair %d of %d: alone %.1f ms, during background work %.1f ms, with a wait of %.1f ms", i+1, runs,
			ms(p.alone.whole[i]), ms(p.busy.whole[i]), ms(p.waits[i]))
	}
	return nil
}

// moment is a random moment within the background prompt.
func (p *preempting) moment() time.Duration {
	return time.Duration(p.random.Int64N(int64(p.whole) + 1))
}

// undisturbed waits for the moment on an idle engine, and then asks.
func (p *preempting) undisturbed(ctx context.Context, moment time.Duration) error {
	q, err := p.askAt(ctx, moment)
	if err == nil {
		p.alone.add(q)
	}
	return err
}

func (p *preempting) disturbed(ctx context.Context, moment time.Duration) error {
	for range preemptTries {
		q, stopped, err := p.amid(ctx, moment)
		if err != nil {
			return err
		}
		if stopped {
			p.preempted++
			p.busy.add(q)
			p.waits = append(p.waits, q.wait)
			return nil
		}
		p.missed++
		moment = p.moment()
	}
	return fault.New(fault.Unavailable, "percached: preempt", "%d questions met no background work: the background prompt is too short", preemptTries)
}

// amid asks while background work runs, and waits for its end. stopped says that the question
// preempted the work.
func (p *preempting) amid(ctx context.Context, moment time.Duration) (q arrival, stopped bool, err error) {
	wctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var err error
		stopped, err = p.work(wctx)
		done <- err
	}()
	q, err = p.askAt(ctx, moment)
	cancel()
	if werr := <-done; err == nil {
		err = werr
	}
	return q, stopped, err
}

// work prefills in the background, again and again, until ctx ends.
func (p *preempting) work(ctx context.Context) (stopped bool, err error) {
	for {
		r, err := p.e.Prefill(ctx, p.back)
		switch {
		case errors.Is(err, llm.ErrPreempted):
			stopped = stopped || r.Times.Prefill > 0
		case ctx.Err() != nil:
			return stopped, nil
		case err != nil:
			return stopped, err
		}
	}
}

func (p *preempting) askAt(ctx context.Context, moment time.Duration) (arrival, error) {
	pause := time.NewTimer(moment)
	defer pause.Stop()
	select {
	case <-pause.C:
		return p.ask(ctx)
	case <-ctx.Done():
		return arrival{}, ctx.Err()
	}
}

func (p *preempting) ask(ctx context.Context) (arrival, error) {
	call := p.e.Prefill
	if p.front.MaxTokens > 0 {
		call = func(ctx context.Context, front percached.Prompt) (percached.Result, error) {
			return p.e.Generate(ctx, front, nil)
		}
	}
	began := time.Now()
	r, err := call(ctx, p.front)
	took := time.Since(began)
	if err != nil {
		return arrival{}, err
	}
	if p.answer == nil {
		p.answer, p.generated = &r.Text, r.Usage.Generated
	}
	if r.Text != *p.answer {
		return arrival{}, fault.New(fault.Internal, "percached: preempt", "the same question got two answers")
	}
	return arrival{took: took, first: took - r.Times.Decode, wait: r.Times.Queue}, nil
}

// surplus are the differences of the pairs.
func surplus(busy, alone []time.Duration) []time.Duration {
	out := make([]time.Duration, len(busy))
	for i := range busy {
		out[i] = busy[i] - alone[i]
	}
	return out
}
