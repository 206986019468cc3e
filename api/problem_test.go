package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// Every kind of fault has its status and problem. Internal errors stay hidden and are logged
// with the request's id.
func TestFaultsBecomeProblems(t *testing.T) {
	const secret = "the dentist is on Monday"
	type row struct {
		status int
		name   string
		after  string
		detail string
	}
	want := map[fault.Kind]row{ // the detail without the fix, which ends each
		fault.Invalid: {400, "invalid", "", secret}, fault.NotFound: {404, "not_found", "", secret}, fault.Conflict: {409, "conflict", "", secret},
		fault.Overloaded: {429, "overloaded", "1", secret}, fault.Unavailable: {503, "unavailable", "5", secret},
		fault.Unsupported: {501, "unsupported", "", secret}, fault.Timeout: {504, "timeout", "", ""}, fault.Internal: {500, "internal", "", ""},
	}
	log := &logs{}
	var err error
	srv := testServer(t, Backend{About: func(context.Context, Nothing) (About, error) { return About{}, err }},
		func(o *Options) { o.Logger = log.logger() })
	for k := fault.Invalid; k <= fault.Internal; k++ {
		w, ok := want[k]
		if !ok {
			t.Fatalf("nobody says what becomes of %v", k)
		}
		for _, err = range []error{
			fault.New(k, "op", "%s", secret),
			fault.Wrap("answer.Ask", fault.New(k, "op", "%s", secret)),
			fmt.Errorf("ask: %w", fault.Wrap("answer.Ask", fault.New(k, "op", "%s", secret))),
		} {
			a := exchangeRaw(t, srv, raw("GET /v1/about", "", "X-Request-Id: r-"+w.name))
			detail, whatToDo := strings.CutSuffix(a.problem.Detail, a.problem.Fix)
			if !whatToDo || a.problem.Fix == "" {
				t.Errorf("%v: the detail does not say what to do: %s", k, a.text)
			}
			if diff := cmp.Diff(w, row{a.StatusCode, a.name(), a.Header.Get("Retry-After"), strings.TrimSuffix(detail, ". ")}, cmp.AllowUnexported(row{})); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if w.detail == "" && strings.Contains(a.text, "dentist") {
				t.Errorf("%v: the answer tells %s", k, a.text)
			}
			if logged := log.has(`"id":"r-` + w.name + `","error"`); logged != (w.status >= 500) {
				t.Errorf("%v: logged: %v", k, logged)
			}
		}
	}
	err = errors.New(secret) // nobody gave it a kind
	if a := exchangeRaw(t, srv, raw("GET /v1/about", "")); a.StatusCode != 500 || strings.Contains(a.text, "dentist") {
		t.Errorf("status %d: %s", a.StatusCode, a.text)
	}
}

// The client receives percached's own words, and nothing of the operating system's or of
// internal errors.
func TestWhatIsTold(t *testing.T) {
	_, system := os.Open("/nowhere/secret")
	const sentence = "the disk is full"
	for want, errs := range map[string][]error{
		sentence: {
			fault.New(fault.Unavailable, "op", sentence),
			fault.Wrap("outer", fault.New(fault.Unavailable, "op", sentence)),
			fault.New(fault.Unavailable, "outer", "%w", fault.New(fault.Conflict, "op", sentence)).(*fault.Error).Err,
			fault.New(fault.Unavailable, "outer", "%w", fault.New(fault.Unavailable, "op", sentence)),
			fault.New(fault.Unavailable, "op", "%w", &fs.PathError{Op: "write", Path: "/nowhere/secret", Err: syscall.ENOSPC}),
			fault.New(fault.Unavailable, "op", "at /nowhere: %w", syscall.ENOSPC),
		},
		"the disk is full: 128 MiB must be free": {
			fault.New(fault.Unavailable, "kv.room", "%w", fmt.Errorf("%w, and 3 MiB are", &durable.Full{Needs: 128 << 20})),
			fault.Wrap("ingest.Add", fault.New(fault.Unavailable, "kv.commit", "%w", &durable.Full{Needs: 128<<20 - 1})),
		},
		"line 3: the disk is full": {fault.New(fault.Invalid, "op", "line 3: %w", errors.New(sentence))},
		"cannot open it: it is damaged; restore it": {
			fault.New(fault.Invalid, "home.Open", "cannot open it: %w; restore it", fault.New(fault.Unsupported, "encryption.Open", "it is damaged")),
		},
		"one; two": {errors.Join(fault.New(fault.Invalid, "op", "one"), fault.New(fault.Invalid, "op", "two"))},
		"": {
			fault.New(fault.Unavailable, "op", "%w", system), fault.New(fault.Invalid, "op", "%w", system),
			fault.New(fault.Invalid, "op", "read: %w", &fs.PathError{Op: "open", Path: "/nowhere/secret", Err: fs.ErrPermission}),
			fault.New(fault.NotFound, "op", "%w", fault.New(fault.Internal, "op", sentence)),
			fault.New(fault.Overloaded, "op", "%w", errors.New(sentence)),
			errors.New(sentence), system, fault.New(fault.Internal, "op", sentence),
		},
	} {
		for _, err := range errs {
			if got := publicDetail(err); got != want {
				t.Errorf("of %q is told %q, want %q", err, got, want)
			}
		}
	}
}

// Field errors of the backend reach the client.
func TestFieldErrors(t *testing.T) {
	fields := FieldErrors{{"/threshold", "must be 0 to 1"}, {"/stride", "must not be negative"}}
	srv := testServer(t, Backend{ChangeConfig: func(context.Context, ConfigChange) (Config, error) {
		return Config{}, fault.Wrap("config.Change", fmt.Errorf("change: %w", fields))
	}})
	a := exchangeRaw(t, srv, raw("PATCH /v1/config", `{"threshold":"2"}`))
	if diff := cmp.Diff([]FieldError(fields), a.problem.Errors); diff != "" || a.StatusCode != 400 || a.name() != "invalid" {
		t.Errorf("status %d (-want +got):\n%s", a.StatusCode, diff)
	}
}

// On OpenAI's paths, problems also have OpenAI's format.
func TestProblemsForOpenAI(t *testing.T) {
	x := &exchange{id: "r1", path: "/v1/models"}
	field := "model"
	for _, tt := range []struct {
		err  error
		want OpenAIError
	}{
		{invalidField("/model", "must name a space"), OpenAIError{problems[problemInvalid].title + ": /model must name a space", "invalid_request_error", "invalid", &field}},
		{refuse(problemUnauthorized, ""), OpenAIError{problems[problemUnauthorized].title, "authentication_error", "unauthorized", nil}},
		{refuse(problemForbidden, ""), OpenAIError{problems[problemForbidden].title, "permission_error", "forbidden", nil}},
		{fault.New(fault.Overloaded, "op", "64 wait"), OpenAIError{problems[problemOverloaded].title + ": 64 wait", "rate_limit_error", "overloaded", nil}},
		{fault.New(fault.Internal, "op", "x"), OpenAIError{problems[problemInternal].title, "server_error", "internal", nil}},
	} {
		if diff := cmp.Diff(&tt.want, x.problemOf(tt.err).Error); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.err, diff)
		}
	}
	if p := (&exchange{}).problemOf(refuse(problemForbidden, "")); p.Error != nil {
		t.Error("other clients are told in OpenAI's form")
	}
	srv := testServer(t, about())
	for request, want := range map[string]bool{
		"POST /v1/responses": true, "PUT /v1/chat/completions": true, "GET /v1/models/x%2fy": true, "PUT /v1/spaces": false, "GET /v1/engines": false,
	} {
		if a := exchangeRaw(t, srv, raw(request, "")); a.StatusCode/100 != 4 || (a.problem.Error != nil) != want {
			t.Errorf("%s: status %d, in OpenAI's form: %v", request, a.StatusCode, a.problem.Error)
		}
	}
}

// The table in docs/api.md equals the table in problem.go.
func TestProblemsAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	type row struct{ status, title, fix string }
	got, want := map[string]row{}, map[string]row{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([0-9]{3}) \\| (.*) \\| (.*) \\|$").FindAllStringSubmatch(string(b), -1) {
		got[m[1]] = row{m[2], m[3], m[4]}
	}
	for name, r := range problems {
		want[string(name)] = row{fmt.Sprint(r.status), r.title, r.fix}
		if http.StatusText(r.status) == "" || r.after%time.Second != 0 || (r.status == 429 || r.status == 503) != (r.after > 0) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(row{})); diff != "" {
		t.Errorf("docs/api.md (-code +docs):\n%s", diff)
	}
}

// Neither responses nor logs contain a client's data, except field names.
func TestNothingIsGivenAway(t *testing.T) {
	const secret = "dentist"
	log := &logs{}
	srv := testServer(t, Backend{
		Ask: func(context.Context, AskRequest, Listener) (Answer, error) {
			return Answer{}, fault.New(fault.Timeout, "op", "late")
		},
		SearchEntries: func(context.Context, EntrySearch) (Entries, error) {
			return Entries{}, fault.New(fault.Unavailable, "op", "closed")
		},
		Entry: func(context.Context, OneEntry) (Entry, error) {
			return Entry{}, fault.New(fault.NotFound, "op", "no such entry")
		},
	}, func(o *Options) { o.Logger = log.logger() })
	for _, text := range []string{
		raw(askMail, `{"question":"`+secret+`"}`), raw(askMail, `{"question":"`+secret+`","threshold":7}`), raw(askMail, `{"question":{"x":"`+secret+`"}}`),
		raw(askMail, secret), raw(askMail, `{"threshold":"`+secret+`","question":"`+secret+`"}`), raw(askMail, `["`+secret+`"]`),
		raw("GET /v1/spaces/mail/entries/search?q="+secret, ""), raw("GET /v1/spaces/mail/entries/search?q="+secret+"&limit="+secret, ""),
		raw("GET /v1/spaces/mail/entries/"+secret, ""), raw("GET /v1/spaces/mail/documents/"+secret, ""), raw("GET /"+secret, ""),
		raw("GET /v1/idle/ledger?since="+secret, ""), raw("GET /v1/about", "", "Authorization: Bearer "+secret), raw("GET /v1/about", "", "Host: "+secret),
		raw("GET /v1/about", "", "Origin: http://"+secret),
		raw(askMail, `{}`, "Content-Type: text/"+secret), raw(askMail, `{}`, "Accept: text/"+secret), raw("GET /v1/spaces/%00"+secret, ""),
	} {
		a := exchangeRaw(t, srv, text)
		if a.StatusCode < 400 || strings.Contains(a.text, secret) {
			t.Errorf("status %d: %s", a.StatusCode, a.text)
		}
	}
	srv.Close() // a request is logged when its client has the answer
	if log.has(secret) || log.has(adminToken) {
		t.Errorf("the log tells of it:\n%s", log)
	}
	if n := strings.Count(log.String(), `"msg":"request"`); n != 18 {
		t.Errorf("%d lines for 18 requests:\n%s", n, log)
	}
}
