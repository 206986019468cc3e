package account

import (
	"context"
	"sync"
	"time"

	"github.com/emersion/go-imap/v2"

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

// maxListening is how many folders are listened to, each over a connection of its own. Servers
// limit the connections of a user.
const maxListening = 4

// Watch connects to an account and calls pass now, after each change in one of the first
// folders that the server reports, and at least every t.Poll. After an error that may pass it calls waiting once, and connects
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
	ctx, end := context.WithCancel(ctx)
	var listeners sync.WaitGroup
	defer listeners.Wait()
	defer end()
	if a.client.Caps().Has(imap.CapIdle) {
		a.elsewhere = make(chan struct{}, 1)
		for _, folder := range s.Folders[1:min(len(s.Folders), maxListening)] {
			listeners.Go(func() { a.listen(ctx, s, secret, folder, t) })
		}
	}
	for {
		if err := pass(ctx, a); err != nil {
			return err
		}
		if err := a.Wait(ctx, s.Folders[0], t.Poll, t.Quiet); err != nil {
			return err
		}
	}
}

// listen ends Wait of a whenever another folder changes. If its own connection fails, the folder
// is compared every t.Poll only, until another connection succeeds.
func (a *Account) listen(ctx context.Context, s Source, password, folder string, t Times) {
	for {
		_ = hearChanges(ctx, s, password, folder, t, func() { // a lost network is an error of a, too
			select {
			case a.elsewhere <- struct{}{}:
			default:
			}
		})
		if !follow.Sleep(ctx, t.Poll) {
			return
		}
	}
}

// hearChanges connects and calls changed now, and after each change in a folder, until an error.
func hearChanges(ctx context.Context, s Source, password, folder string, t Times, changed func()) error {
	a, err := Dial(ctx, s, password)
	if err != nil {
		return err
	}
	defer a.Close()
	for {
		now, err := a.examine(folder)
		if err != nil {
			return err
		}
		if now != a.seen[folder] {
			a.seen[folder] = now // before the call: what changes from here on ends Wait
			changed()
		}
		if err := a.Wait(ctx, folder, t.Poll, t.Quiet); err != nil {
			return err
		}
	}
}
