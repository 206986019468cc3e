package account

import (
	"context"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/follow"
)

// Times of a Watch.
type Times struct {
	// Poll is how often the folders are compared if the server reports no change, and Quiet
	// how long a change may take.
	Poll, Quiet time.Duration
	// Retry is the first wait after an error that may pass; it doubles up to Poll.
	Retry time.Duration
}

// DefaultTimes are for ordinary use.
func DefaultTimes() Times {
	return Times{Poll: 5 * time.Minute, Quiet: time.Second, Retry: time.Second}
}

// Watch connects to an account and calls pass now, after each change in the first folder, and
// at least every t.Poll. After an error that may pass it calls waiting once, and connects
// again. It returns nil when ctx ends.
func Watch(ctx context.Context, s Source, password func() (string, error), t Times, pass func(context.Context, *Account) error, waiting func(error)) error {
	retry, told := t.Retry, false
	for {
		err := connected(ctx, s, password, t, func(ctx context.Context, a *Account) error {
			err := pass(ctx, a)
			if err == nil {
				retry, told = t.Retry, false
			}
			return err
		})
		switch {
		case ctx.Err() != nil:
			return nil
		case !follow.MayPass(err):
			return fault.Wrap("account.Watch", err)
		}
		if !told {
			waiting(err)
			told = true
		}
		if !follow.Sleep(ctx, retry) {
			return nil
		}
		retry = min(2*retry, t.Poll)
	}
}

// connected calls pass again and again over one connection, until an error.
func connected(ctx context.Context, s Source, password func() (string, error), t Times, pass func(context.Context, *Account) error) error {
	secret, err := password()
	if err != nil {
		return err
	}
	a, err := Dial(ctx, s, secret)
	if err != nil {
		return err
	}
	defer a.Close()
	for {
		if err := pass(ctx, a); err != nil {
			return err
		}
		if err := a.Wait(ctx, s.Folders[0], t.Poll, t.Quiet); err != nil {
			return err
		}
	}
}
