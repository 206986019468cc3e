package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/api/hostile"
)

// TestHostileRequests: a daemon answers each bad request as it should, lives, and
// nothing has changed.
func TestHostileRequests(t *testing.T) {
	t.Setenv("PERCACHED_MAX_BODY", "64KiB")
	t.Setenv("PERCACHED_MAX_HEADER", "1MiB")
	w := newWorld(t)
	ctx := context.Background()
	made, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: mail})
	w.is(201, made, err)
	in, err := w.all.UploadWithResponse(ctx, mail, &client.UploadParams{Wait: new(true)}, client.Texts{Documents: []client.NewDocument{{Text: "The pond is deep."}}})
	w.is(200, in, err)
	w.asks(ctx, client.Question{Question: "How deep is the pond?"})
	before := w.pictureOf(ctx, mail)
	tokens := hostile.Tokens{
		All: w.token, Write: w.tokenFor("", "write"), MailAdmin: w.tokenFor(mail, "admin"), MailAsk: w.tokenFor(mail, "ask"),
	}
	for _, tt := range hostile.Requests(tokens) {
		t.Run(tt.Name, func(t *testing.T) {
			status, problem := sent(t, strings.TrimPrefix(w.url, "http://"), tt.Text)
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

// sent sends a request as it is and reads status and problem of the answer.
func sent(t *testing.T, address, text string) (status int, problem string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go io.WriteString(c, text) // the daemon may refuse before it has read all
	method, _, _ := strings.Cut(text, " ")
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("no response: %v", err)
	}
	defer r.Body.Close()
	var p struct {
		Type string `json:"type"`
	}
	if b, err := io.ReadAll(r.Body); err != nil || json.Unmarshal(b, &p) != nil {
		return r.StatusCode, ""
	}
	return r.StatusCode, strings.TrimPrefix(p.Type, "urn:percached:problem:")
}
