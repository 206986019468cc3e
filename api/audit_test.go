package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// audited sends a request to a server with an audit log, and returns its status and the log.
func audited(t *testing.T, b Backend, ready func() error, what, body string, headers ...string) (status int, log []Audited) {
	t.Helper()
	var mu sync.Mutex
	srv := testServer(t, b, func(o *Options) {
		o.Audit = Audit{Ready: ready, Write: func(a Audited) {
			mu.Lock()
			defer mu.Unlock()
			log = append(log, a)
		}}
	})
	resp, _ := send(t, srv, what, body, headers...)
	srv.Close() // a record follows its response
	return resp.StatusCode, log
}

// Each operation that asks, changes or exports is recorded, with ids and counts and without any
// text; others are not.
func TestAudit(t *testing.T) {
	const secret = "dentist"
	document := percached.DocumentID{1}
	text, _ := document.MarshalText()
	b := Backend{
		Ask: func(context.Context, AskRequest, Listener) (Answer, error) {
			return Answer{Answer: secret, Outcome: "miss", Entry: "e1", Citations: []Citation{{Quote: secret}}}, nil
		},
		Upload: func(context.Context, Upload) (UploadStatus, error) {
			return UploadStatus{ID: "u1", Files: 1, Bytes: 3}, nil
		},
		DeleteDocument: func(context.Context, DeleteDocumentRequest) (Receipt, error) {
			return Receipt{Documents: 1, Chunks: 2}, nil
		},
		DeleteSpace: func(context.Context, DeleteRequest) (Receipt, error) {
			return Receipt{}, fault.New(fault.NotFound, "op", secret)
		},
		ChangeConfig: func(context.Context, ConfigChange) (Config, error) { return Config{}, nil },
		CreateSpace:  func(context.Context, NewSpace) (Space, error) { return Space{Name: "work"}, nil },
		Documents:    func(context.Context, DocumentPage) (Documents, error) { return Documents{}, nil },
		Export:       func(context.Context, Export) (Nothing, error) { return Nothing{}, nil },
	}
	const phone = "Authorization: Bearer " + mailAskToken
	for _, tc := range []struct {
		what, body string
		headers    []string
		want       Audited
	}{
		{"POST /v1/spaces/mail/ask", `{"question":"` + secret + `?"}`, []string{phone}, Audited{
			Operation: "ask", Token: "mail-ask", Name: "phone", Space: "mail", Status: 200, Answer: "miss",
			IDs: map[string]string{"entry": "e1"}, Counts: map[string]int64{"citations": 1},
		}},
		{"POST /v1/spaces/mail/ask/stream", `{"question":"` + secret + `?"}`, nil, Audited{
			Operation: "askStream", Token: "admin", Space: "mail", Status: 200, Answer: "miss", IDs: map[string]string{"entry": "e1"}, Counts: map[string]int64{"citations": 1},
		}},
		{"POST /v1/chat/completions", `{"model":"mail","messages":[{"role":"user","content":"` + secret + `?"}]}`, nil, Audited{
			Operation: "createChatCompletion", Token: "admin", Space: "mail", Status: 200, Answer: "miss", IDs: map[string]string{"entry": "e1"}, Counts: map[string]int64{"citations": 1},
		}},
		{"POST /v1/spaces/mail/documents?name=" + secret, secret, []string{"Content-Type: text/plain"}, Audited{
			Operation: "upload", Token: "admin", Space: "mail", Status: 202, IDs: map[string]string{"upload": "u1"}, Counts: map[string]int64{"files": 1, "bytes": 3}, Sync: true,
		}},
		{"DELETE /v1/spaces/mail/documents/" + string(text), "", nil, Audited{
			Operation: "deleteDocument", Token: "admin", Space: "mail", Status: 200, IDs: map[string]string{"document": string(text)},
			Counts: map[string]int64{"documents": 1, "chunks": 2}, Sync: true,
		}},
		{"DELETE /v1/spaces/mail/documents/" + secret, "", nil, Audited{Operation: "deleteDocument", Token: "admin", Space: "mail", Status: 400, Outcome: "invalid"}},
		{"DELETE /v1/spaces/mail", "", nil, Audited{Operation: "deleteSpace", Token: "admin", Space: "mail", Status: 404, Outcome: "not_found", Sync: true}},
		{"DELETE /v1/spaces/mail", "", []string{phone}, Audited{
			Operation: "deleteSpace", Token: "mail-ask", Name: "phone", Space: "mail", Status: 403, Outcome: "forbidden",
		}},
		{"DELETE /v1/spaces/A%20" + secret, "", nil, Audited{Operation: "deleteSpace", Token: "admin", Status: 400, Outcome: "invalid"}},
		{"PATCH /v1/config", `{"k":"2"}`, nil, Audited{Operation: "changeConfig", Token: "admin", Status: 200, Keys: []string{"k"}, Sync: true}},
		{"POST /v1/spaces", `{"name":"work"}`, nil, Audited{Operation: "createSpace", Token: "admin", Space: "work", Status: 201, Sync: true}},
		{"GET /v1/spaces/mail/entries/export", "", nil, Audited{Operation: "exportEntries", Token: "admin", Space: "mail", Status: 200, Sync: true}},
		{"GET /v1/spaces/mail/documents", "", nil, Audited{}},
		{"GET /healthz", "", nil, Audited{}},
		{"POST /v1/spaces/mail/ask", `{"question":"?"}`, []string{"Authorization: Bearer pc_unknown"}, Audited{}},
	} {
		t.Run(tc.what, func(t *testing.T) {
			_, log := audited(t, b, func() error { return nil }, tc.what, tc.body, append(tc.headers, "X-Request-Id: r1")...)
			var want []Audited
			if w := tc.want; w.Operation != "" {
				w.Request = "r1"
				if w.Outcome == "" {
					w.Outcome = "done"
				}
				want = append(want, w)
			}
			if d := cmp.Diff(want, log, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

// An upload that goes on without its client, and what a failed deletion was about, are recorded.
func TestAuditNotDone(t *testing.T) {
	document := strings.Repeat("0a", 16)
	b := Backend{
		Upload: func(_ context.Context, u Upload) (UploadStatus, error) {
			u.Accepted(UploadStatus{ID: "u1", Files: 1, Bytes: 3})
			return UploadStatus{}, fault.New(fault.Unavailable, "op", "waiting ended")
		},
		DeleteDocument: func(context.Context, DeleteDocumentRequest) (Receipt, error) {
			return Receipt{}, fault.New(fault.Unavailable, "op", "half of it")
		},
	}
	ready := func() error { return nil }
	_, log := audited(t, b, ready, "POST /v1/spaces/mail/documents?wait=true&name=a.txt", "abc", "Content-Type: text/plain")
	if len(log) != 1 || log[0].Outcome != "unavailable" || log[0].IDs["upload"] != "u1" || log[0].Counts["bytes"] != 3 || !log[0].Sync {
		t.Errorf("%+v", log)
	}
	_, log = audited(t, b, ready, "DELETE /v1/spaces/mail/documents/"+document, "")
	if len(log) != 1 || log[0].Outcome != "unavailable" || log[0].IDs["document"] != document || !log[0].Sync {
		t.Errorf("%+v", log)
	}
}

// What cannot be recorded is refused; what need not be is served.
func TestAuditNotReady(t *testing.T) {
	b := Backend{Documents: func(context.Context, DocumentPage) (Documents, error) { return Documents{}, nil }}
	ready := func() error { return errors.New("no room in /secret") }
	if status, log := audited(t, b, ready, "POST /v1/spaces/mail/ask", `{"question":"?"}`); status != http.StatusServiceUnavailable || len(log) > 0 {
		t.Error(status, log)
	}
	if status, _ := audited(t, b, ready, "GET /v1/spaces/mail/documents", ""); status != http.StatusOK {
		t.Error(status)
	}
}

func TestAuditOptions(t *testing.T) {
	if err := (Audit{Write: func(Audited) {}}).validate(); err == nil || !strings.Contains(err.Error(), "Audit") {
		t.Error(err)
	}
}
