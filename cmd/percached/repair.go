package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/percached/percached/internal/daemon"

	"github.com/percached/percached/internal/node"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/knowledgebank"
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
			return repair(cmd.Context(), c, named, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	linkFlags(cmd)
	cmd.Flags().StringSliceVar(&spaces, "space", nil, "Name of a space whose record is lost; may be repeated")
	cmd.Flags().StringVar(&kind, "kind", "notes", "Kind of the spaces that --space names: emails, dialog, meetings or notes")
	return cmd
}

// repair saves what can be read, makes the spaces consistent, and lets what is
// derived from documents be built anew.
func repair(ctx context.Context, c config.Config, named []percached.Space, stdout, stderr io.Writer) (err error) {
	h, err := home.Open(c.Data)
	if err != nil {
		return err
	}
	defer func() {
		if shut := h.Close(); err == nil {
			err = shut
		}
	}()
	if err := node.CheckMeta(h); err != nil {
		return err
	}
	log := daemon.NewLog(stderr, "text", c.Serving.Level)
	saved, err := kv.Salvage(ctx, h.Path("meta"), node.MetaOptions(log))
	if err != nil {
		return err
	}
	p := &cmdline.Printer{W: stdout}
	for _, d := range saved.Lost {
		p.Line("damaged: %s: %s", d.File, d.What)
	}
	found, err := repairSpaces(h, log, named)
	if err != nil {
		return err
	}
	found.tell(p)
	if saved.Sound && !found.changed {
		p.Line("Found no damage; changed nothing.")
		return p.Err
	}
	if !saved.Sound {
		p.Line("Kept the damaged database in %s.", saved.Aside)
	}
	if err := os.RemoveAll(h.Path("index")); err != nil { // it may be newer than the documents
		return err
	}
	h.Unclean = true // open deletes answers and tensors of lost chunks
	s, err := node.Open(ctx, node.Options{Config: c, Dependencies: node.Dependencies{Folder: h}}, false, stderr)
	if err != nil {
		return err
	}
	if err := s.Close(); err != nil {
		return err
	}
	p.Line("Repaired the data folder.")
	return p.Err
}

// repaired is the result of a repair, space by space.
type repaired struct {
	spaces  []string
	of      map[string]knowledgebank.Repaired
	lost    int // documents of spaces whose names are lost
	changed bool
}

func repairSpaces(h *home.Home, log *slog.Logger, named []percached.Space) (r repaired, err error) {
	r.of = map[string]knowledgebank.Repaired{}
	db, err := kv.Open(h.Path("meta"), node.MetaOptions(log))
	if err != nil {
		return r, err
	}
	defer func() {
		if shut := db.Close(); err == nil {
			err = shut
		}
	}()
	bank, err := knowledgebank.Open(db, knowledgebank.Default())
	if err != nil {
		return r, err
	}
	all, err := bank.Spaces()
	if err != nil {
		return r, err
	}
	for _, s := range named {
		if !slices.ContainsFunc(all, func(a percached.Space) bool { return a.Name == s.Name }) {
			all = append(all, s)
		}
	}
	for _, s := range all {
		done, err := bank.Repair(s)
		if err != nil {
			return r, err
		}
		r.spaces, r.of[s.Name] = append(r.spaces, s.Name), done
		r.changed = r.changed || done.Changed
	}
	r.lost, err = bank.Lost()
	return r, err
}

func (r repaired) tell(p *cmdline.Printer) {
	if len(r.spaces) == 0 && r.lost == 0 {
		p.Line("Found no readable space or document.")
	}
	for _, name := range r.spaces {
		done := r.of[name]
		p.Line("%s: %d documents recovered, %d lost", name, done.Whole, len(done.Lost))
		nameless := 0
		for _, d := range done.Lost {
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
	if r.lost > 0 {
		p.Line("%d documents belong to spaces whose names are lost; name the spaces, for example: percached repair --space mail --kind emails", r.lost)
	}
}

func lostName(d percached.Document) string {
	if d.Path != "" && d.Path != d.Title {
		return fmt.Sprintf("%s (%s)", d.Title, d.Path)
	}
	return d.Title
}
