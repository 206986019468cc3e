package main

import (
	"context"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// scaleClients puts one daemon under the load of ever more clients.
func scaleClients(ctx context.Context, r *scaleRun, d *scaleDaemon, points []int) error {
	if err := d.start(ctx, 1, r.stderr); err != nil {
		return err
	}
	r.part(0, points[0])
	o := loading{documents: r.mails, questions: min(r.mails, max(1, r.runs/2)), seconds: r.seconds}
	if err := o.fill(ctx, d.ClientWithResponses, r.stderr); err != nil {
		return err
	}
	if err := keepServed(ctx, d, &o); err != nil {
		return err
	}
	for i, n := range points {
		if i > 0 {
			r.part(points[i-1], n)
		}
		if err := d.connect(n); err != nil {
			return err
		}
		o.clients = n
		v := scaleValues{}
		for j, name := range []string{"same", "other"} {
			plan := loadRounds()[j]
			l, err := o.round(ctx, d.ClientWithResponses, d.PID(), plan)
			if err != nil {
				return err
			}
			if l.Failure != "" {
				cmdline.Say(r.stderr, "%d clients, %s: %s", n, plan.name, l.Failure)
			}
			v[name+"_per_s"], v[name+"_median_ms"], v[name+"_p99_ms"] = l.PerS, l.P50, l.P99
			v["failed"] += float64(l.Failed)
			v[name+"_refused"] = float64(l.Refused)
		}
		d.usage(v)
		if err := r.add(n, v); err != nil {
			return err
		}
		r.progress.end()
	}
	return nil
}

// keepServed keeps the questions that the bank answers in other words, too.
func keepServed(ctx context.Context, d *scaleDaemon, o *loading) error {
	var served []int
	for _, i := range o.stored {
		a, err := d.ask(ctx, hitsSpace, otherWords(i), false)
		if err != nil {
			return err
		}
		if a.outcome == client.OutcomeAnswerHit {
			served = append(served, i)
		}
	}
	if o.stored = served; len(served) == 0 {
		return fault.New(fault.Unsupported, scaleOp, "the bank answers no question in other words: use another model")
	}
	return nil
}
