package ingest

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A change does not wait for work that changes everything: the work ends, lets it go
// first, and begins anew. After several times the changes wait.
func TestYielding(t *testing.T) {
	for others, attempts := range map[int]int{0: 1, 1: 2, maxYields: maxYields + 1, maxYields + 3: maxYields + 1} {
		turns, tries := newTurns(), 0
		changed := make(chan int, others)
		if err := turns.yielding(t.Context(), func(ctx context.Context) error {
			if len(changed) != tries {
				t.Errorf("try %d began before the change that it made room for", tries)
			}
			if tries++; tries > others || tries > maxYields {
				return ctx.Err()
			}
			go func() {
				done, err := turns.space(context.Background(), "s")
				if err != nil {
					t.Error(err)
					return
				}
				changed <- tries
				done()
			}()
			<-ctx.Done()
			return ctx.Err()
		}); err != nil {
			t.Error(err)
		}
		if tries != attempts {
			t.Errorf("%d changes: %d attempts, not %d", others, tries, attempts)
		}
	}
}

// The caller may give up, and an error of the work is no reason to repeat it.
func TestYieldingEnds(t *testing.T) {
	failed, tries := errors.New("failed"), 0
	fails := func(context.Context) error { tries++; return failed }
	if err := newTurns().yielding(t.Context(), fails); !errors.Is(err, failed) || tries != 1 {
		t.Error(err, tries)
	}
	ctx, cancel := context.WithCancel(t.Context())
	turns := newTurns()
	done, err := turns.exclusive(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer done()
	cancel()
	if err := turns.yielding(ctx, fails); !errors.Is(err, context.Canceled) || tries != 1 {
		t.Error(err, tries)
	}
}

// A series of deletions ends with one second without any, or after half a minute.
func TestAwaitQuiet(t *testing.T) {
	l := New(Layers{})
	var waits []time.Duration
	l.awaitQuiet(t.Context(), func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		c := make(chan time.Time, 1)
		if len(waits) == 4 { // longest, quiet, and twice quiet again
			c <- time.Time{}
		} else if d == quiet {
			l.signalDeletion()
		}
		return c
	})
	if len(waits) != 4 || waits[0] != longestSeries || waits[3] != quiet {
		t.Error(waits)
	}
	waits = nil
	l.awaitQuiet(t.Context(), func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		c := make(chan time.Time, 1)
		if d == longestSeries {
			c <- time.Time{}
		}
		return c
	})
	if waits[0] != longestSeries {
		t.Error(waits)
	}
}
