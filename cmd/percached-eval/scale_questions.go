package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/percached/percached/api/client"
)

// scaleQuestions asks one daemon ever more questions of the same kind.
func scaleQuestions(ctx context.Context, r *scaleRun, points []int) (err error) {
	d, err := newScaleDaemon(r.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.start(ctx, 1, r.stderr); err != nil {
		return err
	}
	mails, err := mailsToUpload(ctx, scaleMails)
	if err != nil {
		return err
	}
	if err := errors.Join(d.createSpace(ctx, hitsSpace), d.upload(ctx, hitsSpace, mails...)); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(4, 4))
	done := 0
	for _, n := range points {
		r.part(done, n)
		var latest []scaleAnswer
		for i := done; i < n; i++ {
			text := hitQuestion(i / scaleNew)
			switch kind := i % scaleNew; {
			case kind == 0: // a new one
			case kind%2 == 0:
				text = otherWords(rng.IntN(i/scaleNew + 1))
			default:
				text = hitQuestion(rng.IntN(i/scaleNew + 1))
			}
			a, err := d.ask(ctx, hitsSpace, text, false)
			if err != nil {
				return err
			}
			if i >= n-100 {
				latest = append(latest, a)
			}
			r.progress.at(0.95 * float64(i-done) / float64(n-done))
		}
		v := scaleValues{}
		v.latest(latest)
		d.usage(v)
		if err := errors.Join(d.startTimed(ctx, v, hitsSpace, r.stderr), r.add(n, v)); err != nil {
			return err
		}
		r.progress.end()
		done = n
	}
	return nil
}

// latest records answers from the bank and computed ones.
func (v scaleValues) latest(all []scaleAnswer) {
	var stored, outside []time.Duration
	for _, a := range all {
		if a.outcome == client.OutcomeAnswerHit {
			stored = append(stored, a.took)
		} else {
			outside = append(outside, a.outside)
		}
	}
	v.latency("stored", stored)
	v["outside_median_ms"] = ms(median(outside))
	v["stored_share"] = float64(len(stored)) / float64(max(1, len(all)))
}
