package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/ingest"
)

func documentsCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "documents", Short: "List, show and delete documents", Args: cobra.NoArgs, RunE: help}
	cmd.AddCommand(documentsList(), documentsShow(), documentsDelete())
	return cmd
}

const timeLayout = "2006-01-02T15:04:05Z07:00"

// listing is what documents list prints.
type listing struct{ api.Documents }

func (l *listing) table(w io.Writer) error {
	p := &printer{w: w}
	for _, d := range l.Documents.Documents {
		p.line("%s  %-10s  %3d chunks  %s (%s)", d.ID, dateOf(d), d.Chunks, d.Title, d.Source)
	}
	return p.err
}

// dateOf is the day of a document, if it is known.
func dateOf(d api.Document) string {
	if d.Date.IsZero() {
		return ""
	}
	return d.Date.Format(time.DateOnly)
}

func documentsList() *cobra.Command {
	c := defaultSetup()
	var space string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the documents of a space", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(_ context.Context, s *service) error {
				all := api.Documents{Documents: []api.Document{}}
				for after := ""; ; {
					page, err := s.documents(space, 1000, after)
					if err != nil {
						return err
					}
					all.Documents = append(all.Documents, page.Documents...)
					if after = page.Next; after == "" {
						return show(cmd.OutOrStdout(), asJSON, &listing{all})
					}
				}
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space to look into")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// shown is a document with its text.
type shown struct{ api.DocumentText }

func (d *shown) table(w io.Writer) error {
	p := &printer{w: w}
	date := ""
	if !d.Date.IsZero() {
		date = d.Date.Format(timeLayout)
	}
	p.line("%s (%s) %s", d.Title, d.Source, date)
	for _, c := range d.Text {
		p.line("\n[chunk %s]\n%s", c.Chunk, c.Body)
	}
	return p.err
}

func documentsShow() *cobra.Command {
	c := defaultSetup()
	var space string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a document, cut into its chunks", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := documentID(args[0])
			if err != nil {
				return err
			}
			return withService(cmd, c, false, func(_ context.Context, s *service) error {
				d, err := s.document(space, id)
				if err != nil {
					return err
				}
				return show(cmd.OutOrStdout(), asJSON, &shown{d})
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space to look into")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func documentID(s string) (id percached.DocumentID, err error) {
	if err := id.UnmarshalText([]byte(s)); err != nil {
		return id, misuse("%q is no document: %v", s, err)
	}
	return id, nil
}

// receipt is what a person gets for what was forgotten.
type receipt struct{ api.Receipt }

func (r *receipt) table(w io.Writer) error {
	p := &printer{w: w}
	p.line("forgotten: %d documents, %d chunks, %d vectors, %d chunks of the index, %d slices (%d bytes), %d stored answers, %d questions of the history, %d summaries, %d predicted questions",
		r.Documents, r.Chunks, r.Vectors, r.Indexed, r.Slices, r.SliceBytes, r.Entries, r.History, r.Summaries, r.Predictions)
	if r.CleanedUp {
		p.line("No file of the data folder holds any of it any more.")
	}
	return p.err
}

func documentsDelete() *cobra.Command {
	c := defaultSetup()
	var space string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "delete ID...", Short: "Forget documents, and everything that rests on them", Args: cobra.MinimumNArgs(1),
		Long: `Forgets documents: their chunks, vectors, index terms, tensors, and the stored
answers and questions of the history that rest on them. The files of the data
folder are then written anew without any of it, before the command ends.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			var ids []percached.DocumentID
			for _, a := range args {
				id, err := documentID(a)
				if err != nil {
					return err
				}
				ids = append(ids, id)
			}
			return withService(cmd, c, false, func(ctx context.Context, s *service) error {
				beside, err := s.beside(c)
				if err != nil {
					return err
				}
				var got ingest.Receipt
				for _, id := range ids {
					one, err := s.deleteDocument(ctx, beside, space, id)
					got = got.Plus(one)
					if err == nil {
						continue
					}
					err = fmt.Errorf("document %s: %s", id, sentence(err))
					if got.Documents > 0 { // what went is cleaned up all the same
						err = errors.Join(err, s.forgotten(ctx, cmd, got, asJSON))
					}
					return err
				}
				return s.forgotten(ctx, cmd, got, asJSON)
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().StringVar(&space, "space", defaultSpace, "space to delete from")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// forgotten takes the bytes of what was forgotten off the disk, and gives the
// receipt.
func (s *service) forgotten(ctx context.Context, cmd *cobra.Command, r ingest.Receipt, asJSON bool) error {
	say(cmd.ErrOrStderr(), "writing the files anew without it")
	err := s.library.CleanUp(ctx, nil)
	r.CleanedUp = err == nil
	if told := show(cmd.OutOrStdout(), asJSON, &receipt{wireReceipt(r)}); err == nil {
		err = told
	}
	return err
}
