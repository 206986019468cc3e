package main

import (
	"context"
	"errors"
	"net/http"
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
			all, err := c.allDocuments(ctx, client.ListDocumentsParams{
				Find: optional(find), Source: optional(source), Format: optional(format), Since: optional(since), Until: optional(until),
			})
			if err != nil {
				return err
			}
			return c.printJSON(all, func(p *cmdline.Printer) {
				for _, d := range all.Documents {
					p.Line("%s  %-10s  %3d chunks  %s (%s)", d.ID, dateText(d.Date), d.Chunks, d.Title, d.Source)
				}
			})
		},
	}.command(dial)
}

// allDocuments lists the documents of the space that a filter lets through.
func (c *session) allDocuments(ctx context.Context, p client.ListDocumentsParams) (client.Documents, error) {
	all := client.Documents{Documents: []client.Document{}}
	limit := pageSize
	for p.Limit = &limit; ; {
		r, err := c.ListDocumentsWithResponse(ctx, c.space, &p)
		if err != nil {
			return all, err
		}
		all.Total = r.JSON200.Total
		all.Documents = append(all.Documents, r.JSON200.Documents...)
		if p.After = r.JSON200.Next; deref(p.After) == "" {
			return all, nil
		}
	}
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
