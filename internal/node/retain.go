package node

import (
	"context"
	"errors"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/ingest"
)

// ExpireInterval is the time between two looks at what has expired.
const ExpireInterval = time.Minute

const day = 24 * time.Hour

// ExpireOnTick deletes what has expired, at once and at every tick, until ctx ends: slices
// of conversations, and what users asked longer ago than it is kept. It needs no idle time.
func (n *Node) ExpireOnTick(ctx context.Context, when <-chan time.Time) {
	last := map[string]time.Time{} // by space
	for failed := false; ; {
		err := n.expire(ctx, last)
		if err != nil && ctx.Err() == nil && !failed {
			n.Log.Warn("cannot delete what has expired; will retry every minute", "kind", fault.KindOf(err), "error", err)
		}
		failed = err != nil
		select {
		case <-ctx.Done():
			return
		case <-when:
		}
	}
}

// expire deletes what has expired. Each deletion has the files of meta rewritten, so that a
// space is looked at once a day, or more often if it keeps less than that. An error keeps
// nothing else from being deleted.
func (n *Node) expire(ctx context.Context, last map[string]time.Time) error {
	slices, _, err := n.Tree.Expire()
	if n.Expired != nil {
		n.Expired(slices)
	}
	failed := []error{err}
	spaces, err := n.Knowledge.Spaces()
	failed = append(failed, err)
	now := n.Now()
	for _, sp := range spaces {
		keep := n.keepIn(sp)
		since := now.Sub(last[sp.Name])
		if keep == 0 || since >= 0 && since < min(day, keep/24) {
			continue
		}
		r, err := n.ForgetBefore(ctx, sp.Name, now.Add(-keep))
		if err != nil {
			failed = append(failed, err)
			continue
		}
		last[sp.Name] = now
		if r == (ingest.Receipt{}) {
			continue
		}
		n.Log.Info("deleted what is older than it is kept", "space", sp.Name, "questions", r.History, "answers", r.Entries, "turns", r.Turns, "predictions", r.Predicted)
		if n.Outlived != nil {
			n.Outlived(sp.Name, r)
		}
	}
	return errors.Join(failed...)
}

// keepIn is how long a space keeps what users asked; 0: for ever.
func (n *Node) keepIn(sp percached.Space) time.Duration {
	if own := sp.Settings.KeepDays; own != nil {
		return time.Duration(*own) * day
	}
	return time.Duration(n.keep.Load())
}

// KeepDays is keepIn in days, the last one begun.
func (n *Node) KeepDays(sp percached.Space) int { return int((n.keepIn(sp) + day - 1) / day) }

// ForgetBefore deletes what users asked in a space before a time and did not ask since:
// the history, stored answers, conversations with their tensors, and predictions from the
// history that were made before it. Library.KeepClean then removes the bytes. If nothing is
// that old, it writes nothing.
func (n *Node) ForgetBefore(ctx context.Context, space string, before time.Time) (r ingest.Receipt, err error) {
	const op = "node.ForgetBefore"
	questions, err := n.History.Older(space, before)
	if err != nil {
		return r, fault.Wrap(op, err)
	}
	entries, checks := n.Bank.Older(space, before)
	if questions+entries+checks+n.Predictor.OlderHistory(space, before)+len(n.Conversations.Older(space, before)) == 0 {
		return r, nil
	}
	err = n.Library.RemoveFromMeta(ctx, space, func() (err error) {
		if r.History, err = n.History.Expire(space, before); err != nil {
			return err
		}
		if r.Entries, err = n.Bank.Expire(ctx, space, before); err != nil {
			return err
		}
		if r.Predicted, err = n.Predictor.ExpireHistory(space, before); err != nil {
			return err
		}
		return n.forgetConversations(space, before, &r)
	})
	if late := n.Scheduler.Forget(space); err == nil { // a running job may use what is gone
		err = late
	}
	return r, fault.Wrap(op, err)
}

func (n *Node) forgetConversations(space string, before time.Time, r *ingest.Receipt) error {
	var gone []percached.ChunkID
	for _, id := range n.Conversations.Older(space, before) {
		turns, err := n.Conversations.Delete(space, id)
		if fault.KindOf(err) == fault.NotFound { // a user deleted it meanwhile
			continue
		}
		if err != nil {
			return err
		}
		r.Turns += turns
		gone = append(gone, percached.ChunkID(id))
	}
	if len(gone) == 0 {
		return nil
	}
	n.Asker.Settle()
	slices, bytes, err := n.Tree.Forget(space, gone)
	r.Slices, r.Bytes = slices, bytes
	return err
}
