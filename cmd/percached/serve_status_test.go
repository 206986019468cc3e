package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/node"
)

// atWork is a percached serve in this process.
type atWork struct {
	*testing.T
	url, token string
	dir        string
	client     *http.Client
	log        *logged
	stop       context.CancelFunc // as a signal does
	ended      chan error
	process    *exec.Cmd // in place of stop and ended, where it is one of its own
}

// logged is a log that tests can wait for.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{}
}

func newLogged() *logged { return &logged{more: make(chan struct{})} }

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until the log contains a text.
func (l *logged) await(ctx context.Context, text string) error {
	for {
		l.mu.Lock()
		found, more := strings.Contains(l.text.String(), text), l.more
		l.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// patiently is a context with a generous deadline.
func patiently(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// until waits for something that only a repeated request can see. It leaves the processor to the
// daemon in between.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for ctx := patiently(t); !holds(); {
		select {
		case <-again.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// repeated is how often a test repeats what it does: less often with -short.
func repeated(times, short int) int {
	if testing.Short() {
		return short
	}
	return times
}

// startServe runs percached serve and waits until it listens.
func startServe(t *testing.T, dir string, args ...string) *atWork {
	t.Helper()
	return startServing(t, dir, func(ctx context.Context, stdout, stderr io.Writer) error {
		args := append([]string{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--threads", "1"}, args...)
		return run(ctx, args, strings.NewReader(""), stdout, stderr)
	})
}

// startServeWith serves in this process with replaced dependencies.
func startServeWith(t *testing.T, set func(*config.Config)) *atWork {
	t.Helper()
	c := config.DaemonDefault()
	c.Data, c.Serving.Listen, c.Threads = t.TempDir(), "127.0.0.1:0", 1
	set(&c)
	return startServing(t, c.Data, func(ctx context.Context, stdout, stderr io.Writer) error {
		return daemon.Serve(ctx, config.Of(c, daemon.CheckConfig), node.Dependencies{}, stdout, stderr)
	})
}

func startServing(t *testing.T, dir string, serve func(ctx context.Context, stdout, stderr io.Writer) error) *atWork {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	a := &atWork{T: t, dir: dir, client: newClient(), log: newLogged(), stop: stop, ended: make(chan error, 1)}
	t.Cleanup(a.client.CloseIdleConnections)
	out, w := io.Pipe()
	go func() {
		err := serve(ctx, w, a.log)
		w.Close()
		a.ended <- err
	}()
	t.Cleanup(func() { stop() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("it did not begin to listen: %v\n%s", <-a.ended, a.log)
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), "listening on ")
	if !ok {
		t.Fatalf("it says %q", line)
	}
	a.url = url
	a.token = strings.TrimSpace(a.file("token"))
	return a
}

// newClient makes a client that waits for 100 Continue if the daemon asks for it.
func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Hour}}
}

func (a *atWork) file(name string) string {
	a.Helper()
	b, err := os.ReadFile(filepath.Join(a.dir, name))
	if err != nil {
		a.Fatal(err)
	}
	return string(b)
}

// ready waits until the daemon is ready.
func (a *atWork) ready() {
	a.Helper()
	if err := a.log.await(patiently(a.T), "msg=ready"); err != nil {
		a.Fatalf("%v\n%s", err, a.log)
	}
}

// end stops the daemon as a signal does.
func (a *atWork) end() {
	a.Helper()
	a.stop()
	if err := <-a.ended; err != nil {
		a.Errorf("it ended with %v\n%s", err, a.log)
	}
}

func (a *atWork) request(method, path string, body io.Reader) *http.Request {
	a.Helper()
	r, err := http.NewRequestWithContext(patiently(a.T), method, a.url+path, body)
	if err != nil {
		a.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r
}

// call sends and reads JSON.
func call[T any](a *atWork, method, path, body string) (got T) {
	a.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	resp, err := a.client.Do(a.request(method, path, in))
	if err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		a.Fatalf("%s %s: %s %s %v", method, path, resp.Status, text, err)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		a.Fatal(err)
	}
	return got
}

func (a *atWork) status(path string) int {
	a.Helper()
	resp, err := a.client.Do(a.request("GET", path, nil))
	if err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

const (
	gateText = `{"documents":[{"title":"Gate","text":"The code for the gate at Wharf Road is 6190."}]}`
	gateAsk  = `{"question":"What is the code for the gate at Wharf Road?"}`
)
