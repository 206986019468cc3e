package ingest

import (
	"context"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

const (
	// quiet is how long no deletion comes before KeepClean begins, so that a series of
	// deletions needs one CleanUp. It begins after longestSeries in any case.
	quiet         = time.Second
	longestSeries = 30 * time.Second
	// cleanAgain is the time before KeepClean repeats a failed CleanUp.
	cleanAgain = time.Minute
)

// signalDeletion tells KeepClean that bytes must be removed.
func (l *Library) signalDeletion() {
	select {
	case l.deleted <- struct{}{}:
	default:
	}
}

// KeepClean calls CleanUp soon after each deletion, until ctx ends. After makes timers, as
// time.After does.
func (l *Library) KeepClean(ctx context.Context, after func(time.Duration) <-chan time.Time) {
	var again <-chan time.Time
	for {
		select {
		case <-l.deleted:
			l.awaitQuiet(ctx, after)
		case <-again:
		case <-ctx.Done():
			return
		}
		again = nil
		err := l.CleanUp(ctx, nil)
		if err == nil || ctx.Err() != nil {
			continue
		}
		again = after(cleanAgain)
		if fault.KindOf(err) != fault.Conflict { // otherwise a backup is running
			l.Logger.Warn("cannot remove the bytes of deleted documents; will retry", "kind", fault.KindOf(err), "error", err)
		}
	}
}

// awaitQuiet returns when a series of deletions has ended, or lasts too long.
func (l *Library) awaitQuiet(ctx context.Context, after func(time.Duration) <-chan time.Time) {
	enough := after(longestSeries)
	for {
		select {
		case <-l.deleted:
		case <-after(quiet):
			return
		case <-enough:
			return
		case <-ctx.Done():
			return
		}
	}
}
