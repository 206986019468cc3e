package node

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/remotebackup"
)

// RestoreRemote restores the newest backup in object storage that is not after a time, in a data
// folder that is not in use. The zero time means the newest. It creates a missing folder.
func RestoreRemote(ctx context.Context, c config.Config, store *remotebackup.Store, at time.Time, force bool, log *slog.Logger, stderr io.Writer) (Restored, error) {
	points, err := store.Points(ctx)
	if err != nil {
		return Restored{}, err
	}
	point, err := store.PointAt(points, at)
	if err != nil {
		return Restored{}, err
	}
	archives, err := store.Archives(ctx, points, point)
	if err != nil {
		return Restored{}, err
	}
	last := archives[len(archives)-1]
	return restore(ctx, c, force, log, stderr, func(h *home.Home, allow func(backup.Header) error) (Restored, error) {
		// The header of the whole archive has older counts.
		if err := allow(backup.Header{Made: last.Made, Spaces: last.Spaces, Documents: last.Documents, Uploads: last.Uploads}); err != nil {
			return Restored{}, err
		}
		return stageArchives(ctx, h, log, func(backup.Header) error { return nil }, len(archives), func(i int) (io.ReadCloser, error) {
			return store.Read(ctx, archives[i])
		})
	})
}

// dropReplaced removes the unpacked files that every increment has completely.
func (s *stagedRestore) dropReplaced() error {
	inbox := s.home.Staged("inbox")
	uploads, err := fs.Glob(os.DirFS(inbox), "*.upload")
	if err != nil {
		return stageError(err)
	}
	for i, name := range uploads {
		uploads[i] = filepath.Join(inbox, name)
	}
	for _, at := range append(uploads, filepath.Join(inbox, "withheld"), s.home.Staged("percached.conf"), s.home.Staged("prompts")) {
		if err := os.RemoveAll(at); err != nil {
			return stageError(err)
		}
	}
	return stageError(os.MkdirAll(s.home.Staged("prompts"), 0o700))
}

// completeUploads removes the files of uploads that ended before the last increment, and checks that
// the others are complete.
func (s *stagedRestore) completeUploads() error {
	entries, err := os.ReadDir(s.home.Staged("inbox"))
	if err != nil {
		return stageError(err)
	}
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = true
	}
	for name := range there {
		id, kind, _ := strings.Cut(name, ".")
		switch {
		case kind == "spool" && !there[id+".upload"]:
			if err := os.Remove(filepath.Join(s.home.Staged("inbox"), name)); err != nil {
				return stageError(err)
			}
		case kind == "upload" && !there[id+".spool"]:
			return fault.New(fault.Invalid, "percached: restore", "the backup is damaged: the file of an upload is missing")
		}
	}
	return nil
}
