package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a space in memory, which reads files as percached does.
type memory struct {
	read     *reader.Reader
	paths    map[string]string // of documents, by their key
	unwanted map[string]bool   // keys of forgotten documents
	sent     []string          // names of files, with what was left out of them
	calls    int
	failAt   int // this call fails; 0: none
}

var errCut = errors.New("cut")

func (m *memory) fails() error {
	if m.calls++; m.calls == m.failAt {
		return errCut
	}
	return nil
}

func (m *memory) Documents(_ context.Context, fn func(Document)) error {
	if err := m.fails(); err != nil {
		return err
	}
	for key, path := range m.paths {
		fn(Document{ID: "id of " + key, Key: key, Path: path})
	}
	return nil
}

func (m *memory) Add(ctx context.Context, files []File) (map[string]error, error) {
	unsent := map[string]error{}
	for _, f := range files {
		if err := m.fails(); err != nil {
			return nil, err // after some of them
		}
		in, err := os.Open(f.Path)
		if err != nil {
			unsent[f.Path] = err
			continue
		}
		name := filepath.Base(f.Path)
		if f.From > 0 {
			name += fmt.Sprint(" from ", f.From)
		}
		m.sent = append(m.sent, name)
		_, err = in.Seek(f.From, io.SeekStart)
		err = errors.Join(err, m.read.Stream(ctx, f.Path, in, func(s *knowledgebank.Source) error {
			if !m.unwanted[s.Key] {
				m.paths[s.Key] = f.Path
			}
			return nil
		}, func(string, error) {}), in.Close())
		if err != nil {
			return nil, err
		}
	}
	return unsent, nil
}

func (m *memory) Delete(_ context.Context, ids []string) error {
	for _, id := range ids {
		if err := m.fails(); err != nil {
			return err
		}
		delete(m.paths, strings.TrimPrefix(id, "id of "))
	}
	return nil
}

// world is a folder, and a space that follows it.
type world struct {
	*testing.T
	memory
	dir, data string
	key       encryption.Source // of data
	empty     bool
	full      bool
	again     bool
	roots     []string
	settle    time.Duration
	now       func() time.Time
	changes   []string
}

// newWorld makes a folder with files of some kinds.
func newWorld(t *testing.T) *world {
	read, err := reader.New(reader.Default())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		T: t, memory: memory{read: read, paths: map[string]string{}, unwanted: map[string]bool{}},
		dir: t.TempDir(), data: t.TempDir(), full: true, now: time.Now,
	}
	w.roots = []string{w.dir}
	w.write("a.md", "Ducks swim.")
	w.write("deep/b.txt", "Otters dive.")
	w.write("box.mbox", boxed("one")+boxed("two"))
	w.write("Mail/new/1700000001.M1.host", mail("three"))
	w.write("Mail/cur/1700000002.M2.host:2,S", mail("four"))
	w.write("Mail/tmp/1700000003.M3.host", mail("five"))
	w.write("picture.jpg", "\xff\xd8\xff\x00\x00\x01\x02")
	w.write("empty.txt", "")
	return w
}

func mail(id string) string {
	return "From: Ana <ana@example.com>\nSubject: " + id + "\nMessage-ID: <" + id + "@example.com>\n\nThe boat " + id + " is blue.\n"
}

func boxed(id string) string {
	return "From ana@example.com Mon Feb  3 10:00:00 2025\n" + mail(id) + "\n"
}

// write writes a file that was left alone for an hour.
func (w *world) write(name, text string) {
	w.Helper()
	path := w.path(name)
	w.ok(os.MkdirAll(filepath.Dir(path), 0o755))
	w.ok(os.WriteFile(path, []byte(text), 0o600))
	old := time.Now().Add(-time.Hour).Add(time.Duration(len(text)) * time.Second)
	w.ok(os.Chtimes(path, old, old))
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// run runs once, as a new process does.
func (w *world) run() (Report, error) {
	w.Helper()
	s, err := OpenState(w.files(), "mail")
	w.ok(err)
	defer func() { w.ok(s.Close()) }()
	w.sent, w.changes = nil, nil
	return Run(w.Context(), Options{
		Space: &w.memory, State: s, Roots: w.roots, Empty: w.empty, Full: w.full, Again: w.again, Settle: w.settle, Now: w.now,
		Observer: Observer{Changed: func(c Change) {
			w.changes = append(w.changes, strings.TrimSuffix(fmt.Sprint(c.What, " ", w.short(c.Path), " ", c.Deleted), " 0"))
		}},
	})
}

func (w *world) files() *home.SyncFiles {
	w.Helper()
	files, err := home.OpenSyncFiles(w.data, w.key)
	w.ok(err)
	return files
}

// must runs once without an error.
func (w *world) must() Report {
	w.Helper()
	r, err := w.run()
	w.ok(err)
	return r
}

// short is a path, or a key, as a test names it.
func (w *world) short(s string) string {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "file:"), w.dir)
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(s), "/"), "mail:<"), "@example.com>")
}

// holds lists the documents of the space.
func (w *world) holds() string {
	var all []string
	for _, key := range slices.Collect(maps.Keys(w.paths)) {
		all = append(all, w.short(key))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func (w *world) blocked(r Report) (names []string) {
	for _, b := range r.Blocked {
		names = append(names, w.short(b.Path))
	}
	return names
}
