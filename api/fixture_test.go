package api

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/percached/percached/api/hostile"
	"github.com/percached/percached/internal/base/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The tokens of tests: one per role, for all spaces or for the space "mail".
const (
	adminToken     = "pc_admin"
	writeToken     = "pc_write"
	askToken       = "pc_ask"
	mailAdminToken = "pc_mail_admin"
	mailWriteToken = "pc_mail_write"
	mailAskToken   = "pc_mail_ask"
)

func authorize(_ context.Context, secret string) (Grant, error) {
	g, ok := map[string]Grant{
		adminToken: {Token: "admin", Role: RoleAdmin}, writeToken: {Token: "write", Role: RoleWrite}, askToken: {Token: "ask", Role: RoleAsk},
		mailAdminToken: {Token: "mail-admin", Space: "mail", Role: RoleAdmin}, mailWriteToken: {Token: "mail-write", Space: "mail", Role: RoleWrite},
		mailAskToken: {Token: "mail-ask", Name: "phone", Space: "mail", Role: RoleAsk},
	}[secret]
	if !ok {
		return g, fault.New(fault.Invalid, "test", "the token is unknown")
	}
	return g, nil
}

// fill sets each nil func of b to one that fails the test.
func fill(t testing.TB, b Backend) Backend {
	v := reflect.ValueOf(&b).Elem()
	for i := range v.NumField() {
		f, name := v.Field(i), v.Type().Field(i).Name
		if f.IsNil() {
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value {
				t.Errorf("the backend was called: %s", name)
				err := fault.New(fault.Internal, "test", "not expected")
				return []reflect.Value{reflect.Zero(f.Type().Out(0)), reflect.ValueOf(&err).Elem()}
			}))
		}
	}
	return b
}

// newServer makes a server. change may modify the options.
func newServer(t testing.TB, b Backend, change ...func(*Options)) *Server {
	t.Helper()
	o := Default()
	o.Authorize, o.Events = authorize, &EventBus{}
	o.Ready = func() Ready { return Ready{Ready: true, Stage: "ready", Progress: 1} }
	o.Spec, o.Version = []byte("openapi: 3.0.3\n"), "test"
	for _, f := range change {
		f(&o)
	}
	s, err := New(fill(t, b), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// testServer serves a backend on a socket.
func testServer(t testing.TB, b Backend, change ...func(*Options)) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(newServer(t, b, change...))
	srv.Config.MaxHeaderBytes = hostile.MaxHeader
	srv.Config.DisableGeneralOptionsHandler = true
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// send sends a request, "POST /path" with headers as "Name: value", and reads the response. It
// uses the admin token unless a header sets another.
func send(t testing.TB, srv *httptest.Server, what, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	method, path, _ := strings.Cut(what, " ")
	r, err := http.NewRequestWithContext(context.Background(), method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	if body != "" {
		r.Header.Set("Content-Type", jsonType)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if r.Header.Del(name); value != "" {
			r.Header.Set(name, value)
		}
	}
	resp, err := srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}
