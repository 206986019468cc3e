package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
)

const (
	defaultSpace = "default"
	maxNamed     = 20 // failures
)

func addCommand() *cobra.Command {
	c := defaultSetup()
	c.create = true
	var space, kind string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add PATH...",
		Short: "Take in documents: files, mailboxes, folders",
		Long: `Reads files and folders into a space: plain text, Markdown, HTML, mails (.eml,
.mbox, maildir folders), transcripts (WebVTT, SRT), PDF and JSON lines; any of
them may be packed with gzip. Folders are read with all below them.

Adding the same thing twice does nothing. A document that has changed replaces
its former self and keeps the chunks that are the same. What cannot be read is
named with the reason, and the rest is taken in; the exit status is then 1.`,
		Example: `  percached add ~/Mail/inbox.mbox --space mail
  percached add notes/ meeting.vtt`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, paths []string) error {
			if slices.Contains(paths, "") {
				return misuse("a path is empty")
			}
			return withService(cmd, c, false, func(ctx context.Context, s *service) error {
				if err := s.space(space, kind, cmd.Flags().Changed("kind")); err != nil {
					return err
				}
				a := &addition{service: s, space: space, stderr: cmd.ErrOrStderr()}
				report, err := a.add(ctx, paths)
				if err != nil {
					return err
				}
				if err := show(cmd.OutOrStdout(), asJSON, report); err != nil {
					return err
				}
				if report.Failed > 0 {
					return errUnwell
				}
				return nil
			})
		},
	}
	c.dataFlag(cmd)
	c.documentFlags(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space to add to; it is made if there is none")
	cmd.Flags().StringVar(&kind, "kind", "emails", "what a new space holds: emails, dialog, meetings, notes")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// withService opens a service around a command.
func withService(cmd *cobra.Command, c setup, withEngine bool, run func(context.Context, *service) error) error {
	s, err := openService(cmd.Context(), c, withEngine, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	err = run(cmd.Context(), s)
	if shut := s.close(); err == nil {
		err = shut
	}
	return err
}

// addition is one add under way.
type addition struct {
	*service
	space  string
	stderr io.Writer
	total  int64
	read   atomic.Int64 // bytes; the reader is ahead of the rest
	said   time.Time
}

// added is the report of an add.
type added struct {
	ingest.Report
	Seconds float64 `json:"seconds"`
}

func (a *addition) add(ctx context.Context, paths []string) (*added, error) {
	began := time.Now()
	a.said = began
	o := reader.Default()
	o.Progress = func(_ string, n int64) { a.read.Add(n) }
	rd, err := reader.New(o)
	if err != nil {
		return nil, err
	}
	refused := make([]error, len(paths)) // that cannot be opened
	for i, p := range paths {
		if paths[i], err = filepath.Abs(p); err != nil {
			return nil, err
		}
		var n int64
		_, n, refused[i] = rd.Count(paths[i])
		a.total += n
	}
	report, err := a.library.Add(ctx, a.space, func(ctx context.Context, emit func(*knowledgebank.Source) error, failed func(string, error)) error {
		for i, p := range paths {
			if refused[i] != nil {
				failed(p, refused[i])
			} else if err := rd.Path(ctx, p, emit, failed); err != nil {
				return err
			}
		}
		return nil
	}, a.progress)
	if ctx.Err() != nil {
		say(a.stderr, "%d documents are in and stay; the same command goes on from there", report.Documents())
	}
	a.name("not read", report.Failures, report.Failed)
	a.name("left out", report.LeftOut, report.Notes)
	return &added{report, time.Since(began).Seconds()}, err
}

// name tells the first of so many failures of a kind.
func (a *addition) name(what string, some []ingest.Failure, all int) {
	for i, f := range some {
		if i == maxNamed {
			say(a.stderr, "and %d more; --json names all", all-i)
			return
		}
		say(a.stderr, "%s: %s: %s", what, f.Name, f.Reason)
	}
}

// progress says how far it is, now and then.
func (a *addition) progress(r ingest.Report) {
	if now := time.Now(); now.Sub(a.said) > time.Second {
		a.said = now
		say(a.stderr, "%d documents, %d new chunks, %d %%", r.Documents(), r.Chunks, 100*a.read.Load()/max(a.total, 1))
	}
}

func (r *added) table(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d added, %d unchanged, %d replaced, %d failed; %d new chunks in %.1f s\n",
		r.Added, r.Unchanged, r.Replaced, r.Failed, r.Chunks, r.Seconds)
	return err
}
