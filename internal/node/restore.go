package node

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/knowledgebank"
)

// Restored counts what a restore brought back.
type Restored struct {
	Made      time.Time
	Spaces    int
	Documents int
	Uploads   int
}

// Restore restores a backup in a data folder that is not in use, and creates a
// missing one.
func Restore(ctx context.Context, c config.Config, from io.Reader, force bool, log *slog.Logger, stderr io.Writer) (out Restored, err error) {
	return restore(ctx, c, force, log, stderr, func(h *home.Home, allow func(backup.Header) error) (Restored, error) {
		return StageRestore(ctx, h, log, from, allow)
	})
}

// restore restores what stage unpacks.
func restore(ctx context.Context, c config.Config, force bool, log *slog.Logger, stderr io.Writer, stage func(h *home.Home, allow func(backup.Header) error) (Restored, error)) (out Restored, err error) {
	made := !home.Exists(c.Data)
	h, err := home.Open(c.Data, c.KeySource())
	if err != nil {
		return out, err
	}
	defer func() {
		end := h.Close
		if made && err != nil { // refused: leave nothing behind
			end = h.Discard
		}
		if shut := end(); err == nil {
			err = shut
		}
	}()
	out, err = stage(h, func(b backup.Header) error {
		if force {
			return nil
		}
		there, err := CountFolder(h, MetaOptions(h, log))
		if err != nil {
			return fault.New(fault.Conflict, "percached: restore", "cannot read the contents of %s (%s); pass --force to replace them", c.Data, cmdline.Sentence(err))
		}
		return CheckReplace(c.Data, there, b, false)
	})
	if err == nil {
		made = false // from here on it may hold data
		err = h.CommitRestore()
	}
	if err == nil {
		err = h.EndRestore()
	}
	if err != nil {
		return out, err
	}
	// Opening the folder rebuilds derived data, and proves that it can be opened.
	n, err := Open(ctx, Options{Config: c, Dependencies: Dependencies{Folder: h, Log: log}}, false, stderr)
	if err != nil {
		return out, NotUsable(err)
	}
	return out, n.Close()
}

// NotUsable is the error of a restore whose data cannot be served yet.
func NotUsable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fault.New(fault.KindOf(err), "percached: restore", "restored the backup, but cannot open it: %s", cmdline.Sentence(err))
}

// stagedRestore is a backup that is unpacked beside the data that it will replace.
type stagedRestore struct {
	home *home.Home
	log  *slog.Logger
	bulk *kv.Bulk
	out  Restored

	keyFile []byte // of the last archive, and its key, which takes a while to open
	key     *encryption.Key
}

// keyOf opens the key file of an archive.
func (s *stagedRestore) keyOf(file []byte) (*encryption.Key, error) {
	if s.key != nil && bytes.Equal(file, s.keyFile) {
		return s.key, nil
	}
	key, err := s.home.KeyOf(file)
	s.key, s.keyFile = key, file
	return key, err
}

// StageRestore reads a whole backup and unpacks it beside the current data, so that
// home.CommitRestore can replace them. allow may refuse a backup by its header. After an
// error the unpacked files are removed.
func StageRestore(ctx context.Context, h *home.Home, log *slog.Logger, from io.Reader, allow func(backup.Header) error) (out Restored, err error) {
	return stageArchives(ctx, h, log, allow, 1, func(int) (io.ReadCloser, error) { return io.NopCloser(from), nil })
}

// stageArchives is StageRestore for a whole backup and the increments after it.
func stageArchives(ctx context.Context, h *home.Home, log *slog.Logger, allow func(backup.Header) error, count int, open func(i int) (io.ReadCloser, error)) (out Restored, err error) {
	if err := h.DropRestore(); err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			if left := h.DropRestore(); left != nil {
				log.Warn("cannot remove the unpacked backup", "error", left)
			}
		}
	}()
	s := &stagedRestore{home: h, log: log}
	for _, part := range []string{"inbox", "prompts"} {
		if err := os.MkdirAll(h.Staged(part), 0o700); err != nil {
			return out, stageError(err)
		}
	}
	err = s.readAll(ctx, allow, count, open)
	return s.out, err
}

func (s *stagedRestore) readAll(ctx context.Context, allow func(backup.Header) error, count int, open func(i int) (io.ReadCloser, error)) (err error) {
	o := MetaOptions(s.home, s.log)
	o.Sync = false // CommitRestore syncs it
	db, err := kv.Open(s.home.Staged("meta"), o)
	if err != nil {
		return err
	}
	defer func() {
		if shut := db.Close(); err == nil {
			err = shut
		}
	}()
	for i := range count {
		if err := s.readArchive(ctx, db, allow, i, open); err != nil {
			return err
		}
	}
	if count > 1 {
		if err := s.completeUploads(); err != nil {
			return err
		}
	}
	bank, err := knowledgebank.Open(db, knowledgebank.Default())
	if err != nil {
		return err
	}
	holds, err := CountContents(bank)
	s.out.Spaces, s.out.Documents = holds.Spaces, holds.Documents
	return err
}

// readArchive unpacks archive i: 0 is the whole backup, the others are increments.
func (s *stagedRestore) readArchive(ctx context.Context, db *kv.DB, allow func(backup.Header) error, i int, open func(i int) (io.ReadCloser, error)) error {
	from, err := open(i)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it was only read
	s.bulk = db.Bulk()
	defer s.bulk.Cancel()
	to := backup.Target{
		Header: func(b backup.Header) error {
			if b.Schema > home.Version {
				return fault.New(fault.Unsupported, "percached: restore", "a newer percached made this backup (folder version %d; this percached supports %d); upgrade percached", b.Schema, home.Version)
			}
			if b.Space != "" {
				return fault.New(fault.Invalid, "percached: restore", "this is the export of one space, not a backup; import it with percached spaces import %s", b.Space)
			}
			return allow(b)
		},
		Key:  s.keyOf,
		File: s.file,
		Record: func(key, value []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return s.bulk.Set(key, value)
		},
	}
	if i > 0 {
		if err := s.dropReplaced(); err != nil {
			return err
		}
		to.Change = func(key, value []byte, deleted bool) error {
			if deleted {
				return s.bulk.Delete(key)
			}
			return to.Record(key, value)
		}
	}
	s.out.Uploads = 0
	b, err := backup.Read(from, to)
	s.out.Made = b.Made
	if err != nil {
		return err
	}
	return s.bulk.Flush()
}

// file unpacks one file. backup.Read has checked its name.
func (s *stagedRestore) file(name string, size int64, from io.Reader) error {
	part, rest, _ := strings.Cut(name, "/")
	if part == "percached.conf" && home.Exists(s.home.Path(part)) {
		return nil // an existing configuration stays
	}
	at := s.home.Staged(part)
	if rest != "" {
		at = filepath.Join(at, filepath.FromSlash(rest))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return stageError(err)
		}
	}
	if strings.HasSuffix(name, ".upload") {
		s.out.Uploads++
	}
	if err := durable.Room(s.home.Path(), size, MinFree); err != nil {
		return stageError(err)
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Invalid, "percached: restore", "the backup is damaged: duplicate file %s", name)
	}
	if err != nil {
		return stageError(err)
	}
	if part == "inbox" {
		err = s.home.Encryption.Copy(f, from)
	} else {
		_, err = io.Copy(f, from)
	}
	return stageError(errors.Join(err, f.Close()))
}

func stageError(err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fault.New(fault.Unavailable, "percached: restore", "cannot write %s: %w", p.Path, p.Err)
	}
	return fault.New(fault.Unavailable, "percached: restore", "%w", err)
}
