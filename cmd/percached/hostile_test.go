package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api"
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/api/hostile"
	"github.com/percached/percached/internal/config"
)

// TestHostileRequests: a daemon answers each bad request correctly, keeps running, and changes
// nothing.
func TestHostileRequests(t *testing.T) {
	w := newWorld(t)
	ctx := context.Background()
	made, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: mail})
	w.is(201, made, err)
	in, err := w.all.UploadWithResponse(ctx, mail, &client.UploadParams{Wait: new(true)}, client.Texts{Documents: []client.NewDocument{{Text: "The pond is deep."}}})
	w.is(200, in, err)
	w.asks(ctx, client.Question{Question: "How deep is the pond?"})
	before := w.pictureOf(ctx, mail)
	tokens := hostile.Tokens{
		All: w.Token, Write: w.tokenFor("", "write"), MailAdmin: w.tokenFor(mail, "admin"), MailAsk: w.tokenFor(mail, "ask"),
	}
	for _, tt := range hostile.Requests(tokens) {
		t.Run(tt.Name, func(t *testing.T) {
			status, problem := sent(t, strings.TrimPrefix(w.URL, "http://"), tt.Text)
			if status != tt.Status || problem != tt.Problem {
				t.Errorf("answered %d %q, want %d %q", status, problem, tt.Status, tt.Problem)
			}
		})
	}
	health, err := w.all.HealthWithResponse(ctx)
	w.is(200, health, err)
	if d := cmp.Diff(before, w.pictureOf(ctx, mail)); d != "" {
		t.Errorf("something changed:\n%s", d)
	}
	if said := w.errs.String(); strings.Contains(said, "pond") || strings.Contains(said, "panic") || strings.Contains(said, "level=ERROR") {
		t.Error("the log tells of documents, or of something that broke")
	}
}

// sent sends a raw request, and reads status and problem of the response.
func sent(t *testing.T, address, text string) (status int, problem string) {
	r, err := hostile.Send(address, text)
	if err != nil {
		t.Fatalf("no response: %v", err)
	}
	var p struct {
		Type string `json:"type"`
	}
	if b, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(b, &p) != nil {
		return r.StatusCode, ""
	}
	return r.StatusCode, strings.TrimPrefix(p.Type, "urn:percached:problem:")
}

// TestSlowSenders: a client that stops within a request blocks nothing for long.
func TestSlowSenders(t *testing.T) {
	a := startServeWith(t, func(c *config.Config) {
		c.Serving.SendTimeout, c.Serving.HeaderTimeout = 200*time.Millisecond, time.Duration(repeated(3, 1))*time.Second
	})
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"mail"}`)
	address := strings.TrimPrefix(a.url, "http://")
	for name, text := range map[string]string{
		"a question": hostile.Text(a.token, "POST /v1/spaces/mail/ask", `{"question":"wh`, "Content-Length: 100"),
		"documents":  hostile.Text(a.token, "POST /v1/spaces/mail/documents", `{"documents":[{"text":"a"},`, "Content-Length: 100"),
		"a file":     hostile.Text(a.token, "POST /v1/spaces/mail/documents?name=a.txt", "The pond", "Content-Type: text/plain", "Content-Length: 100"),
		"a form": hostile.Text(a.token, "POST /v1/spaces/mail/documents", "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.txt\"\r\n\r\nThe",
			"Content-Type: multipart/form-data; boundary=b", "Content-Length: 1000"),
	} {
		if status, problem := sent(t, address, text); status != 408 || problem != "slow_request" {
			t.Errorf("%s: answered %d %q", name, status, problem)
		}
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET /v1/spaces HTTP/1.1\r\nHost: loc")
	if b, err := io.ReadAll(c); err != nil || len(b) > 0 && !strings.HasPrefix(string(b), "HTTP/1.1 408") && !strings.HasPrefix(string(b), "HTTP/1.1 400") {
		t.Errorf("half a header: %q, %v", b, err)
	}
	if docs := call[api.Documents](a, "GET", "/v1/spaces/mail/documents", ""); len(docs.Documents) != 0 {
		t.Errorf("half an upload is in: %+v", docs.Documents)
	}
	a.end()
}
