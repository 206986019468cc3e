package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/daemon"

	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api"
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
)

func restoreCommand() *cobra.Command {
	var force, asJSON bool
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Replace everything in all spaces by a backup", Args: cobra.ExactArgs(1),
		Long: `Replaces everything in all spaces by what percached backup wrote to FILE ("-" for
standard input). The whole file is verified before anything is replaced: a damaged
one changes nothing. If the command or the machine stops in between, the data folder
holds either what it held or what was restored, never a mixture.

If a daemon is running, it lets requests that are under way end, takes no others, and
goes on with the restored data. A data folder that cannot be opened because it is
damaged can be restored, too: stop the daemon first.

Tokens and an existing percached.conf stay. Tensors and the index are made anew.
A backup holds what was deleted after it was made: delete it again.`,
		Example: `  percached restore backup.tar.gz
  percached restore backup.tar.gz --data /srv/percached --force`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			conf, _, err := configOf(cmd)
			if err != nil {
				return err
			}
			from, err := openBackup(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			defer from.Close() //nolint:errcheck // nothing was written
			out, err := restore(cmd.Context(), conf.Now(), untilDone(cmd.Context(), from), force, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
			}
			p := &cmdline.Printer{W: cmd.OutOrStdout()}
			p.Line("Restored the backup of %s: %s.", out.Made.Local().Format("2006-01-02 15:04"), node.Contents{Spaces: out.Spaces, Documents: out.Documents, Uploads: out.Uploads})
			return p.Err
		},
	}
	linkFlags(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "replace spaces and waiting uploads that are there")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, as the HTTP interface gives it")
	return cmd
}

// openBackup opens a file, or standard input.
func openBackup(name string, stdin io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(stdin), nil
	}
	f, err := os.Open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "percached: restore", "there is no file %s", name)
	case err != nil:
		return nil, fault.New(fault.Unavailable, "percached: restore", "cannot open %s: %w", name, errors.Unwrap(err))
	}
	return f, nil
}

// untilDone reads what from gives, until ctx ends: a pipe may give nothing for long.
func untilDone(ctx context.Context, from io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	return r
}

// restore has the daemon restore a backup, or does so itself where none runs.
func restore(ctx context.Context, c config.Config, from io.Reader, force bool, stderr io.Writer) (api.Restored, error) {
	l, err := link.Running(c.Data)
	if err != nil {
		return api.Restored{}, err
	}
	if l == nil {
		out, err := restoreHere(ctx, c, from, force, stderr)
		return api.Restored(out), err
	}
	defer l.Close() //nolint:errcheck // all was said
	got, err := l.RestoreWithBodyWithResponse(ctx, &client.RestoreParams{Force: &force}, "application/gzip", from)
	if commands.Misused(err) { // a damaged backup is not a wrong call
		err = fault.New(fault.Invalid, "percached: restore", "%s", cmdline.Sentence(err))
	}
	if err != nil {
		return api.Restored{}, err
	}
	if err := readyAgain(ctx, l, stderr); err != nil {
		return api.Restored{}, unserved(err)
	}
	r := got.JSON200
	return api.Restored{Made: r.Made, Spaces: r.Spaces, Documents: r.Documents, Uploads: r.Uploads}, nil
}

// readyAgain waits until a daemon serves what it restored. It drops the connections
// that it accepted when it began to.
func readyAgain(ctx context.Context, l *link.Link, stderr io.Writer) (err error) {
	for range 3 {
		if err = l.Ready(ctx, stderr); fault.KindOf(err) != fault.Unavailable {
			break
		}
	}
	return err
}

// restoreHere restores a backup in a data folder that nobody uses; it is made if
// there is none.
func restoreHere(ctx context.Context, c config.Config, from io.Reader, force bool, stderr io.Writer) (out node.Restored, err error) {
	h, err := home.Open(c.Data)
	if err != nil {
		return out, err
	}
	defer func() {
		if shut := h.Close(); err == nil {
			err = shut
		}
	}()
	log := daemon.NewLog(stderr, "text", c.Serving.Level)
	out, err = node.StageRestore(ctx, h, log, from, func(b backup.Header) error {
		if force {
			return nil
		}
		there, err := node.ContentsIn(h, node.MetaOptions(log))
		if err != nil {
			return fault.New(fault.Conflict, "percached: restore", "what %s holds cannot be read (%s); to replace it, restore with force", c.Data, cmdline.Sentence(err))
		}
		return node.CheckReplace(c.Data, there, b, false)
	})
	if err == nil {
		err = h.CommitRestore()
	}
	if err == nil {
		err = h.EndRestore()
	}
	if err != nil {
		return out, err
	}
	// What is derived is made anew, and the folder is known to open.
	s, err := node.Open(ctx, node.Options{Config: c, Parts: node.Parts{Folder: h, Log: log}}, false, stderr)
	if err != nil {
		return out, unserved(err)
	}
	return out, s.Close()
}

// unserved is why what was restored cannot be used yet.
func unserved(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New(fault.KindOf(err), "percached: restore", "the backup is restored, but cannot be used yet: %s", cmdline.Sentence(err))
}
