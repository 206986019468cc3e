package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"
)

// dataOf returns a data folder with one note, and its files.
func dataOf(t *testing.T) (data, note string) {
	t.Helper()
	dir := t.TempDir()
	data, note = filepath.Join(dir, "data"), filepath.Join(dir, "gate.md")
	if err := os.WriteFile(note, []byte("The code of the gate at Wharf Road is 6190.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, errs, status := called(patiently(t), "add", note, "--kind", "notes", "--data", data); status != commands.ExitDone {
		t.Fatal(out, errs)
	}
	return data, note
}

// writeAddress writes an address file.
func writeAddress(t *testing.T, data, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(data, link.AddressFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// impostor claims to be percached, and keeps what it receives.
type impostor struct {
	*httptest.Server
	mu    sync.Mutex
	heard []string
}

func newImpostor(t *testing.T) *impostor {
	i := &impostor{}
	i.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.heard = append(i.heard, r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization"))
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"ready":true,"stage":"ready","progress":1}`)
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *impostor) quiet(t *testing.T) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.heard) > 0 {
		t.Errorf("it was sent %q", i.heard)
	}
}

// Another program may use the address of a killed daemon. Commands send nothing to it.
func TestStaleAddress(t *testing.T) {
	data, _ := dataOf(t)
	other := newImpostor(t)
	other.Start()
	for _, tc := range []struct {
		name string
		hold func() func() error // takes the folder, and gives what lets go of it
		want int
		says string
	}{
		{"nobody", func() func() error { return func() error { return nil } }, commands.ExitDone, ""},
		{"a command", func() func() error {
			c := config.DaemonDefault()
			c.Data = data
			l, err := daemon.InProcess(patiently(t), config.Of(c, nil), false, node.Dependencies{}, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			return l.Close
		}, commands.ExitNotNow, " uses "},
		{"reindex", func() func() error {
			c := node.Options{Config: config.DaemonDefault()}
			c.Data = data
			s, err := node.Open(patiently(t), c, false, io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			return s.Close
		}, commands.ExitNotNow, " uses "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			writeAddress(t, data, other.URL+"\n")
			release := tc.hold()
			for _, args := range [][]string{{"spaces", "list"}, {"ask", "Why?"}, {"status"}, {"__complete", "ask", "--space", ""}} {
				want, says := tc.want, tc.says
				if args[0] == "__complete" { // it keeps silent
					want, says = commands.ExitDone, ""
				}
				_, errs, status := called(patiently(t), append(args, "--data", data)...)
				if status != want || !strings.Contains(errs, says) {
					t.Errorf("%v: status %d, says %q", args, status, errs)
				}
			}
			if err := release(); err != nil {
				t.Error(err)
			}
			other.quiet(t)
		})
	}
}

// No command waits for a daemon that has not written its address. The error names the process.
func TestDaemonWithoutAddress(t *testing.T) {
	data, _ := dataOf(t)
	h, err := home.Open(data, encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, status := called(patiently(t), "spaces", "list", "--data", data); status != commands.ExitNotNow || !strings.Contains(errs, " uses "+data) {
		t.Errorf("status %d, says %q", status, errs)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// cutter is a proxy between a command and its daemon, which it kills at some point.
type cutter struct {
	at   string // of what the command sends, or the daemon
	kill func()
}

func (c *cutter) serve(t *testing.T, daemon string) (address string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", daemon)
			if err != nil {
				near.Close()
				continue
			}
			go c.copy(far, near)
			go c.copy(near, far)
		}
	}()
	return l.Addr().String()
}

// copy copies byte by byte, so that the position is exact.
func (c *cutter) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	var seen bytes.Buffer
	for b := make([]byte, 1); ; {
		if _, err := from.Read(b); err != nil {
			return
		}
		if _, err := to.Write(b); err != nil {
			return
		}
		if seen.Write(b); bytes.HasSuffix(seen.Bytes(), []byte(c.at)) {
			c.kill()
			return // what is on its way still is lost
		}
	}
}

// A command reports that its daemon was killed, at any moment, and does not hang.
func TestDaemonKilled(t *testing.T) {
	data, note := dataOf(t)
	for _, tc := range []struct {
		name, at string
		args     []string
	}{
		{"before it hears the request", "POST /v1/spaces/default/ask", []string{"ask", "What is the code of the gate?"}},
		{"in the middle of an answer", "event: token", []string{"ask", "What is the code of the gate?", "--bypass"}},
		{"in the middle of JSON", `"questions"`, []string{"status", "--json"}},
		{"before it takes documents", "POST /v1/spaces/default/documents", []string{"add", note}},
		{"while it takes them", "GET /v1/spaces/default/uploads/", []string{"add", note}},
		{"at work", "POST /v1/idle/drain", []string{"idle", "run"}},
		{"before it is ready", "GET /readyz", []string{"spaces", "list"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log lockedBuffer
			d, err := child.Start(context.Background(), underTest(t), data, &log, "--threads", "1")
			if err != nil {
				t.Fatal(err, log.String())
			}
			dead := sync.OnceFunc(func() { d.Kill() })
			defer dead()
			c := &cutter{at: tc.at, kill: dead}
			writeAddress(t, data, "http://"+c.serve(t, strings.TrimPrefix(d.URL, "http://"))+"\n")
			ctx := patiently(t)
			_, errs, status := called(ctx, append(tc.args, "--data", data)...)
			if ctx.Err() != nil {
				t.Fatal("it hung")
			}
			if status != commands.ExitFailed || !strings.Contains(errs, "respon") {
				t.Errorf("status %d, says %q", status, errs)
			}
		})
	}
}

// With TLS, commands trust only the certificate that the daemon announced.
func TestCommandsWithTLS(t *testing.T) {
	data, note := dataOf(t)
	dir := t.TempDir()
	cert, key, _ := certify(t, dir, "a")
	t.Setenv("PERCACHED_TLS_CERT", cert)
	t.Setenv("PERCACHED_TLS_KEY", key)
	a := startServe(t, data)
	a.ready()
	for _, tc := range []struct {
		args       []string
		says, errs string
	}{
		{[]string{"add", note}, "0 added, 1 unchanged", ""},
		{[]string{"ask", "What is the code of the gate?"}, "6190\n", "  from gate (note)\n"},
		{[]string{"status"}, "daemon at https://127.0.0.1:", ""},
	} {
		if out, errs, status := called(patiently(t), append(tc.args, "--data", data)...); status != commands.ExitDone || errs != tc.errs || !strings.Contains(out, tc.says) {
			t.Errorf("%v: status %d, %q, %q", tc.args, status, out, errs)
		}
	}
	other := newImpostor(t)
	cert, key, _ = certify(t, dir, "b")
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	other.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	other.Config.ErrorLog = log.New(io.Discard, "", 0)
	other.StartTLS()
	_, mark, _ := strings.Cut(a.file("address"), "\n")
	told := a.file("address")
	writeAddress(t, data, other.URL+"\n"+mark)
	out, errs, status := called(patiently(t), "ask", "Why?", "--data", data)
	if status != commands.ExitFailed || out != "" || !strings.Contains(errs, "certificate") {
		t.Errorf("status %d, %q, %q", status, out, errs)
	}
	other.quiet(t)
	writeAddress(t, data, told)
	a.end()
}
