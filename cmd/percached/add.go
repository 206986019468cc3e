package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/link"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank/reader"
)

const (
	maxNamed = 20 // failures that a person is told
	// Files go in portions: what is in is in, and who adds sees how far it is.
	portionFiles = 500
	portionBytes = 64 << 20
)

func addCommand(dial dialer) *cobra.Command {
	var kind string
	return verb{
		use: "add PATH...", short: "Take in documents: files, mailboxes, folders",
		long: `Reads files and folders into a space: plain text, Markdown, HTML, mails (.eml,
.mbox, maildir folders), transcripts (WebVTT, SRT), PDF and JSON lines; any of
them may be packed with gzip. Folders are read with all below them but hidden files
and links; name these to take them in.

Adding the same thing twice does nothing. A document that has changed replaces
its former self and keeps the chunks that are the same. What cannot be read is
named with the reason, and the rest is taken in; the exit status is then 1.`,
		example: `  percached add ~/Mail/inbox.mbox --space mail
  percached add notes/ meeting.vtt`,
		args: cobra.MinimumNArgs(1), keys: documentKeys(), need: need{Folder: true}, space: oneSpace,
		complete: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // files
		flags: func(cmd *cobra.Command) {
			kindFlag(cmd, &kind, "", "what a new space holds (default: emails)")
		},
		before: func(paths []string) error {
			if slices.Contains(paths, "") {
				return cmdline.Misusef("a path is empty")
			}
			return nil
		},
		run: func(ctx context.Context, c *invocation, paths []string) error {
			if err := c.makeSpace(ctx, client.SpaceKind(kind)); err != nil {
				return err
			}
			a := &addition{invocation: c, began: time.Now(), tell: cmdline.Progress(c.stderr, "added")}
			a.report.Failures, a.report.LeftOut = []client.Failure{}, []client.Failure{}
			err := a.add(ctx, paths)
			a.tell(1)
			switch {
			case ctx.Err() != nil:
				c.say("at least %d documents are in and stay; the same command goes on from there", a.documents())
			case err != nil:
				c.say("at least %d documents are in and stay", a.documents())
			default:
				return a.end()
			}
			return err
		},
	}.command(dial)
}

// makeSpace makes the space if there is none. One that is there must be of the
// kind, if one is asked for.
func (c *invocation) makeSpace(ctx context.Context, kind client.SpaceKind) error {
	r, err := c.GetSpaceWithResponse(ctx, c.space)
	if isMissing(err) {
		made, late := c.CreateSpaceWithResponse(ctx, client.NewSpace{Name: c.space, Kind: optional(kind)})
		switch {
		case late == nil && c.space != link.DefaultSpace:
			c.say("the space %s is new, for %s", c.space, made.JSON201.Kind)
			return nil
		case !isStatus(late, http.StatusConflict):
			return late
		}
		r, err = c.GetSpaceWithResponse(ctx, c.space) // another made it just now
	}
	if err == nil && kind != "" && r.JSON200.Kind != kind {
		return fault.New(fault.Conflict, "cli.add", "space %q is there, and of the kind %s", c.space, r.JSON200.Kind)
	}
	return err
}

// added is the report of an add, for programs.
type added struct {
	Added     int              `json:"added"`
	Unchanged int              `json:"unchanged"`
	Replaced  int              `json:"replaced"`
	Failed    int              `json:"failed"`
	Chunks    int              `json:"chunks"`
	Failures  []client.Failure `json:"failures"`
	LeftOut   []client.Failure `json:"left_out"`
	Seconds   float64          `json:"seconds"`
}

// addition is one add under way.
type addition struct {
	*invocation
	began       time.Time
	tell        func(of1 float64)
	total, done int64 // bytes
	report      added
}

func (a *addition) documents() int { return a.report.Added + a.report.Unchanged + a.report.Replaced }

// add sends the files portion by portion.
func (a *addition) add(ctx context.Context, paths []string) error {
	all := a.files(paths)
	if len(all) == 0 && a.report.Failed == 0 {
		a.say("there is no file to read")
	}
	for len(all) > 0 {
		var bytes int64
		n := 0
		for n < len(all) && n < portionFiles && (n == 0 || bytes+all[n].size <= portionBytes) {
			bytes += all[n].size
			n++
		}
		if err := a.portion(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// found is a file to send.
type found struct {
	path string
	size int64
}

// files finds all files, each once, and notes what cannot be opened.
func (a *addition) files(paths []string) (all []found) {
	seen := map[string]bool{}
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err == nil {
			err = reader.Files(abs, func(path string, size int64) {
				if !seen[path] {
					seen[path] = true
					all = append(all, found{path, size})
					a.total += size
				}
			}, a.failed)
		}
		if err != nil {
			a.failed(p, err)
		}
	}
	return all
}

// failed notes a file that was not read here.
func (a *addition) failed(path string, err error) {
	a.missed([]client.Failure{{Name: path, Reason: reason(err)}})
}

// missed notes files that were not read here.
func (a *addition) missed(files []client.Failure) {
	a.report.Failed += len(files)
	a.report.Failures = append(a.report.Failures, files...)
}

// reason is an error of the file system or of the interface in a few words.
func reason(err error) string {
	if p, ok := errors.AsType[*client.ProblemError](err); ok {
		if len(p.Problem.Errors) > 0 {
			return p.Problem.Errors[0].Detail
		}
		return cmp.Or(deref(p.Problem.Detail), p.Problem.Title)
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	for {
		f, ok := err.(*fault.Error)
		if !ok {
			return err.Error()
		}
		err = f.Err
	}
}

// portion sends some files, and waits until they are in. What is not accepted as a
// whole is sent in halves, so that a file spoils nothing but itself.
func (a *addition) portion(ctx context.Context, files []found) error {
	sent, err := a.send(ctx, files)
	switch {
	case spoilt(err) && len(files) > 1:
		half := len(files) / 2
		if err := a.portion(ctx, files[:half]); err != nil {
			return err
		}
		return a.portion(ctx, files[half:])
	case spoilt(err):
		a.failed(files[0].path, err)
	case err != nil:
		return err
	case sent != nil:
		if err := a.takenIn(ctx, sent); err != nil {
			return err
		}
	}
	for _, f := range files {
		a.done += f.size
	}
	a.tell(float64(a.done) / float64(max(a.total, 1)))
	return nil
}

// takenIn waits until an upload is in, and counts what came of it.
func (a *addition) takenIn(ctx context.Context, sent *client.UploadStatus) error {
	up, err := a.follow(ctx, sent)
	switch {
	case ctx.Err() != nil:
		up = a.cancel(ctx, up)
	case fault.KindOf(err) == fault.Unavailable:
		err = fault.New(fault.Unavailable, "cli.add", "percached does not answer any more. What was sent is on the disk: it is taken in when percached runs again")
	}
	r := &a.report
	r.Added, r.Unchanged, r.Replaced = r.Added+up.Added, r.Unchanged+up.Unchanged, r.Replaced+up.Replaced
	r.Failed, r.Chunks = r.Failed+up.Failed, r.Chunks+up.Chunks
	r.Failures, r.LeftOut = append(r.Failures, up.Failures...), append(r.LeftOut, up.LeftOut...)
	if err == nil && up.State == client.UploadStateFailed {
		err = fault.New(fault.Unavailable, "cli.add", "%s", deref(up.Error))
	}
	return err
}

// cancel stops what was sent, and gives how it stood then.
func (a *addition) cancel(ctx context.Context, up *client.UploadStatus) *client.UploadStatus {
	const patience = 10 * time.Second // of somebody who wants to go
	ctx, enough := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer enough()
	if _, err := a.CancelUploadWithResponse(ctx, a.space, up.ID); err != nil {
		a.say("what was sent goes on being taken in: %s", reason(err))
	}
	return up
}

// end tells what came of it.
func (a *addition) end() error {
	a.name("not read", a.report.Failures, a.report.Failed)
	a.name("left out", a.report.LeftOut, len(a.report.LeftOut))
	r := &a.report
	r.Seconds = time.Since(a.began).Seconds()
	err := a.showAll(r, func(p *cmdline.Printer) {
		p.Line("%d added, %d unchanged, %d replaced, %d failed; %d new chunks in %.1f s", r.Added, r.Unchanged, r.Replaced, r.Failed, r.Chunks, r.Seconds)
	})
	if err == nil && r.Failed > 0 {
		err = cmdline.Unwell{}
	}
	return err
}

// name tells the first of so many failures of a kind.
func (a *addition) name(what string, some []client.Failure, all int) {
	for i, f := range some {
		if i == maxNamed {
			a.say("and %d more; --json names all", all-i)
			return
		}
		a.say("%s: %s: %s", what, f.Name, f.Reason)
	}
}
