package main

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/follow"
)

// settled is how long a mailbox must have been left alone before percached believes that a
// mail vanished from it.
const settled = 2 * time.Second

// syncOnce puts the space in step with files and folders.
func (a *addRun) syncOnce(ctx context.Context, paths []string, empty bool) error {
	o, err := a.stepOptions(paths)
	if err != nil {
		return err
	}
	o.Space, o.Full, o.Empty, o.Again = &followed{add: a}, true, empty, a.again
	o.Observer = follow.Observer{
		Found:  func(bytes int64) { a.total = bytes },
		Passed: func(bytes int64) { a.done += bytes },
	}
	r, err := follow.Run(ctx, o)
	if late := o.State.Close(); err == nil {
		err = late
	}
	a.report.Deleted = &r.Deleted
	a.addFailures(stepFailures(r))
	return err
}

// stepOptions opens the state of the space. The caller closes it.
func (c *session) stepOptions(paths []string) (o follow.Options, err error) {
	o.Settle, o.Now = settled, time.Now
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return o, fault.New(fault.Invalid, "cli.sync", "%s: %w", p, err)
		}
		o.Roots = append(o.Roots, abs)
	}
	files, err := c.syncFiles()
	if err == nil {
		o.State, err = follow.OpenState(files, c.space)
	}
	return o, err
}

// syncFiles are the files with what is known of the sources of spaces.
func (c *session) syncFiles() (*home.SyncFiles, error) {
	if c.Data != "" {
		return c.SyncFiles()
	}
	dir, err := remoteState(c.Daemon)
	if err != nil {
		return nil, err
	}
	return home.OpenSyncFiles(dir, encryption.Source{})
}

// remoteState is the folder for the state of the spaces of a daemon elsewhere.
func remoteState(daemon string) (string, error) {
	parent := os.Getenv("XDG_STATE_HOME")
	if parent == "" {
		h, err := os.UserHomeDir()
		if err != nil {
			return "", fault.New(fault.Invalid, "cli.sync", "%w", err)
		}
		parent = filepath.Join(h, ".local", "state")
	}
	return filepath.Join(parent, "percached", url.PathEscape(daemon)), nil
}

// stepFailures are what a run of follow could not read.
func stepFailures(r follow.Report) (all []client.Failure) {
	for _, some := range [][]follow.Obstacle{r.Unread, r.Blocked} {
		for _, o := range some {
			all = append(all, client.Failure{Name: o.Path, Reason: reasonText(o.Err)})
		}
	}
	return all
}

// followed is the space that follows folders.
type followed struct {
	add *addRun
	// open returns the link when it is needed first; nil: it is open.
	open func(ctx context.Context) (*session, error)
}

// link opens the link.
func (f *followed) link(ctx context.Context) error {
	if f.add != nil {
		return nil
	}
	c, err := f.open(ctx)
	if err == nil {
		f.add = c.newAddRun()
	}
	return err
}

// Documents lists all documents.
func (f *followed) Documents(ctx context.Context, fn func(follow.Document)) error {
	if err := f.link(ctx); err != nil {
		return err
	}
	limit := pageSize
	for p := (client.ListDocumentsParams{Limit: &limit}); ; {
		r, err := f.add.ListDocumentsWithResponse(ctx, f.add.space, &p)
		if err != nil {
			return mayPass(err)
		}
		for _, d := range r.JSON200.Documents {
			fn(follow.Document{ID: d.ID, Key: d.Key, Title: d.Title, Path: deref(d.Path)})
		}
		if p.After = r.JSON200.Next; deref(p.After) == "" {
			return nil
		}
	}
}

// Add uploads files and waits until they are stored.
func (f *followed) Add(ctx context.Context, files []follow.File) (map[string]error, error) {
	if err := f.link(ctx); err != nil {
		return nil, err
	}
	var portion []inputFile
	for _, one := range files {
		portion = append(portion, inputFile{path: one.Path, name: cmp.Or(one.Name, one.Path), size: one.Size, from: one.From, open: one.Open})
	}
	err := f.add.sendPortion(ctx, portion)
	return f.add.unsent, mayPass(err)
}

// Delete deletes documents. Without a daemon it also removes their bytes from the disk, which
// is else idle work.
func (f *followed) Delete(ctx context.Context, ids []string) error {
	if err := f.link(ctx); err != nil {
		return err
	}
	remember := false // its file may come back
	for i, id := range ids {
		last := i == len(ids)-1
		_, err := f.add.DeleteDocumentWithResponse(ctx, f.add.space, id, &client.DeleteDocumentParams{
			CleanUp: optional(last && f.add.Daemon == ""), Remember: &remember,
		})
		if err != nil && !isMissing(err) {
			return mayPass(err)
		}
	}
	return nil
}

// mayPass gives a problem that may pass its kind, so that percached watch tries again.
func mayPass(err error) error {
	for status, kind := range map[int]fault.Kind{429: fault.Overloaded, 503: fault.Unavailable, 504: fault.Timeout} {
		if isStatus(err, status) {
			return fault.New(kind, "cli.sync", "%w", err)
		}
	}
	return err
}
