package account

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/emersion/go-imap/v2/imapclient"

	"github.com/percached/percached/internal/base/fault"
)

// batch is how many mails a command asks for.
const batch = 500

// examine opens a folder for reading only.
func (a *Account) examine(folder string) (b box, err error) {
	err = a.do(func() error {
		data, err := a.client.Select(folder, &imap.SelectOptions{ReadOnly: true}).Wait()
		if err == nil {
			b = box{data.UIDValidity, data.UIDNext, data.NumMessages}
		}
		return err
	})
	return b, err
}

// Count says how many mails a folder has.
func (a *Account) Count(folder string) (int, error) {
	b, err := a.examine(folder)
	if _, refused := errors.AsType[*imap.Error](err); refused {
		return 0, a.noFolder(folder, err)
	}
	return int(b.mails), err
}

// noFolder is the error for a folder that cannot be opened. It names those that can.
func (a *Account) noFolder(folder string, refused error) error {
	const named = 30
	var names []string
	err := a.do(func() error {
		all, err := a.client.List("", "*", nil).Collect()
		for _, l := range all {
			if !slices.Contains(l.Attrs, imap.MailboxAttrNoSelect) && !slices.Contains(l.Attrs, imap.MailboxAttrNonExistent) {
				names = append(names, l.Mailbox)
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(names)
	if len(names) > named {
		names = append(names[:named], fmt.Sprintf("and %d more", len(names)-named))
	}
	return fault.New(fault.NotFound, "account.Count", "cannot open the folder %q (%s); the account has %s", folder, reasonOf(refused), strings.Join(names, ", "))
}

// reasonOf is the server's text of a refusal.
func reasonOf(err error) string {
	if refused, ok := errors.AsType[*imap.Error](err); ok && refused.Text != "" {
		return refused.Text
	}
	return "no reason given"
}

// uids are the mails of the open folder, without those marked as deleted, in order.
func (a *Account) uids() (all []imap.UID, err error) {
	err = a.do(func() error {
		found, err := a.client.UIDSearch(&imap.SearchCriteria{NotFlag: []imap.Flag{imap.FlagDeleted}}, nil).Wait()
		if err == nil {
			all = found.AllUIDs()
		}
		return err
	})
	slices.Sort(all)
	return slices.Compact(all), err
}

// heading is what is asked of each new mail before it is fetched.
type heading struct {
	uid    imap.UID
	size   int64
	header []byte // the line with the Message-ID
}

// headings calls fn with the headings of mails in the open folder.
func (a *Account) headings(uids []imap.UID, fn func(heading)) error {
	const maxHeader = 64 << 10
	section := &imap.FetchItemBodySection{Specifier: imap.PartSpecifierHeader, HeaderFields: []string{"Message-ID"}, Peek: true}
	for some := range slices.Chunk(uids, batch) {
		err := a.fetch(some, &imap.FetchOptions{RFC822Size: true, BodySection: []*imap.FetchItemBodySection{section}}, func(m *imapclient.FetchMessageData) error {
			var h heading
			for item := m.Next(); item != nil; item = m.Next() {
				switch item := item.(type) {
				case imapclient.FetchItemDataUID:
					h.uid = item.UID
				case imapclient.FetchItemDataRFC822Size:
					h.size = item.Size
				case imapclient.FetchItemDataBodySection:
					if item.Literal != nil {
						h.header, _ = io.ReadAll(io.LimitReader(item.Literal, maxHeader)) // a lost connection ends the command
					}
				}
			}
			if h.uid != 0 {
				fn(h)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// bodies calls fn with the text of mails in the open folder. It leaves out those that vanished
// meanwhile. Mails that the server refuses to return go to refused.
func (a *Account) bodies(uids []imap.UID, fn func(uid imap.UID, mail io.Reader) error, refused func(imap.UID, error)) error {
	whole := &imap.FetchItemBodySection{Peek: true}
	left := slices.Clone(uids)
	err := a.fetch(uids, &imap.FetchOptions{BodySection: []*imap.FetchItemBodySection{whole}}, func(m *imapclient.FetchMessageData) error {
		var uid imap.UID
		for item := m.Next(); item != nil; item = m.Next() {
			switch item := item.(type) {
			case imapclient.FetchItemDataUID:
				uid = item.UID
			case imapclient.FetchItemDataBodySection:
				at := slices.Index(left, uid)
				if at < 0 || item.Literal == nil {
					continue
				}
				if err := fn(uid, &exact{item.Literal, item.Literal.Size()}); err != nil {
					return err
				}
				left = slices.Delete(left, at, at+1)
			}
		}
		return nil
	})
	no, isRefusal := errors.AsType[*imap.Error](err)
	switch {
	case !isRefusal || len(left) == 0:
		return err
	case len(left) == 1:
		refused(left[0], fault.New(fault.Unavailable, "account.bodies", "the server does not return it: %s", reasonOf(no)))
		return nil
	}
	for _, half := range [][]imap.UID{left[:len(left)/2], left[len(left)/2:]} {
		if err := a.bodies(half, fn, refused); err != nil {
			return err
		}
	}
	return nil
}

// exact is a literal, whose end before its announced size is an error.
type exact struct {
	in   io.Reader
	left int64
}

func (e *exact) Read(p []byte) (int, error) {
	n, err := e.in.Read(p)
	if e.left -= int64(n); err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// fetch calls fn with each mail that a FETCH command returns. After an error of fn it reads
// the rest and passes it over.
func (a *Account) fetch(uids []imap.UID, o *imap.FetchOptions, fn func(*imapclient.FetchMessageData) error) error {
	return a.do(func() error {
		command := a.client.Fetch(imap.UIDSetNum(uids...), o)
		var failed error
		for m := command.Next(); m != nil; m = command.Next() {
			if failed == nil {
				failed = fn(m)
			}
		}
		if err := command.Close(); failed == nil || err != nil && !errors.As(failed, new(*fault.Error)) {
			return err
		}
		return failed
	})
}

// Wait returns when a folder has changed since it was compared, or one that another connection
// listens to, and at the latest after longest. A change is given the time quiet, so that many mails are one change.
func (a *Account) Wait(ctx context.Context, folder string, longest, quiet time.Duration) error {
	select {
	case <-a.changed:
	default:
	}
	now, err := a.examine(folder)
	if err == nil && now != a.seen[folder] {
		return nil
	}
	if _, refused := errors.AsType[*imap.Error](err); err != nil && !refused {
		return err
	}
	idles := err == nil && a.client.Caps().Has(imap.CapIdle)
	var idle *imapclient.IdleCommand
	if idles {
		if err := a.do(func() (err error) { idle, err = a.client.Idle(); return err }); err != nil {
			return err
		}
	}
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case <-a.changed:
		timer.Reset(quiet)
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	case <-a.elsewhere:
	case <-timer.C:
	case <-a.client.Closed():
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return a.do(func() error {
		if !idles {
			return a.client.Noop().Wait()
		}
		if err := idle.Close(); err != nil {
			return err
		}
		return idle.Wait()
	})
}
