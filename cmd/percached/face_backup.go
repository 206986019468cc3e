package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/version"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/knowledgebank"
)

func (f *face) backup(ctx context.Context, b api.Backup) (api.Nothing, error) {
	return api.Nothing{}, f.service.backup(ctx, f.inbox, b.To)
}

func (f *face) restore(ctx context.Context, r api.Restore) (api.Restored, error) {
	if f.restorer == nil {
		return api.Restored{}, fault.New(fault.Unsupported, "percached: restore", "only a daemon restores over its interface: use percached restore FILE")
	}
	return f.restorer(ctx, r)
}

// stock is what a data folder holds, or a backup.
type stock struct{ spaces, documents, uploads int }

func (s stock) String() string {
	count := func(n int, what string) string {
		if n == 1 {
			return "1 " + what
		}
		return fmt.Sprintf("%d %ss", n, what)
	}
	text := count(s.spaces, "space") + " with " + count(s.documents, "document")
	if s.uploads > 0 {
		text += " and " + count(s.uploads, "waiting upload")
	}
	return text
}

// stockOf counts what a knowledge bank holds.
func stockOf(bank *knowledgebank.Bank) (s stock, err error) {
	spaces, err := bank.Spaces()
	if err != nil {
		return s, err
	}
	for _, sp := range spaces {
		st, err := bank.Stats(sp.Name)
		if fault.KindOf(err) == fault.NotFound { // it went meanwhile
			continue
		}
		if err != nil {
			return s, err
		}
		s.spaces++
		s.documents += st.Documents
	}
	return s, nil
}

// replaceable refuses to replace what is there, unless that is wanted.
func replaceable(data string, there stock, b backup.Header, force bool) error {
	if force || there.spaces == 0 && there.uploads == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "percached: restore", "%s holds %s; the backup of %s holds %s; to replace what is there, restore with force",
		data, there, b.Made.Local().Format("2006-01-02 15:04"), stock{b.Spaces, b.Documents, b.Uploads})
}

// backup writes a backup of what is stored at this moment.
func (s *service) backup(ctx context.Context, in *inbox.Inbox, to io.Writer) error {
	_ = s.flush(ctx) // what is only counted in memory; a backup without it is one, too
	holds, err := stockOf(s.knowledge)
	if err != nil {
		return err
	}
	var meta *kv.Snapshot
	var made time.Time
	uploads, err := in.Snapshot(func() (err error) {
		made = s.now()
		meta, err = s.meta.Snapshot()
		return err
	})
	if err != nil {
		return err
	}
	defer meta.Close()
	defer inbox.CloseAll(uploads)
	for _, f := range uploads {
		if path.Ext(f.Name) == ".upload" {
			holds.uploads++
		}
	}
	w, err := backup.NewWriter(to, backup.Header{
		Schema: home.Version, Percached: version.String(), Made: made.UTC(), Spaces: holds.spaces, Documents: holds.documents, Uploads: holds.uploads,
	})
	if err != nil {
		return err
	}
	if err := s.backupFiles(w); err != nil {
		return err
	}
	for _, f := range uploads {
		if err := w.File("inbox/"+f.Name, f.Size, f); err != nil {
			return err
		}
	}
	if err := meta.Each(func(key, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return w.Record(key, value)
	}); err != nil {
		return err
	}
	return w.Close()
}

// backupFiles adds what the owner has set and written. A percached.conf that is a link
// is set for more than this folder.
func (s *service) backupFiles(w *backup.Writer) error {
	conf := s.home.Path("percached.conf")
	if info, err := os.Lstat(conf); err == nil && info.Mode().IsRegular() {
		if err := backupFile(w, conf, "percached.conf"); err != nil {
			return err
		}
	}
	folders := []string{"prompts"}
	entries, err := os.ReadDir(s.home.Path("prompts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Unavailable, "percached: backup", "%w", err)
	}
	for _, e := range entries {
		if promptName.MatchString(e.Name()) && !isPromptFile(e.Name()) {
			folders = append(folders, path.Join("prompts", e.Name()))
		}
	}
	for _, folder := range folders {
		for _, one := range promptsOf(&api.Prompts{}) {
			name := path.Join(folder, one.name+".txt")
			if err := backupFile(w, s.home.Path(filepath.FromSlash(name)), name); err != nil {
				return err
			}
		}
	}
	return nil
}

// backupFile adds a file, if there is one.
func backupFile(w *backup.Writer, at, name string) error {
	b, err := os.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fault.New(fault.Unavailable, "percached: backup", "%w", err)
	}
	return w.File(name, int64(len(b)), bytes.NewReader(b))
}
