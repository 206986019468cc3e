package retrieval

import (
	"context"
	"os"
	"path/filepath"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// Rebuild makes the index of words anew in a fresh folder and swaps it in: no
// byte of the old one stays in the folder. It also mends the vectors: what is
// missing is made, and what belongs to no chunk goes.
func (x *Index) Rebuild(ctx context.Context, name string, progress func(done, total int)) error {
	const op = "retrieval.Rebuild"
	sp, done, err := x.change(ctx, name)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	total := 0
	if _, _, err := x.o.Feed.Changes(name, 0, func(percached.Chunk) error { total++; return x.ended(ctx) }); err != nil {
		return fault.Wrap(op, err)
	}
	tell := func(done int) {
		if progress != nil {
			progress(done, max(done, total))
		}
	}
	tell(0)
	dir := sp.dir + fresh
	t, err := emptyText(dir, x.queue)
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	rec, vec, _ := sp.state()
	w := &writer{x: x, sp: sp, rec: rec, text: t, vec: vec}
	err = w.pull(ctx, 0, tell)
	if shut := t.close(); err == nil && shut != nil {
		err = fault.New(fault.Unavailable, op, "%w", shut)
	}
	if err != nil {
		_ = os.RemoveAll(dir) // if not now, Open will
		return fault.Wrap(op, err)
	}
	if err := sp.replace(func() (*text, error) {
		if err := remove(sp.dir); err != nil {
			return nil, err
		}
		if err := os.Rename(dir, sp.dir); err != nil {
			return nil, err
		}
		if err := durable.Folder(filepath.Dir(dir)); err != nil {
			return nil, err
		}
		return openText(sp.dir, x.queue, false)
	}); err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	sp.caughtUp()
	return fault.Wrap(op, w.lost)
}

// Drop removes all there is of a space.
func (x *Index) Drop(name string) error {
	const op = "retrieval.Drop"
	sp, err := x.named(name)
	if err != nil {
		return fault.Wrap(op, err)
	}
	select {
	case sp.write <- struct{}{}:
	case <-x.quit:
		return fault.New(fault.Unavailable, op, "%w", errClosed)
	}
	defer func() { <-sp.write }()
	sp.life.Lock()
	defer sp.life.Unlock()
	if err := sp.shut(); err != nil {
		x.log("an index did not close well", "error", err)
	}
	x.mu.Lock()
	sp.open = false
	x.mu.Unlock()
	for _, dir := range []string{sp.dir, sp.dir + fresh} {
		if err := remove(dir); err != nil {
			return fault.New(fault.Unavailable, op, "%w", err)
		}
	}
	return fault.Wrap(op, x.forgetVectors(sp))
}
