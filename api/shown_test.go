package api

import (
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api/page"
)

// The page and all files that it names are there, without a token, also while
// nothing can be asked, and under the page's own policy.
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

// A browser opens the page by its address or by a link, wherever that stands, and
// the page calls from its own origin.
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
