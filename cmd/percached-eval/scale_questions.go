package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/percached/percached/api/client"
)

// scaleQuestions asks one daemon ever more questions of the same kind.
func scaleQuestions(ctx context.Context, r *scaleRun, d *scaleDaemon, points []int) error {
	if err := d.start(ctx, 1, r.stderr); err != nil {
		return err
	}
	mails, err := mailsToUpload(ctx, r.mails)
	if err != nil {
		return err
	}
	if err := errors.Join(d.createSpace(ctx, hitsSpace), d.upload(ctx, hitsSpace, mails...)); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(4, 4))
	var latest []askedQuestion
	done := 0
	for _, n := range points {
		r.part(done, n)
		for i := done; i < n; i++ {
			known := i/scaleNew + 1
			text, other := hitQuestion(rng.IntN(known)), i%2 == 0
			if other {
				text = otherWords(rng.IntN(known))
			}
			if i%scaleNew == 0 {
				text, other = hitQuestion(known-1), false // a new one
			}
			a, err := d.ask(ctx, hitsSpace, text, false)
			if err != nil {
				return err
			}
			if latest = append(latest, askedQuestion{a, other}); len(latest) > scaleLatest {
				latest = latest[1:]
			}
			r.progress.at(0.95 * float64(i-done) / float64(n-done))
		}
		v := scaleValues{}
		v.latest(latest)
		d.usage(v)
		if err := d.startTimed(ctx, v, hitsSpace, r.stderr); err != nil {
			return err
		}
		if err := r.add(n, v); err != nil {
			return err
		}
		r.progress.end()
		done = n
	}
	return nil
}

// askedQuestion is a question that was asked.
type askedQuestion struct {
	scaleAnswer
	other bool // in other words than before
}

// latest records answers from the bank, and computed ones.
func (v scaleValues) latest(all []askedQuestion) {
	var same, other, outside []time.Duration
	for _, a := range all {
		switch {
		case a.outcome != client.OutcomeAnswerHit:
			outside = append(outside, a.outside)
		case a.other:
			other = append(other, a.took)
		default:
			same = append(same, a.took)
		}
	}
	v.latency("same", same)
	v.latency("other", other)
	v.latency("outside", outside)
	v["served_share"] = float64(len(same)+len(other)) / float64(len(all))
}
