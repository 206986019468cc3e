package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
)

// backupReport is what percached backup --json prints.
type backupReport struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	backup.Header
}

func backupCommand(dial dialer) *cobra.Command {
	var force bool
	var out func() io.Writer
	return apiCommand{
		use: "backup FILE", short: "Write a backup of all spaces to a file", args: cobra.ExactArgs(1),
		long: `Writes a consistent snapshot of all spaces to FILE: documents, stored answers,
history, predictions, waiting uploads, prompts, and percached.conf if it is in the
data folder. A running daemon keeps working. FILE is a gzip-compressed tar archive
that only its owner can read; "-" is standard output. percached verifies the archive
while it writes it, and creates FILE only when it is complete.

A backup has no tokens and no signing key, because they are secrets. It has no
tensors and no index, because percached can rebuild them. It contains your documents
in plain text, unless the data folder is encrypted, and keeps documents that you
delete later.`,
		example: `  percached backup ~/percached-backup.tar.gz
  percached backup - | ssh nas 'cat > percached-backup.tar.gz'`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().BoolVar(&force, "force", false, "Overwrite FILE if it exists")
			out = cmd.OutOrStdout
		},
		before: func(args []string) error {
			if args[0] == "-" && cmdline.Terminal(out()) {
				return cmdline.Misusef("a backup is not text and would garble the terminal; name a file, or redirect it: percached backup - > FILE")
			}
			return checkTarget(args[0], force)
		},
		run: func(ctx context.Context, c *session, args []string) error {
			if args[0] == "-" {
				_, _, err := c.copyArchive(ctx, backupOf(c.Link), c.out)
				return err
			}
			header, n, err := c.archiveTo(ctx, backupOf(c.Link), args[0], force)
			if err != nil {
				return err
			}
			return c.printJSON(backupReport{args[0], n, header}, func(p *cmdline.Printer) {
				p.Line("Wrote %s: %d spaces, %d documents, %d waiting uploads, %s.", args[0], header.Spaces, header.Documents, header.Uploads, cmdline.Size(n))
			})
		},
	}.command(dial)
}

// checkTarget refuses to overwrite an existing file without force.
func checkTarget(name string, force bool) error {
	info, err := os.Lstat(name)
	switch {
	case name == "-" || errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fault.New(fault.Unavailable, "cli.backup", "cannot write %s: %w", name, errors.Unwrap(err))
	case info.IsDir():
		return cmdline.Misusef("%s is a folder; name a file in it", name)
	case info.Mode()&(fs.ModeDevice|fs.ModeNamedPipe|fs.ModeSocket) != 0:
		return cmdline.Misusef("%s is not a regular file; name another, or use - for standard output", name)
	case force:
		return nil
	}
	return fault.New(fault.Conflict, "cli.backup", "%s exists; name another file, or pass --force to overwrite it", name)
}

// archiveSource requests an archive.
type archiveSource struct {
	doing string // shown meanwhile
	open  func(ctx context.Context) (io.ReadCloser, error)
}

// backupOf requests a backup.
func backupOf(l *link.Link) archiveSource {
	return archiveSource{"writing the backup", func(ctx context.Context) (io.ReadCloser, error) {
		resp, err := l.Backup(ctx)
		if err != nil {
			return nil, err
		}
		return resp.Body, nil
	}}
}

// copyArchive copies an archive to a writer, and verifies it.
func (c *session) copyArchive(ctx context.Context, from archiveSource, to io.Writer) (h backup.Header, n int64, err error) {
	defer cmdline.Waiting(c.stderr, from.doing)()
	body, err := from.open(ctx)
	if err != nil {
		return h, 0, err
	}
	defer body.Close() //nolint:errcheck // it was read
	out := &countingWriter{w: bufio.NewWriterSize(to, 1<<20)}
	if h, err = backup.Verify(io.TeeReader(body, out)); err == nil {
		err = out.w.Flush()
	}
	if out.err != nil { // the write failed, not the archive
		err = out.err
	}
	return h, out.n, err
}

// countingWriter counts the bytes written, and keeps the error.
type countingWriter struct {
	w   *bufio.Writer
	n   int64
	err error
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.err = err
	return n, err
}

// archiveTo writes an archive to a file. The file gets its name only when it is complete;
// until then its name is unique, even if two commands write the same file.
func (c *session) archiveTo(ctx context.Context, from archiveSource, name string, force bool) (h backup.Header, n int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.part") // only its owner can read it
	if err != nil {
		return h, 0, writeError(name, err)
	}
	defer func() {
		if err != nil {
			f.Close()           //nolint:errcheck // the file is removed
			os.Remove(f.Name()) //nolint:errcheck // the first error counts
		}
	}()
	if h, n, err = c.copyArchive(ctx, from, f); err != nil {
		return h, n, err
	}
	if err = errors.Join(f.Sync(), f.Close()); err != nil {
		return h, n, writeError(name, err)
	}
	if err = checkTarget(name, force); err != nil { // it may exist by now
		return h, n, err
	}
	if err = os.Rename(f.Name(), name); err == nil {
		err = durable.Folder(filepath.Dir(name))
	}
	return h, n, writeError(name, err)
}

func writeError(name string, err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return fault.New(fault.Unavailable, "cli.backup", "cannot write %s: %w", name, err)
}
