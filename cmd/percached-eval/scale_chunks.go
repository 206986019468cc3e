package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/knowledgebank"
)

// scaleChunks adds mails to one space, and stops at each point.
func scaleChunks(ctx context.Context, r *scaleRun, d *scaleDaemon, points []int) error {
	if err := d.start(ctx, 1, r.stderr); err != nil {
		return err
	}
	if err := d.createSpace(ctx, hitsSpace); err != nil {
		return err
	}
	var batch []client.NewDocument
	var adding time.Duration
	added, done := 0, 0 // mails; mails at the point before
	r.part(0, points[0])
	return (&hits{documents: points[len(points)-1]}).mails(ctx, func(m *knowledgebank.Source) error {
		batch = append(batch, uploaded(m))
		n := points[0]
		if added+len(batch) < n && len(batch) < scaleBatch {
			return nil
		}
		began := time.Now()
		if err := d.upload(ctx, hitsSpace, batch...); err != nil {
			return err
		}
		adding += time.Since(began)
		added, batch = added+len(batch), batch[:0]
		r.progress.at(0.9 * float64(added-done) / float64(n-done))
		if added < n {
			return nil
		}
		v := scaleValues{"added_per_s": float64(n-done) / adding.Seconds()}
		if err := r.chunksPoint(ctx, d, v, n); err != nil {
			return err
		}
		r.progress.end()
		if points, done, adding = points[1:], n, 0; len(points) > 0 {
			r.part(done, points[0])
		}
		return nil
	}, nil)
}

// chunksPoint measures searches and computed questions.
func (r *scaleRun) chunksPoint(ctx context.Context, d *scaleDaemon, v scaleValues, n int) error {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var took, outside []time.Duration
	for range r.runs {
		one, err := d.search(ctx, hitsSpace, hitQuestion(rng.IntN(n)))
		if err != nil {
			return err
		}
		took = append(took, one)
	}
	d.usage(v)
	for range min(scaleCold, r.runs) {
		a, err := d.ask(ctx, hitsSpace, hitQuestion(rng.IntN(n)), true)
		if err != nil {
			return err
		}
		outside = append(outside, a.outside)
	}
	v.latency("search", took)
	v.latency("outside", outside)
	if err := d.startTimed(ctx, v, hitsSpace, r.stderr); err != nil {
		return err
	}
	return r.add(n, v)
}
