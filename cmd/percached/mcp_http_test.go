package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withToken adds a token to each request.
type withToken string

func (t withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

// An assistant over HTTP needs a token, and does what the token may. It passes on its own
// conversation, and a question leans on it.
func TestMCPOverHTTP(t *testing.T) {
	if testing.Short() && raced {
		t.Skip("runs the model")
	}
	data := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	lines, stderr := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"mcp", "--data", data, "--threads", "1", "--listen", "127.0.0.1:0"}, strings.NewReader(""), io.Discard, stderr)
		stderr.CloseWithError(io.EOF)
		ended <- err
	}()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error("percached mcp ended:", err)
		}
	}()
	address := ""
	for s := bufio.NewScanner(lines); address == "" && s.Scan(); {
		address = regexp.MustCompile(`http://\S+/mcp`).FindString(s.Text())
	}
	go io.Copy(io.Discard, lines) //nolint:errcheck // until it ends
	if address == "" {
		t.Fatal("it says no address:", <-ended)
	}
	var out bytes.Buffer
	if err := run(ctx, []string{"token", "show", "--data", data}, strings.NewReader(""), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	secret := strings.TrimSpace(out.String())

	connect := func(token string) (*mcp.ClientSession, error) {
		c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		return c.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{Transport: withToken(token)}, DisableStandaloneSSE: true}, nil)
	}
	if _, err := connect("wrong"); err == nil {
		t.Error("a wrong token is let in")
	}
	s, err := connect(secret)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	said := []map[string]any{{"role": "user", "text": "My sister Ana lives in Bergen."}, {"role": "assistant", "text": "Noted."}}
	synced, failed := callTool[syncOutput](t, s, "sync", map[string]any{"turns": said})
	if synced.Turns != 2 || failed != "" {
		t.Fatalf("%+v %s", synced, failed)
	}
	if _, failed := callTool[askOutput](t, s, "ask", map[string]any{"question": "Where does my sister live?", "conversation": synced.Conversation}); failed != "" {
		t.Error(failed)
	}
	again, failed := callTool[syncOutput](t, s, "sync", map[string]any{"turns": said[:1], "conversation": synced.Conversation})
	if again.Turns != 5 || again.Conversation != synced.Conversation || failed != "" {
		t.Errorf("%+v %s", again, failed)
	}
	for name, args := range map[string]map[string]any{
		"nothing": {"turns": []any{}}, "role": {"turns": []map[string]any{{"role": "system", "text": "x"}}}, "id": {"turns": said, "conversation": "7"},
	} {
		if _, failed := callTool[syncOutput](t, s, "sync", args); failed == "" {
			t.Errorf("%s: taken", name)
		}
	}

	for name, change := range map[string]func(*http.Request){
		"no token":     func(r *http.Request) { r.Header.Del("Authorization") },
		"another host": func(r *http.Request) { r.Host = "evil.example" },
		"another site": func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
	} {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+secret)
		change(r)
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != http.StatusForbidden && got.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: status %d", name, got.StatusCode)
		}
	}
}

// Addresses that other machines can reach are refused.
func TestMCPListensLocally(t *testing.T) {
	for _, address := range []string{"0.0.0.0:7331", ":7331", "192.168.1.2:7331", "example.org:80", "7331"} {
		if err := checkLoopback(address); err == nil {
			t.Errorf("%s is accepted", address)
		}
	}
	for _, address := range []string{"127.0.0.1:7331", "localhost:0", "[::1]:7331"} {
		if err := checkLoopback(address); err != nil {
			t.Error(err)
		}
	}
}
