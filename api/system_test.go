package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/page"
	"github.com/percached/percached/internal/base/fault"
)

// Operations without a token report the daemon's state, ready or not.
func TestOpenOperations(t *testing.T) {
	for _, now := range []Ready{{true, "ready", 1}, {false, "loading", 0.25}} {
		srv := testServer(t, Backend{}, func(o *Options) { o.Ready = func() Ready { return now } })
		status := map[bool]int{true: 200, false: 503}[now.Ready]
		a := exchangeRaw(t, srv, raw("GET /readyz", "", "Authorization:"))
		want := fmt.Sprintf(`{"ready":%v,"stage":%q,"progress":%v}`+"\n", now.Ready, now.Stage, now.Progress)
		if a.StatusCode != status || a.text != want || (a.Header.Get("Retry-After") == "") != now.Ready {
			t.Errorf("readyz: status %d: %s", a.StatusCode, a.text)
		}
		a = exchangeRaw(t, srv, raw("GET /healthz", "", "Authorization:"))
		if a.StatusCode != 200 || a.text != `{"status":"ok","version":"test"}`+"\n" {
			t.Errorf("healthz: status %d: %s", a.StatusCode, a.text)
		}
		a = exchangeRaw(t, srv, raw("GET /openapi.yaml", "", "Authorization:"))
		if a.StatusCode != 200 || a.text != "openapi: 3.0.3\n" || a.Header.Get("Content-Type") != "application/yaml" {
			t.Errorf("openapi.yaml: status %d: %s", a.StatusCode, a.text)
		}
		// What probes add is passed over.
		if a := exchangeRaw(t, srv, raw("GET /readyz?verbose=1&verbose=2", "", "Authorization:")); a.StatusCode != status {
			t.Errorf("readyz of a probe: status %d: %s", a.StatusCode, a.text)
		}
	}
}

// Metrics are served by the configured handler.
func TestMetrics(t *testing.T) {
	srv := testServer(t, Backend{}, func(o *Options) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "up 1\n") })
	})
	if a := exchangeRaw(t, srv, raw("GET /metrics", "", "Authorization: Bearer "+askToken)); a.text != "up 1\n" {
		t.Errorf("status %d: %s", a.StatusCode, a.text)
	}
	if a := exchangeRaw(t, testServer(t, Backend{}), raw("GET /metrics", "")); a.name() != "unsupported" {
		t.Errorf("without any: status %d", a.StatusCode)
	}
}

// A token for one space sees that space only, and the backend looks at no other.
func TestListSpaces(t *testing.T) {
	there := map[string]bool{"mail": true, "notes": true}
	srv := testServer(t, Backend{
		Spaces: func(context.Context, Nothing) (Spaces, error) {
			return Spaces{Spaces: []Space{{Name: "mail"}, {Name: "notes"}}}, nil
		},
		Space: func(_ context.Context, in InSpace) (Space, error) {
			if in.Space != "mail" || !there["mail"] {
				return Space{}, fault.New(fault.NotFound, "op", "no space %q", in.Space)
			}
			return Space{Name: in.Space}, nil
		},
	})
	names := func(token string) string {
		a := exchangeRaw(t, srv, raw("GET /v1/spaces", "", "Authorization: Bearer "+token))
		var all struct{ Spaces []Space }
		if err := json.Unmarshal([]byte(a.text), &all); err != nil || all.Spaces == nil {
			t.Fatalf("%v: status %d: %s", err, a.StatusCode, a.text)
		}
		got := []string{}
		for _, s := range all.Spaces {
			got = append(got, s.Name)
		}
		return strings.Join(got, " ")
	}
	got := []string{names(askToken), names(mailAskToken)}
	there["mail"] = false
	if diff := cmp.Diff([]string{"mail notes", "mail", ""}, append(got, names(mailAskToken))); diff != "" {
		t.Error(diff)
	}
}

// A change of settings reaches the backend unchanged, with nulls and absent fields.
func TestChangeSpace(t *testing.T) {
	var got SpaceChange
	srv := testServer(t, Backend{ChangeSpace: func(_ context.Context, in SpaceChange) (Space, error) {
		got = in
		return Space{Name: in.Space}, nil
	}})
	const merge = `{"k": null, "prompts": {"history": null}, "unknown": 1.0}`
	for _, kind := range []string{jsonType, mergeType} {
		resp, text := send(t, srv, "PATCH /v1/spaces/mail/settings", " "+merge+"\n", "Content-Type: "+kind)
		if resp.StatusCode != 200 || got.Space != "mail" || string(got.Merge) != merge {
			t.Errorf("%s: status %d: %s\n%+v", kind, resp.StatusCode, text, got)
		}
	}
}

// An export has one line per entry. If it fails in the middle, it does not end normally.
func TestExport(t *testing.T) {
	failAfter := -1
	srv := testServer(t, Backend{Export: func(_ context.Context, in Export) (Nothing, error) {
		for i := range 1000 {
			if i == failAfter {
				return Nothing{}, fault.New(fault.Unavailable, "op", "the disk broke")
			}
			if err := in.Each(ExportedEntry{Question: fmt.Sprintf("<%d>?", i), Made: time.Unix(1, 0).UTC()}); err != nil {
				return Nothing{}, err
			}
		}
		return Nothing{}, nil
	}})
	const path = "GET /v1/spaces/mail/entries/export"
	resp, text := send(t, srv, path, "")
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var last ExportedEntry
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || len(lines) != 1000 || last.Question != "<999>?" {
		t.Errorf("%d lines, %v: %+v", len(lines), err, last)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != linesType {
		t.Errorf("status %d, %s", resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	failAfter = 0
	if a := exchangeRaw(t, srv, raw(path, "")); a.StatusCode != 503 || a.name() != "unavailable" || a.Header.Get("Content-Disposition") != "" {
		t.Errorf("status %d: %s", a.StatusCode, a.text)
	}
	failAfter = 900
	r, err := http.NewRequest("GET", srv.URL+"/v1/spaces/mail/entries/export", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	resp, err = srv.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(string(got), "problem") {
		t.Errorf("an export that broke ended with %v", err)
	}
}

// An import streams its lines, up to MaxUpload.
func TestImport(t *testing.T) {
	srv := testServer(t, Backend{Import: func(_ context.Context, in Import) (Imported, error) {
		b, err := io.ReadAll(in.Lines)
		if err != nil {
			return Imported{}, fault.New(fault.Unavailable, "bank.Import", "read: %w", err)
		}
		return Imported{Imported: strings.Count(string(b), "\n")}, nil
	}}, func(o *Options) { o.MaxBody, o.MaxUpload = 10, 50000 })
	const path = "POST /v1/spaces/mail/entries/import"
	lines := strings.Repeat("{}\n", 10000)
	for _, kind := range []string{linesType, "application/jsonl", linesType + "; charset=utf-8"} {
		resp, text := send(t, srv, path, lines, "Content-Type: "+kind)
		if resp.StatusCode != 200 || text != `{"imported":10000,"skipped":0,"refused":[]}`+"\n" {
			t.Errorf("%s: status %d: %s", kind, resp.StatusCode, text)
		}
	}
	a := exchangeRaw(t, srv, raw(path, lines+lines, "Content-Type: "+linesType))
	if a.StatusCode != 413 || a.name() != "too_large" {
		t.Errorf("status %d: %s", a.StatusCode, a.text)
	}
}

// The page and its files are served without a token, before percached is ready, and under the
// page's own policy.
func TestPage(t *testing.T) {
	srv := testServer(t, Backend{}, func(o *Options) { o.Ready = func() Ready { return Ready{Stage: "loading"} } })
	paths := []string{"/"}
	for _, name := range regexp.MustCompile(`page/[\w.-]+`).FindAll(page.Index().Content, -1) {
		paths = append(paths, "/"+string(name))
	}
	for _, path := range paths {
		a := exchangeRaw(t, srv, raw("GET "+path, "", "Authorization:"))
		want := page.Index()
		if path != "/" {
			want, _ = page.Named(path[len("/page/"):])
		}
		if a.StatusCode != 200 || a.text != string(want.Content) || a.Header.Get("Content-Type") != want.Type || a.text == "" {
			t.Errorf("%s: status %d, %s, %d bytes", path, a.StatusCode, a.Header.Get("Content-Type"), len(a.text))
		}
		for name, want := range map[string][]string{
			"Content-Security-Policy": {page.Policy}, "Cache-Control": {"no-cache"}, "X-Content-Type-Options": {"nosniff"},
			"Cross-Origin-Opener-Policy": {"same-origin"},
		} {
			if diff := cmp.Diff(want, a.Header[name]); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", path, name, diff)
			}
		}
		head := exchangeRaw(t, srv, raw("HEAD "+path, "", "Authorization:"))
		if head.StatusCode != 200 || head.text != "" || head.ContentLength != int64(len(a.text)) {
			t.Errorf("HEAD %s: status %d, length %d", path, head.StatusCode, head.ContentLength)
		}
	}
}

// A browser may open the page by address or from any link, and the page may call from its own
// origin.
func TestBrowserOpensThePage(t *testing.T) {
	srv := testServer(t, about())
	for _, site := range []string{"none", "same-origin", "same-site", "cross-site"} {
		a := exchangeRaw(t, srv, raw("GET /", "", "Authorization:", "Sec-Fetch-Site: "+site, "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"))
		if a.StatusCode != 200 {
			t.Errorf("from %s: status %d", site, a.StatusCode)
		}
	}
	for what, headers := range map[string][]string{
		"GET /page/" + fileOfPage(): {"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: script"},
		"GET /v1/about":             {"Sec-Fetch-Site: same-origin", "Sec-Fetch-Mode: cors", "Sec-Fetch-Dest: empty", "Origin: http://localhost"},
	} {
		if a := exchangeRaw(t, srv, raw(what, "", headers...)); a.StatusCode != 200 {
			t.Errorf("%s: status %d: %s", what, a.StatusCode, a.text)
		}
	}
}
