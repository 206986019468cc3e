package node

import (
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
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/knowledgebank"
)

// Restored is what a backup held.
type Restored struct {
	Made      time.Time
	Spaces    int
	Documents int
	Uploads   int
}

// staging is a backup that is put beside what it is to replace.
type staging struct {
	home *home.Home
	log  *slog.Logger
	bulk *kv.Bulk
	out  Restored
}

// StageRestore reads a backup to its end and puts it beside what is there, so that
// only home.CommitRestore is left to do. allow may refuse it for its header. With an
// error, nothing is left of it.
func StageRestore(ctx context.Context, h *home.Home, log *slog.Logger, from io.Reader, allow func(backup.Header) error) (out Restored, err error) {
	if err := h.DropRestore(); err != nil {
		return out, err
	}
	defer func() {
		if err != nil {
			if left := h.DropRestore(); left != nil {
				log.Warn("what was read of a backup could not be removed", "error", left)
			}
		}
	}()
	s := &staging{home: h, log: log}
	for _, part := range []string{"inbox", "prompts"} {
		if err := os.MkdirAll(h.Staged(part), 0o700); err != nil {
			return out, unstaged(err)
		}
	}
	err = s.read(ctx, from, allow)
	return s.out, err
}

func (s *staging) read(ctx context.Context, from io.Reader, allow func(backup.Header) error) (err error) {
	o := MetaOptions(s.log)
	o.Sync = false // all of it is synced before it is used
	db, err := kv.Open(s.home.Staged("meta"), o)
	if err != nil {
		return err
	}
	defer func() {
		if shut := db.Close(); err == nil {
			err = shut
		}
	}()
	s.bulk = db.Bulk()
	defer s.bulk.Cancel()
	b, err := backup.Read(from, backup.Target{
		Header: func(b backup.Header) error {
			if b.Schema > home.Version {
				return fault.New(fault.Unsupported, "percached: restore", "a newer percached made this backup (version %d of the data folder, this one knows %d)", b.Schema, home.Version)
			}
			return allow(b)
		},
		File: s.file,
		Record: func(key, value []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return s.bulk.Set(key, value)
		},
	})
	if err == nil {
		err = s.bulk.Flush()
	}
	if err != nil {
		return err
	}
	bank, err := knowledgebank.Open(db, knowledgebank.Default())
	if err != nil {
		return err
	}
	holds, err := ContentsOf(bank)
	s.out.Made, s.out.Spaces, s.out.Documents = b.Made, holds.Spaces, holds.Documents
	return err
}

// file stages a file of the data folder, whose name leads nowhere else.
func (s *staging) file(name string, size int64, from io.Reader) error {
	part, rest, _ := strings.Cut(name, "/")
	if part == "percached.conf" && home.Exists(s.home.Path(part)) {
		return nil // what is set here stays
	}
	at := s.home.Staged(part)
	if rest != "" {
		at = filepath.Join(at, filepath.FromSlash(rest))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return unstaged(err)
		}
	}
	if strings.HasSuffix(name, ".upload") {
		s.out.Uploads++
	}
	if err := durable.Room(s.home.Path(), size, minFree); err != nil {
		return unstaged(err)
	}
	f, err := os.OpenFile(at, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Invalid, "percached: restore", "the backup is damaged: it holds %s twice", name)
	}
	if err != nil {
		return unstaged(err)
	}
	_, err = io.Copy(f, from)
	return unstaged(errors.Join(err, f.Close()))
}

func unstaged(err error) error {
	if err == nil {
		return nil
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return fault.New(fault.Unavailable, "percached: restore", "cannot write %s: %w", p.Path, p.Err)
	}
	return fault.New(fault.Unavailable, "percached: restore", "%w", err)
}
