package inbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/knowledgebank/reader"
)

// bank is a fake library. Like the real one it stores documents in batches.
type bank struct {
	mu       sync.Mutex
	spaces   map[string]map[string]string // space → key → text
	adds     []string                     // "space: files" of each call, as they began
	begin    func(space string) error     // called at the start of Add; may be nil
	before   func(key string)             // called with each document's key
	caughtUp []string                     // spaces
}

func newBank(spaces ...string) *bank {
	s := &bank{spaces: map[string]map[string]string{}}
	for _, name := range spaces {
		s.spaces[name] = map[string]string{}
	}
	return s
}

// copy is the bank that the next process opens.
func (s *bank) copy() *bank {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := newBank()
	for name, docs := range s.spaces {
		c.spaces[name] = maps.Clone(docs)
	}
	return c
}

func (s *bank) Space(name string) (percached.Space, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.spaces[name] == nil {
		return percached.Space{}, fault.New(fault.NotFound, "bank", "there is no space %q", name)
	}
	return percached.Space{Name: name}, nil
}

// texts are the documents of a space, by file name.
func (s *bank) texts(space string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.spaces[space])
}

func (s *bank) remove(space, key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.spaces[space], key)
}

func (s *bank) Add(ctx context.Context, space string, read ingest.Source, progress func(ingest.Report)) (r ingest.Report, err error) {
	s.mu.Lock()
	s.adds = append(s.adds, space)
	begin := s.begin
	s.mu.Unlock()
	if begin != nil {
		if err := begin(space); err != nil {
			return r, err
		}
	}
	var batch []*knowledgebank.Source
	flush := func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.spaces[space] == nil {
			return fault.New(fault.NotFound, "bank", "there is no space %q", space)
		}
		for _, d := range batch {
			switch old, there := s.spaces[space][d.Key]; {
			case !there:
				r.Added++
			case old == d.Blocks[0].Text:
				r.Unchanged++
			default:
				r.Replaced++
			}
			s.spaces[space][d.Key] = d.Blocks[0].Text
		}
		batch = nil
		progress(r)
		return nil
	}
	err = read(ctx, func(d *knowledgebank.Source) error {
		if s.before != nil {
			s.before(d.Key)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if batch = append(batch, d); len(batch) == 3 {
			return flush()
		}
		return nil
	}, func(name string, err error) {
		r.Failed++
		r.Failures = append(r.Failures, ingest.Failure{Name: name, Reason: fault.KindOf(err).String()})
	})
	if err == nil || ctx.Err() == nil { // documents before an error are stored
		if late := flush(); err == nil {
			err = late
		}
	}
	return r, fault.Wrap("bank.Add", err)
}

func (s *bank) CatchUp(_ context.Context, space string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caughtUp = append(s.caughtUp, space)
	return nil
}

func (s *bank) RemoveFromMeta(_ context.Context, _ string, remove func() error) error {
	return remove()
}

// options are those of an inbox with a bank as its library.
func options(t *testing.T, s *bank) inbox.Options {
	t.Helper()
	rd, err := reader.New(reader.Default())
	if err != nil {
		t.Fatal(err)
	}
	o := inbox.Default()
	o.Library, o.Spaces, o.Reader = s, s, rd
	return o
}

func open(t *testing.T, dir string, o inbox.Options) *inbox.Inbox {
	t.Helper()
	return openOn(t, dir, o, nil)
}

func openOn(t *testing.T, dir string, o inbox.Options, step func(what, name string) error) *inbox.Inbox {
	t.Helper()
	in, err := inbox.OpenOn(dir, o, step)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// run runs an inbox until the returned func is called.
func run(t *testing.T, in *inbox.Inbox) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	end := make(chan error, 1)
	go func() { end <- in.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// sent is a file: its name and content.
type sent struct{ name, text string }

// each passes files to Accept as a client sends them.
func each(files ...sent) func(inbox.Take) error {
	return func(take inbox.Take) error {
		for _, f := range files {
			if err := take(f.name, strings.NewReader(f.text)); err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
		}
		return nil
	}
}

// notes returns numbered files.
func notes(from, to int) (files []sent) {
	for i := from; i < to; i++ {
		files = append(files, sent{fmt.Sprintf("n%02d.txt", i), fmt.Sprintf("Note %d is about the garden.", i)})
	}
	return files
}

// documentsOf returns the documents that files become.
func documentsOf(files []sent) map[string]string {
	m := map[string]string{}
	for _, f := range files {
		m["file:"+f.name] = f.text
	}
	return m
}

func accept(t *testing.T, in *inbox.Inbox, space, key string, files ...sent) inbox.Upload {
	t.Helper()
	u, err := in.Accept(context.Background(), space, key, each(files...))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func wait(t *testing.T, in *inbox.Inbox, id string) inbox.Upload {
	t.Helper()
	u, err := in.Wait(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// entries returns the names of a folder's files, without IDs.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range all {
		name := d.Name()
		if i := strings.IndexByte(name, '.'); i == 32 {
			name = name[i:]
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// copyFolder copies what a crash would leave.
func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, 0o700); err != nil {
		t.Fatal(err)
	}
}

func kind(err error) fault.Kind { return fault.KindOf(err) }

var errBody = errors.New("the client is gone")

// broken returns some bytes and then an error.
func broken(text string, err error) io.Reader {
	return io.MultiReader(strings.NewReader(text), readFunc(func([]byte) (int, error) { return 0, err }))
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// journal is a log that tests can read.
type journal struct {
	mu sync.Mutex
	b  strings.Builder
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

func folder(t *testing.T) string { return filepath.Join(t.TempDir(), "inbox") }

const hour = time.Hour
