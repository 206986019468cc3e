package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/knowledgebank/reader"
)

const (
	maxNamed = 20 // failures that are printed
	// Files are uploaded in portions, so that finished portions stay and progress shows.
	portionFiles = 500
	portionBytes = 64 << 20
)

func addCommand(dial dialer) *cobra.Command {
	var kind, name string
	var sync, empty, again bool
	return apiCommand{
		use: "add PATH...", short: "Add documents: files, mailboxes, folders",
		long: `Adds files and folders to a space: mails with their attachments (.eml, .mbox,
maildir folders), documents (.docx, .odt, .rtf, PDF), spreadsheets (.xlsx, .ods),
presentations (.pptx, .odp), e-books (.epub), transcripts (WebVTT, SRT), plain
text, Markdown, HTML and JSON lines. Any of these may be compressed with gzip or
zip. percached reads folders recursively and skips hidden files and links in them;
to add one of those, name it. "-" reads one file from standard input.

Adding the same document twice has no effect. A changed document replaces its old
version and keeps the chunks that did not change. If percached cannot read a file,
it prints the file and the reason, adds the rest, and exits with status 1.

With --sync the space holds what the folders hold: percached also deletes the documents
of files that vanished, and of mails that vanished from a mailbox. It does not read
files again that did not change. The documents of a file or folder that cannot be read,
that is empty or that is not mounted stay. Use percached watch to follow folders all
the time.

percached leaves out documents that you deleted (percached documents delete), even if
you name their file, until their text changes; --again adds them.`,
		example: `  percached add ~/Mail/inbox.mbox --space mail
  percached add notes/ meeting.vtt
  percached add - --name notes.md
  percached add --sync ~/Maildir --space mail`,
		args: cobra.MinimumNArgs(1), keys: documentKeys(), need: need{Folder: true}, space: oneSpaceFlag,
		complete: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // files
		flags: func(cmd *cobra.Command) {
			kindFlag(cmd, &kind, "", "Kind of documents in a new space (default: emails)")
			cmd.Flags().StringVar(&name, "name", "", "Name of the file on standard input, by which it is replaced later")
			cmd.Flags().BoolVar(&sync, "sync", false, "Also delete the documents of files in PATH that vanished")
			cmd.Flags().BoolVar(&empty, "empty", false, "With --sync: delete the documents of a PATH that is empty or missing, too")
			cmd.Flags().BoolVar(&again, "again", false, "Add documents that you deleted before")
		},
		before: func(paths []string) error {
			if slices.Contains(paths, "") {
				return cmdline.Misusef("PATH is empty")
			}
			if empty && !sync {
				return cmdline.Misusef("--empty has an effect with --sync only")
			}
			if sync && slices.Contains(paths, inputPath) {
				return cmdline.Misusef("--sync takes files and folders, not standard input")
			}
			return checkInput(paths, name)
		},
		run: func(ctx context.Context, c *session, paths []string) error {
			if sync { // a wrong key changes nothing
				if _, err := c.syncFiles(); err != nil {
					return err
				}
			}
			if err := c.makeSpace(ctx, client.SpaceKind(kind)); err != nil {
				return err
			}
			a := c.newAddRun()
			a.name, a.again = name, again
			send := a.sendAll
			if sync {
				send = func(ctx context.Context, paths []string) error { return a.syncOnce(ctx, paths, empty) }
			}
			err := send(ctx, paths)
			a.progress(1)
			switch {
			case ctx.Err() != nil && a.documents() > 0:
				c.note("stored at least %d documents; run the same command again to continue", a.documents())
			case err != nil && a.documents() > 0:
				c.note("stored at least %d documents; run the same command again to continue", a.documents())
			case err != nil: // nothing is known to be stored
			default:
				return a.printReport()
			}
			return err
		},
	}.command(dial)
}

// makeSpace creates the space if it does not exist. If a kind is given, an existing space
// must be of that kind.
func (c *session) makeSpace(ctx context.Context, kind client.SpaceKind) error {
	r, err := c.GetSpaceWithResponse(ctx, c.space)
	if isMissing(err) {
		made, late := c.CreateSpaceWithResponse(ctx, client.NewSpace{Name: c.space, Kind: optional(kind)})
		switch {
		case late == nil && c.space != link.DefaultSpace:
			c.note("created the space %s for %s", c.space, made.JSON201.Kind)
			return nil
		case !isStatus(late, http.StatusConflict):
			return late
		}
		r, err = c.GetSpaceWithResponse(ctx, c.space) // created in the meantime
	}
	if err == nil && kind != "" && r.JSON200.Kind != kind {
		return fault.New(fault.Conflict, "cli.add", "the space %q exists and holds %s; leave out --kind or name another space", c.space, r.JSON200.Kind)
	}
	return err
}

// addReport is what percached add --json prints.
type addReport struct {
	Added     int  `json:"added"`
	Unchanged int  `json:"unchanged"`
	Replaced  int  `json:"replaced"`
	Failed    int  `json:"failed"`
	Chunks    int  `json:"chunks"`
	Deleted   *int `json:"deleted,omitempty"` // with --sync
	// DeletedBefore counts documents that were left out, because the user deleted them.
	DeletedBefore int              `json:"deleted_before"`
	Failures      []client.Failure `json:"failures"`
	LeftOut       []client.Failure `json:"left_out"`
	Seconds       float64          `json:"seconds"`
}

// addRun is one run of percached add.
type addRun struct {
	*session
	name        string // of standard input
	again       bool   // also what the user deleted
	began       time.Time
	progress    func(of1 float64)
	total, done int64 // bytes
	unsent      map[string]error
	report      addReport
}

func (c *session) newAddRun() *addRun {
	a := &addRun{session: c, began: time.Now(), progress: cmdline.Progress(c.stderr, "added"), unsent: map[string]error{}}
	a.report.Failures, a.report.LeftOut = []client.Failure{}, []client.Failure{}
	return a
}

func (a *addRun) documents() int { return a.report.Added + a.report.Unchanged + a.report.Replaced }

// sendAll uploads the files portion by portion.
func (a *addRun) sendAll(ctx context.Context, paths []string) error {
	if slices.Contains(paths, inputPath) {
		// It can be read only once, so it shares no request with other files.
		if err := a.sendPortion(ctx, []inputFile{{name: a.name, in: a.in}}); err != nil {
			return err
		}
		if paths = slices.DeleteFunc(slices.Clone(paths), func(p string) bool { return p == inputPath }); len(paths) == 0 {
			return nil
		}
	}
	all := a.files(paths)
	if len(all) == 0 && a.report.Failed == 0 {
		a.note("found no file to add")
	}
	for len(all) > 0 {
		var bytes int64
		n := 0
		for n < len(all) && n < portionFiles && (n == 0 || bytes+all[n].size <= portionBytes) {
			bytes += all[n].size
			n++
		}
		if err := a.sendPortion(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// inputFile is a file to upload.
type inputFile struct {
	path string
	name string // to upload it under
	size int64
	from int64                         // where the part to upload begins
	in   io.Reader                     // of standard input; nil: the file at path
	open func() (io.ReadCloser, error) // nil: the file at path
}

// inputPath stands for standard input.
const inputPath = "-"

// checkInput reports a wrong use of standard input.
func checkInput(paths []string, name string) error {
	n := 0
	for _, p := range paths {
		if p == inputPath {
			n++
		}
	}
	switch {
	case n > 1:
		return cmdline.Misusef("- stands for standard input and can be given once")
	case n == 1 && name == "":
		return cmdline.Misusef("standard input needs a name: add --name notes.md")
	case n == 0 && name != "":
		return cmdline.Misusef("--name is for standard input: give - as a PATH")
	}
	return nil
}

// files finds all files, each once, and records those that it cannot open.
func (a *addRun) files(paths []string) (all []inputFile) {
	seen := map[string]bool{}
	for _, p := range paths {
		abs, err := filepath.Abs(p)
		if err == nil {
			err = reader.Walk(abs, reader.Visitor{File: func(path string, info fs.FileInfo) {
				if !seen[path] {
					seen[path] = true
					all = append(all, inputFile{path: path, name: path, size: info.Size()})
					a.total += info.Size()
				}
			}, Failed: a.addFailure})
		}
		if err != nil {
			a.addFailure(p, err)
		}
	}
	return all
}

// addFailure records a file that this process could not read.
func (a *addRun) addFailure(path string, err error) {
	a.addFailures([]client.Failure{{Name: path, Reason: reasonText(err)}})
}

// addUnsent records files that could not be opened.
func (a *addRun) addUnsent(files []client.Failure) {
	a.addFailures(files)
	for _, f := range files {
		a.unsent[f.Name] = errors.New(f.Reason)
	}
}

// addFailures records files that this process could not read.
func (a *addRun) addFailures(files []client.Failure) {
	a.report.Failed += len(files)
	a.report.Failures = append(a.report.Failures, files...)
}

// reasonText is the short text of an error of the file system or the interface.
func reasonText(err error) string {
	if p, ok := errors.AsType[*client.ProblemError](err); ok {
		if len(p.Problem.Errors) > 0 {
			return p.Problem.Errors[0].Detail
		}
		return p.Sentence()
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fault.Sentence(err)
}

// sendPortion uploads some files and waits until they are stored. If the upload is refused,
// or fails for good, it sends the two halves separately, so that one bad file does not keep
// out the others.
func (a *addRun) sendPortion(ctx context.Context, files []inputFile) error {
	sent, err := a.send(ctx, files)
	if err == nil && sent != nil {
		err = a.awaitUpload(ctx, sent, len(files))
	}
	switch {
	case badFile(err) && len(files) > 1:
		half := len(files) / 2
		if err := a.sendPortion(ctx, files[:half]); err != nil {
			return err
		}
		return a.sendPortion(ctx, files[half:])
	case badFile(err):
		a.addFailure(files[0].name, err)
		if errors.As(err, new(readError)) {
			a.unsent[files[0].name] = err
		}
	case err != nil:
		return err
	}
	for _, f := range files {
		a.done += f.size
	}
	a.progress(float64(a.done) / float64(max(a.total, 1)))
	return nil
}

// awaitUpload waits until an upload ends, and adds its counts to the report.
func (a *addRun) awaitUpload(ctx context.Context, sent *client.UploadStatus, files int) error {
	up, err := a.follow(ctx, sent)
	failed := err == nil && up.State == client.UploadStateFailed
	if failed && deref(up.Error) == inbox.InternalError { // the next run sends the files again
		return fault.New(fault.Unavailable, "cli.add", "%s", *up.Error)
	}
	if failed && files > 1 { // they are sent again, and what is stored is unchanged then
		r := &a.report
		r.Added, r.Replaced, r.Chunks = r.Added+up.Added, r.Replaced+up.Replaced, r.Chunks+up.Chunks
		r.Unchanged -= up.Added + up.Replaced
		return uploadFailed{errors.New(deref(up.Error))}
	}
	switch {
	case ctx.Err() != nil:
		up = a.cancel(ctx, up)
	case isMissing(err): // the deletion of a document also deletes reports, which may name it
		err = fault.New(fault.Unavailable, "cli.add", "the report of the upload was deleted, or the upload was cancelled; run the same command again")
	case fault.KindOf(err) == fault.Unavailable:
		err = fault.New(fault.Unavailable, "cli.add", "the daemon stopped responding; the uploaded files are stored and will be added when it runs again")
	}
	r := &a.report
	r.Added, r.Unchanged, r.Replaced = r.Added+up.Added, r.Unchanged+up.Unchanged, r.Replaced+up.Replaced
	r.Failed, r.DeletedBefore, r.Chunks = r.Failed+up.Failed, r.DeletedBefore+up.DeletedBefore, r.Chunks+up.Chunks
	r.Failures, r.LeftOut = append(r.Failures, up.Failures...), append(r.LeftOut, up.LeftOut...)
	if failed {
		err = uploadFailed{errors.New(deref(up.Error))}
	}
	return err
}

// cancel stops an upload.
func (a *addRun) cancel(ctx context.Context, up *client.UploadStatus) *client.UploadStatus {
	const patience = 10 * time.Second
	ctx, enough := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer enough()
	if _, err := a.CancelUploadWithResponse(ctx, a.space, up.ID); err != nil {
		a.note("could not cancel the upload, which continues: %s", reasonText(err))
	}
	return up
}

// printReport prints the failures and the counts.
func (a *addRun) printReport() error {
	a.listFailures("not read", a.report.Failures, a.report.Failed)
	a.listFailures("left out", a.report.LeftOut, len(a.report.LeftOut))
	r := &a.report
	r.Seconds = time.Since(a.began).Seconds()
	err := a.printJSON(r, func(p *cmdline.Printer) {
		deleted := ""
		if r.Deleted != nil {
			deleted = fmt.Sprintf("%d deleted, ", *r.Deleted)
		}
		p.Line("%d added, %d unchanged, %d replaced, %s%d failed; %d new chunks in %.1f s", r.Added, r.Unchanged, r.Replaced, deleted, r.Failed, r.Chunks, r.Seconds)
		if r.DeletedBefore > 0 {
			p.Line("%s left out because you deleted them; --again adds them.", countOf(r.DeletedBefore, "document"))
		}
	})
	if err == nil && r.Failed > 0 {
		err = cmdline.Unwell{}
	}
	return err
}

// listFailures prints the first maxNamed failures.
func (a *addRun) listFailures(what string, some []client.Failure, all int) {
	for i, f := range some {
		if i == maxNamed {
			a.note("and %d more; --json lists all", all-i)
			return
		}
		a.note("%s: %s: %s", what, f.Name, f.Reason)
	}
}
