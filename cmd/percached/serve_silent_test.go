package main

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/percached/percached/internal/config"
)

// Many silent clients without a token neither block a client with a token nor close its
// connection.
func TestServeClosesSilentConnections(t *testing.T) {
	a := startServeWith(t, func(c *config.Config) {
		c.Serving.Connections, c.Serving.HeaderTimeout = 8, time.Hour // connections are closed for room alone
	})
	a.ready()
	dial := func() net.Conn {
		c, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	own := dial()
	heard := bufio.NewReader(own)
	ask := func() {
		t.Helper()
		if _, err := io.WriteString(own, "GET /v1/about HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+a.token+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(heard, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatal(resp, err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	ask()
	var closed sync.WaitGroup
	var open []net.Conn
	for i := range 12 {
		c := dial()
		if i%2 == 1 {
			io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
		}
		if i >= 8 { // the last four have the places of those without a token
			open = append(open, c)
		} else {
			closed.Go(func() {
				if _, err := c.Read(make([]byte, 1)); err == nil {
					t.Errorf("connection %d is answered", i)
				}
			})
		}
	}
	closed.Wait()
	ask()
	if got := call[struct{ Version string }](a, "GET", "/v1/about", ""); got.Version == "" {
		t.Error("a new connection is not served")
	}
	for _, c := range open { // the daemon would wait for what they send
		c.Close()
	}
	a.end()
}
