package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

func documentsDelete(dial dialer) *cobra.Command {
	var find string
	var yes, wait bool
	return apiCommand{
		use: "delete [PATH|TITLE|ID]...", short: "Delete documents and everything made from them",
		example: `  percached documents delete ~/notes/bike.txt
  percached documents delete "Dentist on Monday" --space mail
  percached documents delete --find newsletter --space mail
  percached documents delete 2f339dba54caf91f6e24c41e1c405272 --wait`,
		long: `Deletes documents with their chunks, vectors, index terms and tensors, and the stored
answers, predictions and questions of the history that depend on them. Name documents
by the file or folder that they were added from, by title, by ID, or find them with
--find. Unless you give IDs, percached lists what it would delete and asks. If one of
the names fits no document, none is deleted.

The documents are out of all answers at once. Then percached rewrites the files of the
data folder, so that no file holds any of it: a daemon does that within seconds, and
--wait waits for it; without a daemon the command ends when it is done.

percached remembers what you deleted: percached add leaves it out until its text changes
or you pass --again.`,
		space: oneSpaceFlag, args: cobra.ArbitraryArgs,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().StringVar(&find, "find", "", "Also delete the documents whose title or source contains this text")
			yesFlag(cmd, &yes)
			waitFlag(cmd, &wait)
		},
		complete: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault), // files
		before: func(names []string) error {
			if len(names) == 0 && find == "" {
				return cmdline.Misusef("name a file, a title or an ID, or pass --find")
			}
			for _, n := range names {
				if n == "" {
					return cmdline.Misusef("a name is empty")
				}
			}
			return nil
		},
		run: func(ctx context.Context, c *session, names []string) error {
			chosen, ask, err := c.chooseDocuments(ctx, names, find)
			if err != nil {
				return err
			}
			if ask && !yes {
				listChosen(c, chosen)
				if err := c.confirm(ctx, yes, "Delete %s and everything made from them?", countOf(len(chosen), "document")); err != nil {
					return err
				}
			}
			return c.deleteDocuments(ctx, chosen, wait)
		},
	}.command(dial)
}

// waitFlag gives a command the flag --wait.
func waitFlag(cmd *cobra.Command, wait *bool) {
	cmd.Flags().BoolVar(wait, "wait", false, "Wait until the bytes are removed from the disk")
}

// cleanUp says whether a deletion must remove the bytes before it returns. Without a daemon
// the command removes them when it ends, but JSON is printed once.
func (c *session) cleanUp(wait bool) *bool {
	clean := wait || c.json && c.Daemon == ""
	if clean {
		c.note("rewriting the files of the data folder")
	}
	return optional(clean)
}

// countOf is a number with its noun.
func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// chooseDocuments finds the documents with these names, and those with a text in title or
// source. Ask says that not all of them were named by ID.
func (c *session) chooseDocuments(ctx context.Context, names []string, find string) (chosen []client.Document, ask bool, err error) {
	var all client.Documents
	seen := map[string]bool{}
	take := func(some []client.Document) {
		for _, d := range some {
			if !seen[d.ID] {
				seen[d.ID] = true
				chosen = append(chosen, d)
			}
		}
	}
	for _, n := range names {
		if isID(n) {
			r, err := c.GetDocumentWithResponse(ctx, c.space, n)
			switch {
			case isMissing(err):
				return nil, false, err
			case err != nil: // a damaged document can be deleted
				take([]client.Document{{ID: n}})
			default:
				take([]client.Document{{ID: n, Title: r.JSON200.Title}})
			}
			continue
		}
		if ask = true; all.Documents == nil {
			if all, err = c.allDocuments(ctx, client.ListDocumentsParams{}); err != nil {
				return nil, false, err
			}
		}
		some := documentsNamed(all.Documents, n)
		if len(some) == 0 {
			return nil, false, fault.New(fault.NotFound, "cli.documents", "no document of the space %s has the path, title or ID %q; percached documents list shows all, and --find finds a part of a title", c.space, n)
		}
		take(some)
	}
	if find != "" {
		some, err := c.allDocuments(ctx, client.ListDocumentsParams{Find: &find})
		if err != nil {
			return nil, false, err
		}
		if take(some.Documents); len(chosen) == 0 {
			return nil, false, fault.New(fault.NotFound, "cli.documents", "no document of the space %s has %q in its title or source", c.space, find)
		}
		ask = true
	}
	return chosen, ask, nil
}

// documentsNamed are the documents from a file or folder. If there are none, they are those
// with a title.
func documentsNamed(all []client.Document, name string) (found []client.Document) {
	path, err := filepath.Abs(name)
	if err != nil {
		path = name
	}
	for _, d := range all {
		switch from := deref(d.Path); {
		case from == "":
		case from == name, from == path, strings.HasPrefix(from, strings.TrimSuffix(path, "/")+"/"):
			found = append(found, d)
		}
	}
	if len(found) > 0 {
		return found
	}
	for _, d := range all {
		if strings.EqualFold(d.Title, name) {
			found = append(found, d)
		}
	}
	return found
}

// listChosen prints the first documents that are to be deleted.
func listChosen(c *session, chosen []client.Document) {
	for i, d := range chosen {
		if i == maxNamed {
			c.note("and %d more", len(chosen)-i)
			return
		}
		c.note("%10s  %s  %s", dateText(d.Date), d.Title, deref(d.Path))
	}
}

// deleteDocuments deletes documents one after the other, and prints the sum of the receipts.
func (c *session) deleteDocuments(ctx context.Context, chosen []client.Document, wait bool) error {
	var sum client.Receipt
	var failed error
	progress := cmdline.Progress(c.stderr, "deleted")
	for i, d := range chosen {
		var clean *bool
		if i == len(chosen)-1 {
			progress(1)
			clean = c.cleanUp(wait)
		}
		r, err := c.DeleteDocumentWithResponse(ctx, c.space, d.ID, &client.DeleteDocumentParams{CleanUp: clean})
		if err != nil {
			failed = fmt.Errorf("document %s: %w", d.ID, err)
			break
		}
		sum = addReceipts(sum, *r.JSON200)
		if len(chosen) > maxNamed && i < len(chosen)-1 {
			progress(float64(i+1) / float64(len(chosen)))
		}
	}
	if failed != nil && sum.Documents == 0 {
		return failed
	}
	return errors.Join(failed, c.receipt(sum))
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
		p.Line("deleted: %s", receiptText(r))
		c.bytesLine(p, r.CleanedUp)
	})
}

// receiptText counts what a person knows of. JSON has all counts.
func receiptText(r client.Receipt) string {
	var parts []string
	for _, one := range []struct {
		n    int
		noun string
	}{
		{r.Documents, "document"},
		{r.Entries, "stored answer"},
		{r.History, "asked question"},
		{r.Predictions, "predicted question"},
		{r.Summaries, "summary"},
		{r.Turns, "message"},
	} {
		if one.n > 0 {
			parts = append(parts, countOf(one.n, one.noun))
		}
	}
	if r.SliceBytes > 0 {
		parts = append(parts, fmt.Sprintf("%.1f MB of tensors", float64(r.SliceBytes)/1e6))
	}
	return cmp.Or(strings.Join(parts, ", "), "no documents")
}

// bytesLine says what happens to the bytes of deleted data.
func (c *session) bytesLine(p *cmdline.Printer, gone bool) {
	switch {
	case gone:
		p.Line("No file of the data folder contains it any longer.")
	case c.Daemon != "":
		p.Line("It is out of all answers. The daemon now removes the bytes from the disk.")
	default:
		p.Line("It is out of all answers. percached now removes the bytes from the disk; if you interrupt that, the next command continues.")
	}
}
