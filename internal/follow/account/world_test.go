package account

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/follow"
	"github.com/percached/percached/internal/follow/account/dovecot"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memory is a space in memory, which reads mails as percached does.
type memory struct {
	read     *reader.Reader
	paths    map[string]string // of documents, by their key
	unwanted map[string]bool   // keys of documents that the user deleted
	sent     []string          // names of mails
	fail     error             // of the next call to Add
	look     func()            // is called while Add has the files; may be nil
}

func (m *memory) Documents(_ context.Context, fn func(follow.Document)) error {
	for key, path := range m.paths {
		fn(follow.Document{ID: key, Key: key, Path: path})
	}
	return nil
}

func (m *memory) Add(ctx context.Context, files []follow.File) (map[string]error, error) {
	if err := m.fail; err != nil {
		m.fail = nil
		return nil, err
	}
	if m.look != nil {
		m.look()
	}
	for _, f := range files {
		in, err := f.Open()
		if err != nil {
			return nil, err
		}
		m.sent = append(m.sent, f.Name)
		err = m.read.Stream(ctx, f.Name, in, func(s *knowledgebank.Source) error {
			if _, there := m.paths[s.Key]; !there && !m.unwanted[s.Key] {
				m.paths[s.Key] = f.Name
			}
			return nil
		}, func(string, error) {})
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

func (m *memory) Delete(_ context.Context, ids []string) error {
	for _, id := range ids {
		delete(m.paths, id)
	}
	return nil
}

// world is an account, and a space that follows it.
type world struct {
	*testing.T
	*dovecot.Server
	memory
	source   Source
	password string
	data     string
	key      encryption.Source // of data
	empty    bool
	changes  []string
	others   []Source
}

// newWorld starts a server with three mails in INBOX and one in Archive, and follows both.
func newWorld(t *testing.T) *world {
	server := dovecot.Start(t)
	read, err := reader.New(reader.Default())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		T: t, Server: server, memory: memory{read: read, paths: map[string]string{}, unwanted: map[string]bool{}},
		source:   Source{Address: server.TLS, User: dovecot.User, Security: TLS, Space: "mail", Folders: []string{"INBOX", "Archive"}},
		password: dovecot.Password, data: t.TempDir(),
	}
	t.Setenv("SSL_CERT_FILE", server.Certificate)
	w.ok(w.source.Validate())
	w.Make("Archive")
	for _, name := range []string{"one", "two", "three"} {
		w.Put("INBOX", name, mailText(name))
	}
	w.Put("Archive", "four", mailText("four"))
	return w
}

func mailText(id string) string {
	return "From: Ana <ana@example.com>\nSubject: " + id + "\nMessage-ID: <" + id + "@example.com>\n\nThe boat " + id + " is blue.\n"
}

func (w *world) ok(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}

// sync runs once, as a new process does.
func (w *world) sync() (follow.Report, error) {
	w.T.Helper()
	s, err := OpenState(w.files(), w.source)
	w.ok(err)
	defer func() { w.ok(s.Close()) }()
	w.sent, w.changes = nil, nil
	return Sync(w.T.Context(), w.password, w.options(s))
}

func (w *world) options(s *State) Options {
	return Options{
		Source: w.source, Sources: w.others, State: s, Space: &w.memory, Full: true, Empty: w.empty, Now: time.Now,
		Observer: follow.Observer{Changed: func(c follow.Change) {
			w.changes = append(w.changes, fmt.Sprint(c.What, " ", strings.TrimPrefix(c.Path, w.source.Path()+"/")))
		}},
	}
}

func (w *world) files() *home.SyncFiles {
	w.T.Helper()
	files, err := home.OpenSyncFiles(w.data, w.key)
	w.ok(err)
	return files
}

// must runs once without an error.
func (w *world) must() follow.Report {
	w.T.Helper()
	r, err := w.sync()
	w.ok(err)
	return r
}

// holds lists the documents of the space.
func (w *world) holds() string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(w.paths)) {
		all = append(all, strings.TrimSuffix(strings.TrimPrefix(key, "mail:<"), "@example.com>"))
	}
	return strings.Join(all, " ")
}
