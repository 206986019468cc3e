package llamacpp

import (
	"context"

	"github.com/percached/percached"
)

// computeBranches computes each missing branch alone after the root and copies it out.
func (r *run) computeBranches(ctx context.Context, root *step, branches []step) ([]*percached.Slice, error) {
	made := make([]*percached.Slice, len(branches))
	for i := range branches {
		s := &branches[i]
		if made[i] = s.slice; made[i] != nil || len(s.tokens) == 0 {
			continue
		}
		sl, err := r.computeBranch(ctx, root, s)
		if err != nil {
			return nil, err
		}
		made[i] = sl
		if s.capture {
			r.result.Slices[s.segment] = sl
		}
	}
	return made, nil
}

// restoreBranches restores all branches in the order of their paths, so that every subset
// of stored branches leads to the same cells.
func (r *run) restoreBranches(branches []step, made []*percached.Slice) error {
	for i := range branches {
		if made[i] == nil {
			continue
		}
		if err := r.restore(&branches[i], made[i]); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) computeBranch(ctx context.Context, root, s *step) (*percached.Slice, error) {
	r.cache.fork(mainSeq, branchSeq, len(root.tokens))
	defer r.cache.drop(branchSeq)
	q, err := r.compute(ctx, s, branchSeq, false)
	if err != nil {
		return nil, err
	}
	return r.capture(s, branchSeq, q)
}
