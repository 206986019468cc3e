package pull_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/pull"
)

// A pull continues by itself after a cut connection.
func TestCut(t *testing.T) {
	file, dir := model(t, 1), t.TempDir()
	s := serve(t, file)
	s.cuts = []int{1000, 0, 7}
	var cuts []string
	p := puller(t, dir, func(o *pull.Options) {
		o.Observer.Cut = func(err error, _ time.Duration) { cuts = append(cuts, err.Error()) }
	})
	got, err := fetch(p, s.URL+"/m.gguf", pull.Want{})
	if err != nil || got.Fetched != int64(len(file)) {
		t.Fatal(got, err)
	}
	if d := cmp.Diff([]string{"", "bytes=1000-", "bytes=1000-", "bytes=1007-"}, s.requests()); d != "" {
		t.Error(d)
	}
	if len(cuts) != 3 || !strings.Contains(cuts[0], fmt.Sprintf("ended at byte 1000 of %d", len(file))) {
		t.Errorf("%q", cuts)
	}
	isFile(t, filepath.Join(dir, "m.gguf"), file)
	holds(t, dir, "known.json", "m.gguf")
}

// After too many cuts the part is kept, and the next call continues.
func TestCutForGood(t *testing.T) {
	file, dir := model(t, 1), t.TempDir()
	s := serve(t, file)
	s.cuts = []int{5000, 0, 0, 0, 0, 0}
	r, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{})
	if fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "ended at byte 5000") || r.Kept != 5000 {
		t.Fatal(r, err)
	}
	holds(t, dir, "m.gguf.part", "m.gguf.part.json")
	if got, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{}); err != nil || got.Fetched != int64(len(file))-5000 {
		t.Error(got, err)
	}
	isFile(t, filepath.Join(dir, "m.gguf"), file)
}

// A server that starts over and is cut each time makes no progress: the pull ends.
func TestCutAnew(t *testing.T) {
	const most = 3 << 20
	s := serve(t, append([]byte("GGUF"), make([]byte, most)...))
	s.deaf = true
	for range 50 {
		s.cuts = append(s.cuts, most/2)
	}
	_, err := fetch(puller(t, t.TempDir()), s.URL+"/m.gguf", pull.Want{})
	if asked := len(s.requests()); fault.KindOf(err) != fault.Unavailable || asked < 6 || asked > 12 {
		t.Errorf("asked %d times: %v", asked, err)
	}
}

// begun leaves a part of 5000 bytes.
func begun(t *testing.T, s *server, dir string) {
	t.Helper()
	s.cuts = []int{5000, 0, 0, 0, 0, 0}
	if r, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{}); err == nil || r.Kept != 5000 {
		t.Fatal(r, err)
	}
	s.asked = nil
}

func TestGoesOnOrBeginsAnew(t *testing.T) {
	file, other := model(t, 1), model(t, 2)
	for _, tc := range []struct {
		name string
		set  func(s *server, part string)
		want []byte
		anew int
		kept int64 // bytes that were not fetched twice
	}{
		{"the same", func(*server, string) {}, file, 0, 5000},
		{"the file changed", func(s *server, _ string) { s.file = other }, other, 1, 0},
		{"and the server does not look", func(s *server, _ string) { s.file, s.stubborn = other, true }, other, 1, 0},
		{"and is shorter than the part", func(s *server, _ string) { s.file, s.stubborn = other[:1000], true }, nil, 1, 0},
		{"ranges are not known any more", func(s *server, _ string) { s.deaf = true }, file, 1, 0},
		{"more lies there than is safe", func(_ *server, part string) { grow(t, part, 20) }, file, 0, 5000},
		{"less lies there", func(_ *server, part string) { resize(t, part, 4000) }, file, 0, 0},
		{"nobody knows what it is", func(_ *server, part string) { resize(t, part+".json", 10) }, file, 0, 0},
		{"it was written by another version", func(_ *server, part string) { resize(t, part+".json", 0) }, file, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, dir, anew := serve(t, file), t.TempDir(), 0
			begun(t, s, dir)
			tc.set(s, filepath.Join(dir, "m.gguf.part"))
			got, err := fetch(puller(t, dir, func(o *pull.Options) { o.Observer.Anew = func() { anew++ } }), s.URL+"/m.gguf", pull.Want{})
			if anew != tc.anew {
				t.Errorf("begun anew %d times", anew)
			}
			if tc.want == nil {
				if err == nil || !strings.Contains(err.Error(), "no model that can be used") {
					t.Error(err)
				}
				return
			}
			if err != nil || got.Fetched != int64(len(tc.want))-tc.kept {
				t.Errorf("%+v, %v", got, err)
			}
			isFile(t, filepath.Join(dir, "m.gguf"), tc.want)
		})
	}
}

func grow(t *testing.T, path string, by int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(make([]byte, by)); err != nil {
		t.Fatal(err)
	}
}

func resize(t *testing.T, path string, to int64) {
	t.Helper()
	if err := os.Truncate(path, to); err != nil {
		t.Fatal(err)
	}
}

// A part is not continued from another source.
func TestPartOfAnother(t *testing.T) {
	file, other, dir := model(t, 1), model(t, 2), t.TempDir()
	begun(t, serve(t, file), dir)
	if _, err := fetch(puller(t, dir), serve(t, other).URL+"/m.gguf", pull.Want{}); err != nil {
		t.Fatal(err)
	}
	isFile(t, filepath.Join(dir, "m.gguf"), other)
}

// A busy server is asked again; one without the file is not.
func TestStatuses(t *testing.T) {
	file := model(t, 1)
	for _, tc := range []struct {
		status int
		tries  int
		says   string
	}{
		{http.StatusServiceUnavailable, 6, "cannot give the file now (status 503)"},
		{http.StatusTooManyRequests, 6, "status 429"},
		{http.StatusNotFound, 1, "has no such file (status 404)"},
		{http.StatusForbidden, 1, "refuses (status 403)"},
		{http.StatusTeapot, 1, "answers with status 418"},
	} {
		t.Run(fmt.Sprint(tc.status), func(t *testing.T) {
			s := serve(t, file)
			tries := 0
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				tries++
				w.WriteHeader(tc.status)
			})
			dir := t.TempDir()
			_, err := fetch(puller(t, dir), s.URL+"/m.gguf?token=secret", pull.Want{})
			if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "secret") || tries != tc.tries {
				t.Errorf("%d tries: %v", tries, err)
			}
			holds(t, dir)
		})
	}
}

// An address without a server fails at once.
func TestNobodyThere(t *testing.T) {
	waits := 0
	p := puller(t, t.TempDir(), func(o *pull.Options) { o.Observer.Cut = func(error, time.Duration) { waits++ } })
	p.Through(func(_ context.Context, network, _ string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	})
	_, err := fetch(p, "http://127.0.0.1:1/m.gguf?token=secret", pull.Want{})
	if fault.KindOf(err) != fault.Unavailable || waits != 0 || strings.Contains(err.Error(), "secret") {
		t.Error(waits, err)
	}
}

// A connection without data for a minute counts as cut. The bubble has its own clock
// and network.
func TestStalls(t *testing.T) {
	file, dir := model(t, 1), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		began := time.Now()
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked++
			w.Header().Set("ETag", `"x"`)
			if asked > 1 {
				http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(file)))
				return
			}
			w.Header().Set("Content-Length", fmt.Sprint(len(file)))
			if _, err := w.Write(file[:3000]); err != nil {
				t.Error(err)
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
			<-r.Context().Done()
		})}
		l := &pipes{made: make(chan net.Conn), done: make(chan struct{})}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(l) }()
		p := puller(t, dir)
		p.Through(l.dial)
		got, err := fetch(p, "http://127.0.0.1/m.gguf", pull.Want{})
		if err != nil || asked != 2 || got.Fetched != int64(len(file)) {
			t.Errorf("asked %d times: %+v, %v", asked, got, err)
		}
		if took := time.Since(began); took != time.Minute {
			t.Errorf("it took %v", took)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-served
	})
	isFile(t, filepath.Join(dir, "m.gguf"), file)
}

// pipes is a network with one server.
type pipes struct {
	made chan net.Conn
	done chan struct{}
}

func (l *pipes) dial(context.Context, string, string) (net.Conn, error) {
	here, there := net.Pipe()
	l.made <- there
	return here, nil
}

func (l *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.made:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *pipes) Close() error {
	select {
	case <-l.done:
	default:
		close(l.done)
	}
	return nil
}

func (l *pipes) Addr() net.Addr { return &net.IPAddr{} }
