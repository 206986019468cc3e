package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/node"
)

func repairCommand() *cobra.Command {
	var spaces []string
	var kind string
	cmd := &cobra.Command{
		Use: "repair", Short: "Recover the readable part of a damaged data folder", Args: cobra.NoArgs,
		Long: `Recovers the readable part of a damaged data folder, and lists the lost documents. If
you have a backup, restore it instead: percached restore FILE --force. Stop the daemon
first.

percached keeps the damaged database as meta.damaged; delete it when you no longer need
it. A document that you deleted shortly before the damage may reappear, so check the
list of documents.`,
		Example: `  percached repair
  percached repair --space mail --kind emails`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			c := conf.Now()
			if !home.Exists(c.Data) {
				return noFolder(c.Data)
			}
			named := make([]percached.Space, 0, len(spaces))
			for _, name := range spaces {
				named = append(named, percached.Space{Name: name, Kind: kind})
			}
			stderr := cmd.ErrOrStderr()
			var r node.Repaired
			err = auditedIn(c, "repair", func() (_ audit.Record, err error) {
				r, err = node.Repair(cmd.Context(), c, named, daemon.NewLog(stderr, "text", c.Serving.Level), stderr)
				return audit.Record{}, err
			})
			p := &cmdline.Printer{W: cmd.OutOrStdout()}
			if err == nil || len(r.Spaces) > 0 {
				printRepaired(p, r)
			}
			if err != nil {
				return err
			}
			if r.Changed {
				p.Line("Repaired the data folder.")
			}
			return p.Err
		},
	}
	linkFlags(cmd)
	cmd.Flags().StringSliceVar(&spaces, "space", nil, "Name of a space whose record is lost; may be repeated")
	cmd.Flags().StringVar(&kind, "kind", "notes", "Kind of the spaces that --space names: emails, dialog, meetings or notes")
	return cmd
}

// printRepaired prints the result of a repair.
func printRepaired(p *cmdline.Printer, r node.Repaired) {
	for _, d := range r.Damage {
		p.Line("damaged: %s: %s", d.File, d.What)
	}
	if len(r.Spaces) == 0 && r.Lost == 0 {
		p.Line("Found no readable space or document.")
	}
	for _, s := range r.Spaces {
		p.Line("%s: %d documents recovered, %d lost", s.Name, s.Whole, len(s.Lost))
		nameless := 0
		for _, d := range s.Lost {
			if d.Title == "" && d.Key == "" {
				nameless++
				continue
			}
			p.Line("  lost: %s", lostName(d))
		}
		if nameless > 0 {
			p.Line("  lost: %d documents without a readable title", nameless)
		}
	}
	if r.Lost > 0 {
		p.Line("%d documents belong to spaces whose names are lost; name the spaces, for example: percached repair --space mail --kind emails", r.Lost)
	}
	switch {
	case !r.Changed:
		p.Line("Found no damage; changed nothing.")
	case r.Aside != "":
		p.Line("Kept the damaged database in %s.", r.Aside)
	}
}

func lostName(d percached.Document) string {
	if d.Path != "" && d.Path != d.Title {
		return fmt.Sprintf("%s (%s)", d.Title, d.Path)
	}
	return d.Title
}
