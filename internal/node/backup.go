package node

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

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/version"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/knowledgebank"
)

// Contents is what a data folder holds, or a backup.
type Contents struct{ Spaces, Documents, Uploads int }

func (s Contents) String() string {
	count := func(n int, what string) string {
		if n == 1 {
			return "1 " + what
		}
		return fmt.Sprintf("%d %ss", n, what)
	}
	text := count(s.Spaces, "space") + " with " + count(s.Documents, "document")
	if s.Uploads > 0 {
		text += " and " + count(s.Uploads, "waiting upload")
	}
	return text
}

// ContentsOf counts what a knowledge bank holds.
func CountContents(bank *knowledgebank.Bank) (s Contents, err error) {
	spaces, err := bank.Spaces()
	if err != nil {
		return s, err
	}
	for _, sp := range spaces {
		st, err := bank.Stats(sp.Name)
		if fault.KindOf(err) == fault.NotFound { // it was deleted in the meantime
			continue
		}
		if err != nil {
			return s, err
		}
		s.Spaces++
		s.Documents += st.Documents
	}
	return s, nil
}

// CheckReplace refuses to replace spaces or uploads without force.
func CheckReplace(data string, there Contents, b backup.Header, force bool) error {
	if force || there.Spaces == 0 && there.Uploads == 0 {
		return nil
	}
	return fault.New(fault.Conflict, "percached: restore", "%s holds %s; the backup of %s holds %s; to replace the data, pass --force (force=true over HTTP)",
		data, there, b.Made.Local().Format("2006-01-02 15:04"), Contents{b.Spaces, b.Documents, b.Uploads})
}

// Backup writes a consistent snapshot of the stored data.
func (n *Node) Backup(ctx context.Context, in *inbox.Inbox, to io.Writer) error {
	_ = n.flush(ctx) // counts in memory; a backup without them is valid, too
	holds, err := CountContents(n.Knowledge)
	if err != nil {
		return err
	}
	var meta *kv.Snapshot
	var made time.Time
	uploads, err := in.Snapshot(func() (err error) {
		made = n.Now()
		meta, err = n.Meta.Snapshot()
		return err
	})
	if err != nil {
		return err
	}
	defer meta.Close()
	defer inbox.CloseAll(uploads)
	for _, f := range uploads {
		if path.Ext(f.Name) == ".upload" {
			holds.Uploads++
		}
	}
	seal, err := n.seal()
	if err != nil {
		return err
	}
	w, err := backup.NewWriter(to, seal, backup.Header{
		Schema: home.Version, Percached: version.String(), Made: made.UTC(), Spaces: holds.Spaces, Documents: holds.Documents, Uploads: holds.Uploads,
	})
	if err != nil {
		return err
	}
	if err := n.backupFiles(w); err != nil {
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

// backupFiles adds percached.conf and the prompts. It skips a percached.conf that is a link,
// because other folders may share it.
func (n *Node) backupFiles(w *backup.Writer) error {
	conf := n.Home.Path("percached.conf")
	if info, err := os.Lstat(conf); err == nil && info.Mode().IsRegular() {
		if err := backupFile(w, conf, "percached.conf"); err != nil {
			return err
		}
	}
	folders := []string{"prompts"}
	entries, err := os.ReadDir(n.Home.Path("prompts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Unavailable, "percached: backup", "%w", err)
	}
	for _, e := range entries {
		if promptName.MatchString(e.Name()) && !IsPromptFile(e.Name()) {
			folders = append(folders, path.Join("prompts", e.Name()))
		}
	}
	for _, folder := range folders {
		if err := n.backupPrompts(w, folder); err != nil {
			return err
		}
	}
	return nil
}

// backupPrompts adds the prompts in a folder.
func (n *Node) backupPrompts(w *backup.Writer, folder string) error {
	for _, one := range PromptFields(&Prompts{}) {
		name := path.Join(folder, one.Name+".txt")
		if err := backupFile(w, n.Home.Path(filepath.FromSlash(name)), name); err != nil {
			return err
		}
	}
	return nil
}

// backupFile adds a file if it exists.
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

// ContentsIn counts what a data folder holds that nobody uses.
func CountFolder(h *home.Home, o kv.Options) (s Contents, err error) {
	uploads, err := filepath.Glob(h.Path("inbox", "*.spool"))
	if err != nil {
		return s, fmt.Errorf("inbox: %w", err)
	}
	if err := CheckMeta(h); err != nil || !kv.Exists(h.Path("meta")) {
		return Contents{Uploads: len(uploads)}, err
	}
	db, err := kv.Open(h.Path("meta"), o)
	if err != nil {
		return s, err
	}
	defer func() {
		if shut := db.Close(); err == nil {
			err = shut
		}
	}()
	bank, err := knowledgebank.Open(db, knowledgebank.Default())
	if err != nil {
		return s, err
	}
	s, err = CountContents(bank)
	s.Uploads = len(uploads)
	return s, err
}
