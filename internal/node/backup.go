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
	m, err := n.takeMoment(ctx, in, n.Meta.Snapshot)
	if err != nil {
		return err
	}
	defer m.close()
	return n.writeMoment(m, to, nil, func(w *backup.Writer) error { return m.writeAll(ctx, w) })
}

// moment is the stored data at one time, for a backup.
type moment struct {
	header  backup.Header
	seal    backup.Seal
	meta    *kv.Snapshot
	uploads []inbox.Kept
}

// takeMoment takes a consistent snapshot of the stored data. The caller closes it.
func (n *Node) takeMoment(ctx context.Context, in *inbox.Inbox, take func() (*kv.Snapshot, error)) (m *moment, err error) {
	_ = n.flush(ctx) // counts in memory; a backup without them is valid, too
	holds, err := CountContents(n.Knowledge)
	if err != nil {
		return nil, err
	}
	m = &moment{}
	defer func() {
		if err != nil {
			m.close()
			m = nil
		}
	}()
	var made time.Time
	if m.uploads, err = in.Snapshot(func() (err error) {
		made = n.Now()
		m.meta, err = take()
		return err
	}); err != nil {
		return m, err
	}
	for _, f := range m.uploads {
		if path.Ext(f.Name) == ".upload" {
			holds.Uploads++
		}
	}
	m.header = backup.Header{
		Schema: home.Version, Percached: version.String(), Made: made.UTC(), Spaces: holds.Spaces, Documents: holds.Documents, Uploads: holds.Uploads,
	}
	m.seal, err = n.seal()
	return m, err
}

func (m *moment) close() {
	if m.meta != nil {
		m.meta.Close()
	}
	inbox.CloseAll(m.uploads)
}

// writeMoment writes an archive: files, uploads that are not left out, and what records adds.
func (n *Node) writeMoment(m *moment, to io.Writer, leaveOut map[string]bool, records func(*backup.Writer) error) error {
	w, err := backup.NewWriter(to, m.seal, m.header)
	if err != nil {
		return err
	}
	if err := n.eachFile(addTo(w)); err != nil {
		return err
	}
	for _, f := range m.uploads {
		if leaveOut[f.Name] {
			continue
		}
		if err := w.File("inbox/"+f.Name, f.Size, f); err != nil {
			return err
		}
	}
	if err := records(w); err != nil {
		return err
	}
	return w.Close()
}

func (m *moment) writeAll(ctx context.Context, w *backup.Writer) error {
	return m.meta.Each(func(key, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return w.Record(key, value)
	})
}

// addTo adds files to an archive.
func addTo(w *backup.Writer) func(name string, content []byte) error {
	return func(name string, content []byte) error {
		return w.File(name, int64(len(content)), bytes.NewReader(content))
	}
}

// eachFile passes on percached.conf and the prompts. It skips a percached.conf that is a link,
// because other folders may share it.
func (n *Node) eachFile(fn func(name string, content []byte) error) error {
	conf := n.Home.Path("percached.conf")
	if info, err := os.Lstat(conf); err == nil && info.Mode().IsRegular() {
		if err := readFile(conf, "percached.conf", fn); err != nil {
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
		if err := n.eachPrompt(folder, fn); err != nil {
			return err
		}
	}
	return nil
}

// eachPrompt passes on the prompts in a folder.
func (n *Node) eachPrompt(folder string, fn func(name string, content []byte) error) error {
	for _, one := range PromptFields(&Prompts{}) {
		name := path.Join(folder, one.Name+".txt")
		if err := readFile(n.Home.Path(filepath.FromSlash(name)), name, fn); err != nil {
			return err
		}
	}
	return nil
}

// readFile passes on a file if it exists.
func readFile(at, name string, fn func(name string, content []byte) error) error {
	b, err := os.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fault.New(fault.Unavailable, "percached: backup", "%w", err)
	}
	return fn(name, b)
}

// ContentsIn counts what a data folder holds that nobody uses.
func CountFolder(h *home.Home, o kv.Options) (s Contents, err error) {
	uploads, err := fs.Glob(os.DirFS(h.Path("inbox")), "*.spool")
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
