package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// backedUp is what percached backup --json prints.
type backedUp struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	backup.Header
}

func backupCommand(dial dialer) *cobra.Command {
	var force bool
	return verb{
		use: "backup FILE", short: "Write a backup of all spaces to a file", args: cobra.ExactArgs(1),
		long: `Writes documents, stored answers, history and predictions of all spaces, uploads
that wait, prompts, and percached.conf if it is in the data folder, as they are at
one moment. A running daemon goes on working meanwhile. FILE is a gzip-compressed
tar archive for its owner alone; "-" is standard output. The archive is verified as
it is written, and FILE appears only when it is whole.

Tokens and the key that signs tensors are left out, because they are secrets.
Tensors and the index are left out, because they are made anew. A backup holds
your documents in plain text, and keeps what you delete later.`,
		example: `  percached backup ~/percached-backup.tar.gz
  percached backup - | ssh nas 'cat > percached-backup.tar.gz'`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&force, "force", false, "overwrite FILE if it exists")
		},
		before: func(args []string) error { return free(args[0], force) },
		run: func(ctx context.Context, c *invocation, args []string) error {
			if args[0] == "-" {
				_, _, err := c.backup(ctx, c.out)
				return err
			}
			header, n, err := c.backupTo(ctx, args[0], force)
			if err != nil {
				return err
			}
			return c.showAll(backedUp{args[0], n, header}, func(p *cmdline.Printer) {
				p.Line("Wrote %s: %d spaces, %d documents, %d waiting uploads, %s.", args[0], header.Spaces, header.Documents, header.Uploads, cmdline.Size(n))
			})
		},
	}.command(dial)
}

// free refuses to overwrite a file, unless that is wanted.
func free(name string, force bool) error {
	info, err := os.Lstat(name)
	switch {
	case name == "-" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.New(fault.Unavailable, "cli.backup", "cannot write %s: %w", name, errors.Unwrap(err))
	case info.IsDir():
		return cmdline.Misusef("%s is a folder: name a file in it", name)
	case info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0:
		return cmdline.Misusef("%s is no file: name another, or use - for standard output", name)
	case force:
		return nil
	}
	return fault.New(fault.Conflict, "cli.backup", "%s exists; name another file, or pass --force to overwrite it", name)
}

// backup writes a backup, and verifies it as it passes.
func (c *invocation) backup(ctx context.Context, to io.Writer) (h backup.Header, n int64, err error) {
	resp, err := c.Link.Backup(ctx)
	if err != nil {
		return h, 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	out := &counted{to: bufio.NewWriterSize(to, 1<<20)}
	if h, err = backup.Verify(io.TeeReader(resp.Body, out)); err == nil {
		err = out.to.Flush()
	}
	if out.err != nil { // not what came, but where it goes
		err = out.err
	}
	return h, out.n, err
}

// counted counts what is written, and keeps the error.
type counted struct {
	to  *bufio.Writer
	n   int64
	err error
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

// backupTo writes a backup to a file, which is there whole or not at all. Until it is
// whole it has a name that nothing else has, not even another backup to the same file.
func (c *invocation) backupTo(ctx context.Context, name string, force bool) (h backup.Header, n int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.part") // for its owner alone
	if err != nil {
		return h, 0, unwritable(name, err)
	}
	defer func() {
		if err != nil {
			f.Close()           //nolint:errcheck // it goes
			os.Remove(f.Name()) //nolint:errcheck // what failed is known
		}
	}()
	if h, n, err = c.backup(ctx, f); err != nil {
		return h, n, err
	}
	if err = errors.Join(f.Sync(), f.Close()); err != nil {
		return h, n, unwritable(name, err)
	}
	if err = free(name, force); err != nil { // it may have come meanwhile
		return h, n, err
	}
	if err = os.Rename(f.Name(), name); err == nil {
		err = durable.Folder(filepath.Dir(name))
	}
	return h, n, unwritable(name, err)
}

func unwritable(name string, err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fault.New(fault.Unavailable, "cli.backup", "cannot write %s: %w", name, err)
}
