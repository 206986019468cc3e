package pull_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached/internal/pull"
	"github.com/percached/percached/llm/gguf"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model returns a random model for a seed.
func model(t *testing.T, seed uint64) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.gguf")
	if err := gguf.WriteRandom(path, gguf.RandomOptions{Seed: seed}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// server has one file. Its fields set what it does differently from other servers.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	file     []byte
	cuts     []int // bytes of each of the next responses before it is cut
	deaf     bool  // it ignores ranges
	stubborn bool  // it ignores If-Range
	bare     bool  // it sends no length
	header   http.Header
	asked    []string // Range of each request
	tokens   []string // Authorization of each request
}

func serve(t *testing.T, file []byte) *server {
	t.Helper()
	s := &server{file: file, header: http.Header{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.Header.Get("Range"))
	s.tokens = append(s.tokens, r.Header.Get("Authorization"))
	tag := `"` + hashOf(s.file)[:16] + `"`
	w.Header().Set("ETag", tag)
	for k, v := range s.header {
		w.Header()[k] = v
	}
	if s.deaf {
		r.Header.Del("Range")
		w.Header().Del("ETag")
	}
	if s.stubborn {
		r.Header.Del("If-Range")
	}
	var to http.ResponseWriter = w
	if s.bare {
		fmt.Fprint(w, string(s.file[:1]))
		w.(http.Flusher).Flush()
		if _, err := w.Write(s.file[1:]); err != nil {
			return
		}
		return
	}
	if len(s.cuts) > 0 {
		to = &cutting{ResponseWriter: w, left: s.cuts[0]}
		s.cuts = s.cuts[1:]
	}
	http.ServeContent(to, r, "", time.Time{}, bytes.NewReader(s.file))
}

// requests are the ranges that were asked for.
func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// cutting breaks the connection after a number of bytes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(b []byte) (int, error) {
	if len(b) <= c.left {
		c.left -= len(b)
		return c.ResponseWriter.Write(b)
	}
	if _, err := c.ResponseWriter.Write(b[:c.left]); err == nil {
		err := http.NewResponseController(c.ResponseWriter).Flush()
		if err != nil {
			return 0, err
		}
	}
	panic(http.ErrAbortHandler)
}

// puller fetches into dir.
func puller(t *testing.T, dir string, change ...func(*pull.Options)) *pull.Puller {
	t.Helper()
	o := pull.Options{Dir: dir, Now: func() time.Time { return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC) }, Check: check}
	for _, c := range change {
		c(&o)
	}
	p, err := pull.New(o)
	if err != nil {
		t.Fatal(err)
	}
	p.Impatient()
	p.Free(1 << 40)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func check(_ context.Context, path string) error {
	f, err := gguf.Open(path)
	if err != nil {
		return err
	}
	return f.CheckModel()
}

// fetch finds and pulls.
func fetch(p *pull.Puller, what string, w pull.Want) (pull.Result, error) {
	ctx := context.Background()
	s, err := p.Find(ctx, what)
	if err != nil {
		return pull.Result{}, err
	}
	return p.Pull(ctx, s, w)
}

// holds checks that a folder has these files and maybe the lock.
func holds(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		if e.Name() != "known.lock" {
			got = append(got, e.Name())
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s holds %v, want %v", dir, got, want)
	}
}

func isFile(t *testing.T, path string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	} else if !bytes.Equal(got, want) {
		t.Errorf("%s has %d bytes, and they are not the %d expected", path, len(got), len(want))
	}
}
