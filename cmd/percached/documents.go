package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func documentsCommand(dial dialer) *cobra.Command {
	return group("documents", "List, show and delete documents", "", documentsList(dial), documentsShow(dial), documentsDelete(dial))
}

// pageSize is the number of items in a page of a list.
const pageSize = 1000

func documentsList(dial dialer) *cobra.Command {
	var find, source, format, since, until string
	return apiCommand{
		use: "list", short: "List the documents of a space",
		example: `  percached documents list --space mail
  percached documents list --find dentist
  percached documents list --source nolde --format mail --since 2025-02-01 --until 2025-02-28`, space: oneSpaceFlag,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&find, "find", "", "Only documents whose title or source contains this text")
			cmd.Flags().StringVar(&source, "source", "", "Only documents whose source, such as the sender of a mail, contains this text")
			cmd.Flags().StringVar(&format, "format", "", "Only documents of this format, such as mail")
			cmd.Flags().StringVar(&since, "since", "", "Only documents dated on this day or later")
			cmd.Flags().StringVar(&until, "until", "", "Only documents dated on this day or earlier")
		},
		before: func([]string) error {
			if find != "" && strings.TrimSpace(find) == "" {
				return cmdline.Misusef("--find: the text is blank; leave out --find to list all documents")
			}
			return nil
		},
		run: func(ctx context.Context, c *session, _ []string) error {
			all := client.Documents{Documents: []client.Document{}}
			limit := pageSize
			for p := (client.ListDocumentsParams{
				Limit: &limit, Find: optional(find), Source: optional(source), Format: optional(format), Since: optional(since), Until: optional(until),
			}); ; {
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
			return c.printJSON(all, func(p *cmdline.Printer) {
				for _, d := range all.Documents {
					p.Line("%s  %-10s  %3d chunks  %s (%s)", d.ID, dateText(d.Date), d.Chunks, d.Title, d.Source)
				}
			})
		},
	}.command(dial)
}

func documentsShow(dial dialer) *cobra.Command {
	return apiCommand{
		use: "show ID", short: "Show a document with its chunks",
		example: `  percached documents show 2f339dba54caf91f6e24c41e1c405272`, args: cobra.ExactArgs(1), space: oneSpaceFlag, before: checkDocumentIDs,
		run: func(ctx context.Context, c *session, args []string) error {
			r, err := c.GetDocumentWithResponse(ctx, c.space, args[0])
			if err != nil {
				return err
			}
			d := r.JSON200
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				date := ""
				if d.Date != nil {
					date = timeText(*d.Date)
				}
				p.Line("%s (%s) %s", d.Title, d.Source, date)
				for _, t := range d.Text {
					p.Line("\n[chunk %s]\n%s", t.Chunk, t.Body)
				}
			})
		},
	}.command(dial)
}

// checkDocumentIDs checks the form of document IDs.
func checkDocumentIDs(names []string) error {
	for _, n := range names {
		if !isID(n) {
			return cmdline.Misusef("%q is not a document ID: 32 hexadecimal digits, as percached documents list prints them", n)
		}
	}
	return nil
}

// isMissing says that the error is a 404.
func isMissing(err error) bool { return isStatus(err, http.StatusNotFound) }

func isStatus(err error, status int) bool {
	e, ok := errors.AsType[*client.ProblemError](err)
	return ok && e.Problem.Status == status
}

// isID says that a text has the form of the ID of a document, chunk or stored answer.
func isID(s string) bool { return len(s) == 32 && isHex(s) }

// isJob says that a text has the form of a job ID.
func isJob(s string) bool { return len(s) == 16 && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

func documentsDelete(dial dialer) *cobra.Command {
	return apiCommand{
		use: "delete ID...", short: "Delete documents and everything made from them",
		example: `  percached documents delete 2f339dba54caf91f6e24c41e1c405272 --space mail`,
		long: `Deletes documents with their chunks, vectors, index terms and tensors, and the stored
answers, predictions and questions of the history that depend on them. Then percached
rewrites the files of the data folder, so that no file holds any of it. If one of the
documents does not exist, none is deleted.`,
		args: cobra.MinimumNArgs(1), space: oneSpaceFlag, before: checkDocumentIDs,
		run: func(ctx context.Context, c *session, ids []string) error {
			slices.Sort(ids)
			ids = slices.Compact(ids) // the second deletion of an ID would fail
			for _, id := range ids {  // delete all, or none
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
					c.note("rewriting the files of the data folder")
				}
				r, err := c.DeleteDocumentWithResponse(ctx, c.space, id, &client.DeleteDocumentParams{CleanUp: optional(last)})
				if err != nil {
					failed = fmt.Errorf("document %s: %w", id, err)
					break
				}
				sum = addReceipts(sum, *r.JSON200)
			}
			if failed != nil && sum.Documents == 0 {
				return failed
			}
			return errors.Join(failed, c.receipt(sum))
		},
	}.command(dial)
}

// addReceipts adds two receipts. The last deletion cleans up, so b says whether it did.
func addReceipts(a, b client.Receipt) client.Receipt {
	b.Documents, b.Chunks, b.Vectors, b.Indexed = a.Documents+b.Documents, a.Chunks+b.Chunks, a.Vectors+b.Vectors, a.Indexed+b.Indexed
	b.Slices, b.SliceBytes, b.Entries, b.History = a.Slices+b.Slices, a.SliceBytes+b.SliceBytes, a.Entries+b.Entries, a.History+b.History
	b.Summaries, b.Predictions, b.Turns = a.Summaries+b.Summaries, a.Predictions+b.Predictions, a.Turns+b.Turns
	return b
}

// receipt prints what was deleted.
func (c *session) receipt(r client.Receipt) error {
	return c.printJSON(r, func(p *cmdline.Printer) {
		p.Line("deleted: %d documents, %d chunks, %d vectors, %d indexed chunks, %d slices (%d bytes), %d stored answers, %d questions of the history, %d summaries, %d predicted questions, %d turns of conversations",
			r.Documents, r.Chunks, r.Vectors, r.Indexed, r.Slices, r.SliceBytes, r.Entries, r.History, r.Summaries, r.Predictions, r.Turns)
		if r.CleanedUp {
			p.Line("No file of the data folder contains it any longer.")
		}
	})
}
