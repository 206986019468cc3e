package main

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/llm/llmtest"
)

// halfSent is an upload that sends half of a file and the rest when it is released.
type halfSent struct {
	rest   *io.PipeWriter
	result chan uploadEnd
}

type uploadEnd struct {
	status int
	err    error
}

// sendHalf returns when the daemon reads the file.
func (a *atWork) sendHalf(space string) *halfSent {
	a.Helper()
	body, w := io.Pipe()
	h := &halfSent{rest: w, result: make(chan uploadEnd, 1)}
	r := a.request("POST", "/v1/spaces/"+space+"/documents?name=half.txt", body)
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("Expect", "100-continue")
	go func() {
		resp, err := a.client.Do(r)
		if err != nil {
			h.result <- uploadEnd{0, err}
			return
		}
		resp.Body.Close()
		h.result <- uploadEnd{resp.StatusCode, nil}
	}()
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(w, "The code for the gate ")
		sent <- err
	}()
	select {
	case err := <-sent: // the daemon has asked for it
		if err != nil {
			a.Fatal(err)
		}
	case got := <-h.result:
		a.Fatalf("it does not want the file: %+v", got)
	}
	return h
}

// On shutdown, answers in progress end, event streams close, new connections are refused, and
// accepted uploads are there afterwards.
func TestServeLetsRequestsEnd(t *testing.T) {
	t.Setenv("PERCACHED_SHUTDOWN_GRACE", "1m")
	a := startServe(t, t.TempDir())
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	events, err := a.client.Do(a.request("GET", "/v1/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer events.Body.Close()
	half := a.sendHalf("notes")
	a.stop()
	if err := a.log.await(patiently(t), "msg=closing"); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(events.Body); err != nil {
		t.Error(err)
	}
	until(t, "connections are refused", func() bool { // a moment before it may have been let in
		c, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
		if err == nil {
			c.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
	io.WriteString(half.rest, "is 6190.\n")
	half.rest.Close()
	if got := <-half.result; got.err != nil || got.status != http.StatusAccepted {
		t.Errorf("%+v\n%s", got, a.log)
	}
	a.end()

	b := startServe(t, a.dir)
	b.ready()
	all := call[api.Uploads](b, "GET", "/v1/spaces/notes/uploads", "")
	if len(all.Uploads) != 1 || all.Uploads[0].State == api.UploadFailed {
		t.Errorf("%+v", all)
	}
	b.end()
}

// Requests that exceed the time of grace are cancelled.
func TestServeCutsRequests(t *testing.T) {
	t.Setenv("PERCACHED_SHUTDOWN_GRACE", "0")
	a := startServe(t, t.TempDir())
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	half := a.sendHalf("notes")
	a.end()
	half.rest.CloseWithError(io.ErrClosedPipe)
	if got := <-half.result; got.err == nil && got.status < 400 {
		t.Errorf("%+v", got)
	}
	b := startServe(t, a.dir)
	b.ready()
	if all := call[api.Uploads](b, "GET", "/v1/spaces/notes/uploads", ""); len(all.Uploads) != 0 {
		t.Errorf("%+v", all)
	}
	b.end()
}

// A question that exceeds the time of grace gets an answer or an error.
func TestServeCutsQuestions(t *testing.T) {
	conf, g := config.DaemonDefault(), node.Dependencies{}
	conf.Data, conf.Serving.Listen, conf.Serving.Grace = t.TempDir(), "127.0.0.1:0", 0
	conf.Idle.Compute = 0
	began, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	o := llmtest.DefaultOptions()
	o.Step = func(s llmtest.Step) {
		if s.Op == llmtest.OpDecode {
			once.Do(func() { close(began) })
			<-free
		}
	}
	g.Engine = llmtest.NewFake(o)
	a := startServing(t, conf.Data, func(ctx context.Context, stdout, stderr io.Writer) error {
		return daemon.Serve(ctx, config.Of(conf, daemon.CheckConfig), g, stdout, stderr)
	})
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	call[api.UploadStatus](a, "POST", "/v1/spaces/notes/documents?wait=true", gateText)
	type end struct {
		status int
		err    error
	}
	ended := make(chan end, 1)
	go func() {
		resp, err := a.client.Do(a.request("POST", "/v1/spaces/notes/ask", strings.NewReader(gateAsk)))
		if err != nil {
			ended <- end{0, err}
			return
		}
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
		ended <- end{resp.StatusCode, err}
	}()
	<-began
	a.stop()
	if err := a.log.await(patiently(t), "cancelling requests"); err != nil {
		t.Fatal(err)
	}
	close(free)
	if got := <-ended; got.err != nil || got.status != http.StatusOK && got.status != http.StatusServiceUnavailable {
		t.Errorf("%+v\n%s", got, a.log)
	}
	a.end()
}

// A client cannot send more header than the limit.
func TestServeBounds(t *testing.T) {
	t.Setenv("PERCACHED_LOG_LEVEL", "debug") // so that each request is a line
	a := startServe(t, t.TempDir())
	a.ready()
	for long, want := range map[int]int{16 << 10: http.StatusOK, 64 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		r := a.request("GET", "/healthz", nil)
		r.Header.Set("X-Long", strings.Repeat("a", long))
		resp, err := a.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes: status %d, want %d", long, resp.StatusCode, want)
		}
	}
	a.end()
}

// If a daemon cannot start, it prints the reason in one sentence and leaves no files.
func TestServeRefuses(t *testing.T) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	used := startServe(t, filepath.Join(dir, "used"))
	used.ready()
	if err := os.Mkdir(filepath.Join(dir, "foreign"), 0o700); err != nil {
		t.Fatal(err)
	}
	file("foreign/letter.txt", "Dear")
	for _, tc := range []struct {
		name   string
		args   []string
		env    string
		says   string
		status int
	}{
		{"address in use", []string{"--listen", busy.Addr().String()}, "", busy.Addr().String(), 1},
		{"address of another machine", []string{"--listen", "192.0.2.1:0"}, "PERCACHED_INSECURE_LISTEN=true", "192.0.2.1:0", 1},
		{"reachable", []string{"--listen", "0.0.0.0:0"}, "", "insecure-listen", 2},
		{"folder in use", []string{"--data", used.dir}, "", "uses " + used.dir + ": wait until it ends, end it, or name another folder with --data", 4},
		{"folder of somebody else", []string{"--data", filepath.Join(dir, "foreign")}, "", "a data folder of percached", 1},
		{"no such file", []string{"--config", filepath.Join(dir, "nosuch.conf")}, "", "configuration", 3},
		{"a folder for a file", []string{"--config", dir}, "", "configuration", 2},
		{"a wrong file", []string{"--config", file("wrong.conf", "nosuch = 1\nk = x\n")}, "", "wrong.conf:2: k", 2},
		{"a wrong variable", nil, "PERCACHED_NOSUCH=1", "PERCACHED_NOSUCH", 2},
		{"a wrong flag", []string{"--k", "0"}, "", "--k: 0 is not between 1 and 64", 2},
		{"no certificate", []string{"--config", file("tls.conf", "tls-cert = a.pem\ntls-key = a.key\n")}, "", "certificate", 2},
		{"more tokens than the model's context has", nil, "PERCACHED_MAX_TOKENS=9000", "percached: max-tokens: 9000 ", 2},
		{"a wrong origin", []string{"--config", file("origins.conf", "origins = *\n")}, "", "origins.conf:1: origins: invalid origin", 2},
		{"no model", []string{"--model", filepath.Join(dir, "no.gguf")}, "", "no.gguf", 3},
		{"no arguments", []string{"here"}, "", "usage: percached serve", 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if name, value, ok := strings.Cut(tc.env, "="); ok {
				t.Setenv(name, value)
			}
			data := filepath.Join(t.TempDir(), "data")
			args := append([]string{"serve", "--data", data, "--listen", "127.0.0.1:0"}, tc.args...)
			var out, errs strings.Builder
			ctx := patiently(t)
			err := run(ctx, args, strings.NewReader(""), &out, io.Discard)
			if got := commands.Finish(ctx, err, &errs); got != tc.status || !strings.Contains(errs.String(), tc.says) {
				t.Errorf("status %d, says %q; want %d, %q", got, errs.String(), tc.status, tc.says)
			}
			if _, err := os.Stat(filepath.Join(data, "address")); !os.IsNotExist(err) {
				t.Errorf("an address is left: %v", err)
			}
		})
	}
	used.end()
}

// The real binary: the first signal stops it, a kill loses no confirmed write, and the second
// signal ends a slow shutdown.
func TestServeSignals(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, log := t.TempDir(), newLogged()
	start := func() *atWork {
		p, err := child.Start(context.Background(), exe, data, log, "--threads", "1")
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		a := &atWork{T: t, url: p.URL, token: p.Token, dir: data, client: newClient(), log: log, ended: make(chan error, 1)}
		t.Cleanup(a.client.CloseIdleConnections)
		t.Cleanup(func() { p.Cmd.Process.Kill() })
		a.process = p.Cmd
		return a
	}
	t.Setenv("PERCACHED_SHUTDOWN_GRACE", "1h")
	a := start()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	if u := call[api.UploadStatus](a, "POST", "/v1/spaces/notes/documents", gateText); u.ID == "" {
		t.Errorf("%+v", u)
	}
	a.process.Process.Kill()
	a.process.Wait()
	if a.file("address") == "" {
		t.Error("a killed process cannot have removed it")
	}

	b := start()
	if d := b.file("address"); d != b.url+"\n" {
		t.Errorf("the address is %q, it listens at %s", d, b.url)
	}
	uploads := call[api.Uploads](b, "GET", "/v1/spaces/notes/uploads", "")
	if len(uploads.Uploads) != 1 {
		t.Fatalf("what was accepted is lost: %+v", uploads)
	}
	call[api.UploadStatus](b, "POST", "/v1/spaces/notes/documents?wait=true", gateText) // behind the first
	if got := call[api.Answer](b, "POST", "/v1/spaces/notes/ask", gateAsk); got.Answer != "6190" {
		t.Errorf("%+v", got)
	}
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM} {
		b.process.Process.Signal(s)
		if err := b.process.Wait(); err != nil {
			t.Errorf("behind %v: %v\n%s", s, err, log)
		}
		b = start()
	}
	half := b.sendHalf("notes")
	defer half.rest.Close()
	b.process.Process.Signal(syscall.SIGTERM)
	ended := make(chan error, 1)
	go func() { ended <- b.process.Wait() }()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		select {
		case err := <-ended:
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != -1 {
				t.Errorf("it ended with %v, not by a signal\n%s", err, log)
			}
			return
		case <-again.C: // one that comes with the first counts as one with it
			b.process.Process.Signal(syscall.SIGTERM)
		}
	}
}
