package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
)

func documentsCommand(dial dialer) *cobra.Command {
	return group("documents", "List, show and delete documents", "", documentsList(dial), documentsShow(dial), documentsDelete(dial))
}

// pageSize is how many of a list are asked for at a time.
const pageSize = 1000

func documentsList(dial dialer) *cobra.Command {
	var find string
	return verb{
		use: "list", short: "List the documents of a space",
		example: `  percached documents list --space mail
  percached documents list --find dentist`, space: oneSpace,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&find, "find", "", "only those whose title or source holds this text")
		},
		run: func(ctx context.Context, c *invocation, _ []string) error {
			all := client.Documents{Documents: []client.Document{}}
			limit := pageSize
			for p := (client.ListDocumentsParams{Limit: &limit, Find: optional(find)}); ; {
				r, err := c.ListDocumentsWithResponse(ctx, c.space, &p)
				if err != nil {
					return err
				}
				all.Total = r.JSON200.Total
				all.Documents = append(all.Documents, r.JSON200.Documents...)
				if p.After = r.JSON200.Next; deref(p.After) == "" {
					break
				}
			}
			return c.showAll(all, func(p *cmdline.Printer) {
				for _, d := range all.Documents {
					p.Line("%s  %-10s  %3d chunks  %s (%s)", d.ID, day(d.Date), d.Chunks, d.Title, d.Source)
				}
			})
		},
	}.command(dial)
}

func documentsShow(dial dialer) *cobra.Command {
	return verb{
		use: "show ID", short: "Show a document, cut into its chunks",
		example: `  percached documents show 2f339dba54caf91f6e24c41e1c405272`, args: cobra.ExactArgs(1), space: oneSpace, before: areDocuments,
		run: func(ctx context.Context, c *invocation, args []string) error {
			r, err := c.GetDocumentWithResponse(ctx, c.space, args[0])
			if err != nil {
				return err
			}
			d := r.JSON200
			return c.show(r.Body, func(p *cmdline.Printer) {
				date := ""
				if d.Date != nil {
					date = d.Date.Format(TimeLayout)
				}
				p.Line("%s (%s) %s", d.Title, d.Source, date)
				for _, t := range d.Text {
					p.Line("\n[chunk %s]\n%s", t.Chunk, t.Body)
				}
			})
		},
	}.command(dial)
}

// areDocuments checks names of documents.
func areDocuments(names []string) error {
	for _, n := range names {
		if !isID(n) {
			return cmdline.Misusef("%q is no document: its ID has 32 hexadecimal digits, as documents list tells it", n)
		}
	}
	return nil
}

// isMissing says whether something is not there.
func isMissing(err error) bool { return isStatus(err, http.StatusNotFound) }

func isStatus(err error, status int) bool {
	e, ok := errors.AsType[*client.ProblemError](err)
	return ok && e.Problem.Status == status
}

// isID says whether a name is one that documents, chunks and stored answers have.
func isID(s string) bool { return len(s) == 32 && isHex(s) }

// isJob says whether a name is one that jobs have.
func isJob(s string) bool { return len(s) == 16 && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func documentsDelete(dial dialer) *cobra.Command {
	return verb{
		use: "delete ID...", short: "Forget documents, and everything that rests on them",
		example: `  percached documents delete 2f339dba54caf91f6e24c41e1c405272 --space mail`,
		long: `Forgets documents: their chunks, vectors, index terms, tensors, and the stored
answers and questions of the history that rest on them. The files of the data
folder are then written anew without any of it, before the command ends.`,
		args: cobra.MinimumNArgs(1), space: oneSpace, before: areDocuments,
		run: func(ctx context.Context, c *invocation, ids []string) error {
			slices.Sort(ids)
			ids = slices.Compact(ids) // one that is named twice is gone at the second time
			for _, id := range ids {  // all of them, or none
				_, err := c.GetDocumentWithResponse(ctx, c.space, id)
				if isMissing(err) {
					return err
				}
			}
			var sum client.Receipt
			var failed error
			for i, id := range ids {
				last := i == len(ids)-1
				if last {
					c.say("writing the files anew without it")
				}
				r, err := c.DeleteDocumentWithResponse(ctx, c.space, id, &client.DeleteDocumentParams{CleanUp: optional(last)})
				if err != nil {
					failed = fmt.Errorf("document %s: %w", id, err)
					break
				}
				sum = plus(sum, *r.JSON200)
			}
			if failed != nil && sum.Documents == 0 {
				return failed
			}
			return errors.Join(failed, c.receipt(sum))
		},
	}.command(dial)
}

// plus is both receipts in one; the bytes left with the last.
func plus(a, b client.Receipt) client.Receipt {
	b.Documents, b.Chunks, b.Vectors, b.Indexed = a.Documents+b.Documents, a.Chunks+b.Chunks, a.Vectors+b.Vectors, a.Indexed+b.Indexed
	b.Slices, b.SliceBytes, b.Entries, b.History = a.Slices+b.Slices, a.SliceBytes+b.SliceBytes, a.Entries+b.Entries, a.History+b.History
	b.Summaries, b.Predictions = a.Summaries+b.Summaries, a.Predictions+b.Predictions
	return b
}

// receipt tells what was forgotten.
func (c *invocation) receipt(r client.Receipt) error {
	return c.showAll(r, func(p *cmdline.Printer) {
		p.Line("forgotten: %d documents, %d chunks, %d vectors, %d chunks of the index, %d slices (%d bytes), %d stored answers, %d questions of the history, %d summaries, %d predicted questions",
			r.Documents, r.Chunks, r.Vectors, r.Indexed, r.Slices, r.SliceBytes, r.Entries, r.History, r.Summaries, r.Predictions)
		if r.CleanedUp {
			p.Line("No file of the data folder holds any of it any more.")
		}
	})
}
