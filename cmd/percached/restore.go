package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api"
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/remotebackup"
)

func restoreCommand() *cobra.Command {
	var force, asJSON bool
	var remote remoteRestore
	cmd := &cobra.Command{
		Use: "restore FILE", Short: "Replace all spaces with a backup", Args: cobra.ExactArgs(1),
		Long: `Replaces all spaces with a backup that percached backup wrote to FILE ("-" for standard
input). percached verifies the whole file before it replaces anything, so a damaged
backup changes nothing. If the command or the machine stops during the restore, the
data folder holds either the old or the restored data, never a mixture.

A running daemon finishes the requests in progress, refuses others meanwhile, and then
serves the restored data. To restore a data folder that is damaged, stop the daemon
first.

Instead of FILE you can name a place in object storage, where a daemon with backup-to
makes backups: s3://BUCKET/PREFIX?endpoint=https://HOST. percached restores the newest
backup, or the newest that is not after --at. Stop the daemon first.

Tokens and an existing percached.conf stay. percached rebuilds tensors and the index.
Documents that you deleted after the backup reappear; delete them again.`,
		Example: `  percached restore backup.tar.gz
  percached restore backup.tar.gz --data /srv/percached --force
  percached restore s3://backups/home --list
  percached restore s3://backups/home --at "2026-11-25 18:00" --data /srv/percached`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			conf, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			if remotebackup.IsPlace(args[0]) {
				remote.force, remote.json = force, asJSON
				return remote.run(cmd, conf.Now(), args[0])
			}
			if remote.at != "" || remote.list {
				return cmdline.Misusef("--at and --list need a place in object storage, such as s3://BUCKET/PREFIX")
			}
			from, err := openBackup(args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			defer from.Close() //nolint:errcheck // nothing was written
			out, err := restore(cmd, conf.Now(), readUntilDone(cmd.Context(), from), force)
			if _, restored := errors.AsType[*unrecorded](err); err != nil && !restored {
				return err
			}
			return cmp.Or(printRestored(cmd, out, asJSON), err)
		},
	}
	linkFlags(cmd, "backup-key-file")
	cmd.Flags().StringVar(&remote.at, "at", "", `Moment to restore from object storage, such as "2026-11-25 18:00" or 2026-11-25T17:00:00Z (default: the newest)`)
	cmd.Flags().BoolVar(&remote.list, "list", false, "List the moments that can be restored from object storage, and restore nothing")
	cmd.Flags().BoolVar(&force, "force", false, "Replace existing spaces and waiting uploads")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print the JSON of the HTTP interface")
	return cmd
}

func printRestored(cmd *cobra.Command, out api.Restored, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
	}
	p := &cmdline.Printer{W: cmd.OutOrStdout()}
	p.Line("Restored the backup of %s: %s.", out.Made.Local().Format("2006-01-02 15:04"), node.Contents{Spaces: out.Spaces, Documents: out.Documents, Uploads: out.Uploads})
	return p.Err
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

// readUntilDone reads from until ctx ends. A pipe may block for long.
func readUntilDone(ctx context.Context, from io.Reader) io.Reader {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, from)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
	return r
}

// restore sends the backup to the daemon, or restores it itself if none is running.
func restore(cmd *cobra.Command, c config.Config, from io.Reader, force bool) (api.Restored, error) {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	l, err := runningDaemon(cmd, c.Data)
	if err != nil {
		return api.Restored{}, err
	}
	if l == nil {
		return auditedRestore(c, func() (node.Restored, error) {
			return node.Restore(ctx, c, from, force, daemon.NewLog(stderr, "text", c.Serving.Level), stderr)
		})
	}
	defer l.Close() //nolint:errcheck // the request ended
	sent := cmdline.Waiting(stderr, "restoring the backup")
	archive, kind := bufio.NewReader(from), "application/gzip"
	if backup.IsSealed(archive) {
		kind = "application/octet-stream"
	}
	got, err := l.RestoreWithBodyWithResponse(ctx, &client.RestoreParams{Force: &force}, kind, archive)
	sent()
	if commands.Misused(err) { // a damaged backup is not wrong usage
		err = fault.New(fault.Invalid, "percached: restore", "%s", cmdline.Sentence(err))
	}
	if err != nil {
		return api.Restored{}, err
	}
	if err := awaitReady(ctx, l, stderr); err != nil {
		return api.Restored{}, node.NotUsable(err)
	}
	r := got.JSON200
	return api.Restored{Made: r.Made, Spaces: r.Spaces, Documents: r.Documents, Uploads: r.Uploads}, nil
}

// auditedRestore restores without a daemon, and records it.
func auditedRestore(c config.Config, restore func() (node.Restored, error)) (out api.Restored, err error) {
	err = auditedIn(c, "restore", func() (audit.Record, error) {
		got, err := restore()
		out = api.Restored(got)
		return audit.Record{Counts: audit.Counts{"spaces": int64(got.Spaces), "documents": int64(got.Documents), "uploads": int64(got.Uploads)}}, err
	})
	return out, err
}

// awaitReady waits until the daemon serves the restored data. The daemon may drop the
// connections that it accepted before, so it tries three times.
func awaitReady(ctx context.Context, l *link.Link, stderr io.Writer) (err error) {
	for range 3 {
		if err = l.Ready(ctx, stderr); fault.KindOf(err) != fault.Unavailable {
			break
		}
	}
	return err
}
