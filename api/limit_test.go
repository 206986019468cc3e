package api

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
)

// No more than MaxRequests are served at the same time. Others are told at once
// to come back, whether it lives can be asked at any time, and slots that were
// given back can be taken.
func TestTooManyRequests(t *testing.T) {
	const most = 3
	begun, goOn := make(chan bool), make(chan bool)
	srv := testServer(t, Backend{About: func(context.Context, Nothing) (About, error) {
		begun <- true
		<-goOn
		return About{}, nil
	}}, func(o *Options) { o.MaxRequests = most })
	for range 2 {
		var all sync.WaitGroup
		for range most {
			all.Go(func() {
				if resp, text := send(t, srv, "GET /v1/about", ""); resp.StatusCode != 200 {
					t.Errorf("status %d: %s", resp.StatusCode, text)
				}
			})
			<-begun
		}
		for range 5 {
			a := exchangeRaw(t, srv, raw("GET /v1/about", ""))
			if a.StatusCode != 429 || a.name() != "too_many_requests" || a.Header.Get("Retry-After") != "1" {
				t.Errorf("status %d: %s", a.StatusCode, a.text)
			}
		}
		for _, path := range []string{"/healthz", "/readyz"} {
			if a := exchangeRaw(t, srv, raw("GET "+path, "")); a.StatusCode != 200 {
				t.Errorf("%s: status %d", path, a.StatusCode)
			}
		}
		for range most {
			goOn <- true
		}
		all.Wait()
	}
}

// A handler that panics is a problem like others, its slot is given back, and the
// daemon lives. What was half sent is cut.
func TestPanic(t *testing.T) {
	log := &logs{}
	srv := testServer(t, Backend{
		About: func(context.Context, Nothing) (About, error) {
			panic("a bug")
		},
		Export: func(_ context.Context, in Export) (Nothing, error) {
			for range 10000 {
				_ = in.Each(ExportedEntry{})
			}
			panic("broken")
		},
		Config: func(context.Context, Nothing) (Config, error) { panic(http.ErrAbortHandler) },
	}, func(o *Options) { o.MaxRequests, o.Logger = 1, log.logger() })
	for range 3 {
		a := exchangeRaw(t, srv, raw("GET /v1/about", ""))
		if a.StatusCode != 500 || a.name() != "internal" || a.problem.Detail != "" {
			t.Errorf("status %d: %s", a.StatusCode, a.text)
		}
	}
	if !log.has("a bug") || !log.has("TestPanic") {
		t.Error("the log does not say where it broke")
	}
	for _, path := range []string{"/v1/spaces/mail/entries/export", "/v1/config"} {
		r, err := http.NewRequest("GET", srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+adminToken)
		resp, err := srv.Client().Do(r)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			t.Errorf("%s: the response seems to be whole", path)
		}
	}
	if resp, _ := send(t, srv, "GET /healthz", ""); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// Options that cannot be are told all at once.
func TestValidate(t *testing.T) {
	good := newServer(t, Backend{}).Options
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	bad := Options{
		MaxStreams: -1, Hosts: []string{"a/b"}, Origins: []string{"http://a", "*"},
	}
	err, ok := bad.Validate().(interface{ Unwrap() []error })
	if !ok || len(err.Unwrap()) != 15 {
		t.Errorf("told: %v", bad.Validate())
	}
	for origin, fits := range map[string]bool{
		"http://localhost:3000": true, "https://app.example": true, "capacitor://localhost": true,
		"app.example": false, "https://app.example/": false, "https://app.example/x": false, "https://*.example": false,
		"https://a@b": false, "null": false, "": false, "HTTPS://APP": false, "https://": false,
	} {
		o := good
		o.Origins = []string{origin}
		if err := o.Validate(); (err == nil) != fits {
			t.Errorf("origin %q: %v", origin, err)
		}
	}
	if _, err := New(Backend{}, good); err == nil {
		t.Error("a backend without anything is taken")
	}
}
