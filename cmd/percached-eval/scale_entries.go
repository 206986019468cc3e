package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/node"
)

// scaleEntries fills the bank without a model, and starts a daemon at each point.
func scaleEntries(ctx context.Context, r *scaleRun, d *scaleDaemon, points []int) error {
	done := 0
	for _, n := range points {
		r.part(done, n)
		if err := r.fillEntries(ctx, d, done, n); err != nil {
			return err
		}
		v := scaleValues{}
		if err := d.startTimed(ctx, v, hitsSpace, r.stderr); err != nil {
			return err
		}
		if err := r.entriesPoint(ctx, d, v, n); err != nil {
			return err
		}
		d.usage(v)
		if err := errors.Join(d.stop(), r.add(n, v)); err != nil {
			return err
		}
		r.progress.end()
		done = n
	}
	return nil
}

// fillEntries opens the folder of a daemon that does not run, with the settings that the daemon has.
func (r *scaleRun) fillEntries(ctx context.Context, d *scaleDaemon, done, n int) (err error) {
	conf, err := config.Load(d.config(), os.Environ(), []config.Setting{config.FromFlag("data", d.data())}, node.CheckConfig)
	if err != nil {
		return err
	}
	s, err := node.Open(ctx, node.Options{Config: conf.Now()}, true, r.stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if done == 0 {
		if err := s.Knowledge.CreateSpace(percached.Space{Name: hitsSpace, Kind: "emails"}); err != nil {
			return err
		}
		if _, err := s.Library.Add(ctx, hitsSpace, (&hits{documents: r.mails}).mails, nil); err != nil {
			return err
		}
	}
	set, err := s.Settings(conf.Now())
	if err != nil {
		return err
	}
	for from := done; from < n; from += scaleBatch {
		if err := fillBank(ctx, s, set, from, min(from+scaleBatch, n)); err != nil {
			return err
		}
		r.progress.at(0.9 * float64(from-done) / float64(n-done))
	}
	return nil
}

// entriesPoint asks for stored answers, and for some that are not stored.
func (r *scaleRun) entriesPoint(ctx context.Context, d *scaleDaemon, v scaleValues, n int) error {
	rng := rand.New(rand.NewPCG(2, uint64(n)))
	var same, other, outside []time.Duration
	asked := min(r.runs, n)
	for _, i := range rng.Perm(n)[:asked] {
		a, err := d.ask(ctx, hitsSpace, hitQuestion(i), false)
		if err != nil {
			return err
		}
		if a.outcome == client.OutcomeAnswerHit {
			same = append(same, a.took)
		}
		if a, err = d.ask(ctx, hitsSpace, otherWords(i), false); err != nil {
			return err
		}
		if a.outcome == client.OutcomeAnswerHit {
			other = append(other, a.took)
		}
	}
	for i := range min(scaleCold, r.runs) {
		// At each point others, because their answers are stored.
		a, err := d.ask(ctx, hitsSpace, fmt.Sprintf("Who painted the door of %s?", hitName(n*scaleCold+i)), false)
		if err != nil {
			return err
		}
		if a.outcome != client.OutcomeAnswerHit {
			outside = append(outside, a.outside)
		}
	}
	v.latency("same", same)
	v.latency("other", other)
	v["same_served_share"], v["other_served_share"] = float64(len(same))/float64(asked), float64(len(other))/float64(asked)
	v.latency("outside", outside)
	return nil
}
