package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/knowledgebank"
)

// mailsToUpload returns invented mails as a client sends them.
func mailsToUpload(ctx context.Context, n int) (all []client.NewDocument, err error) {
	err = (&hits{documents: n}).mails(ctx, func(m *knowledgebank.Source) error {
		all = append(all, uploaded(m))
		return nil
	}, nil)
	return all, err
}

// scaleOfSpaces adds spaces with a mail each.
func scaleOfSpaces(ctx context.Context, r *scaleRun, d *scaleDaemon, points []int) error {
	if err := d.start(ctx, scaleWorkers, r.stderr); err != nil {
		return err
	}
	mails, err := mailsToUpload(ctx, points[len(points)-1])
	if err != nil {
		return err
	}
	done := 0
	for _, n := range points {
		r.part(done, n)
		began := time.Now()
		if err := r.createSpaces(ctx, d, mails[:n], done); err != nil {
			return err
		}
		v := scaleValues{"added_per_s": float64(n-done) / time.Since(began).Seconds()}
		if err := d.startTimed(ctx, v, spaceName(0), r.stderr); err != nil {
			return err
		}
		if err := d.settle(ctx, v); err != nil {
			return err
		}
		if err := r.spacesPoint(ctx, d, v, n); err != nil {
			return err
		}
		d.usage(v)
		if err := r.add(n, v); err != nil {
			return err
		}
		r.progress.end()
		done = n
	}
	return nil
}

func spaceName(i int) string { return fmt.Sprintf("user-%06d", i) }

// createSpaces makes a space for each mail from a number on.
func (r *scaleRun) createSpaces(ctx context.Context, d *scaleDaemon, mails []client.NewDocument, from int) error {
	var all sync.WaitGroup
	var next atomic.Int64
	next.Store(int64(from))
	errs := make([]error, scaleWorkers)
	for w := range errs {
		all.Go(func() {
			for errs[w] == nil {
				i := int(next.Add(1)) - 1
				if i >= len(mails) {
					return
				}
				if errs[w] = d.createSpace(ctx, spaceName(i)); errs[w] == nil {
					errs[w] = d.upload(ctx, spaceName(i), mails[i])
				}
				if w == 0 {
					r.progress.at(0.9 * float64(i-from) / float64(len(mails)-from))
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// spacesPoint searches once in spaces that are not open, and often in a few.
func (r *scaleRun) spacesPoint(ctx context.Context, d *scaleDaemon, v scaleValues, n int) error {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	var cold, warm []time.Duration
	// The start leaves the last spaces open, and its first search opened the first.
	closed := rng.Perm(max(0, n-scaleSpaces-1))
	for _, i := range closed[:min(r.runs, len(closed))] {
		i++
		took, err := d.search(ctx, spaceName(i), hitQuestion(i))
		if err != nil {
			return err
		}
		cold = append(cold, took)
	}
	few := rng.Perm(n)[:min(scaleSpaces, n)]
	for i := range r.runs + len(few) {
		at := few[i%len(few)]
		took, err := d.search(ctx, spaceName(at), hitQuestion(at))
		if err != nil {
			return err
		}
		if i >= len(few) { // now all are open
			warm = append(warm, took)
		}
	}
	v.latency("closed", cold)
	v.latency("search", warm)
	return nil
}
