package pull_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/pull"
)

func TestFind(t *testing.T) {
	hub := "https://hub.example"
	for _, tc := range []struct{ what, key, name, says string }{
		{"o/r/m.gguf", "hf:o/r/m.gguf@main", "m", ""},
		{"hf:o/r/sub/My Model.GGUF", "hf:o/r/sub/My Model.GGUF@main", "My-Model", ""},
		{"hf.co/o/r@v1.0/m.gguf", "hf:o/r/m.gguf@v1.0", "m", ""},
		{"hf://o/r/m.gguf@refs/pr/1", "hf:o/r/m.gguf@refs/pr/1", "m", ""},
		{hub + "/o/r/resolve/main/m.gguf?download=true", "hf:o/r/m.gguf@main", "m", ""},
		{hub + "/o/r/blob/abc/m.gguf", "hf:o/r/m.gguf@abc", "m", ""},
		{"qwen2.5-0.5b-instruct", "hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF/qwen2.5-0.5b-instruct-q4_k_m.gguf@main", "qwen2.5-0.5b-instruct", ""},
		{"https://x.example/a/m.gguf#frag", "https://x.example/a/m.gguf", "m", ""},
		{"http://x.example/get?id=7", "http://x.example/get?#c3dd2fa1b1d0", "get", ""},
		{"https://x.example/", "https://x.example/", "", ""},
		{"https://x.example/..%2F..%2Fetc%2Fpasswd.gguf", "https://x.example/..%2F..%2Fetc%2Fpasswd.gguf", "passwd", ""},
		{"https://x.example/%00-.hidden%0a.gguf", "https://x.example/%00-.hidden%0a.gguf", "hidden", ""},
		{"m.gguf", "", "", "no model of the list"},
		{"o/r/../m.gguf", "", "", "no file of a hub"},
		{"o/r@../m.gguf", "", "", "no revision"},
		{"../r/m.gguf", "", "", "no repository"},
		{"o/r/readme.md", "", "", "does not end in .gguf"},
		{"o/r/m-00001-of-00003.gguf", "", "", "split into"},
		{"ftp://x.example/m.gguf", "", "", "begins with https"},
		{"https://me:secret@x.example/m.gguf", "", "", "holds a password"},
		{"https://x.example/%zz?secret", "", "", "is not one"},
	} {
		s, err := puller(t, t.TempDir(), func(o *pull.Options) { o.Hub = hub }).Find(context.Background(), tc.what)
		if tc.says != "" {
			if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%s: %v", tc.what, err)
			}
			continue
		}
		if strings.HasSuffix(tc.key, "c3dd2fa1b1d0") { // the query's hash
			s.Key = s.Key[:len(s.Key)-12] + "c3dd2fa1b1d0"
		}
		if err != nil || s.Key != tc.key || s.Name != tc.name {
			t.Errorf("%s: %q named %q, %v", tc.what, s.Key, s.Name, err)
		}
	}
}

// Find asks for a repository's files if none is named.
func TestRepository(t *testing.T) {
	var files []string
	var asked string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.EscapedPath()
		parts := make([]string, len(files))
		for i, f := range files {
			parts[i] = fmt.Sprintf(`{"rfilename": %q}`, f)
		}
		fmt.Fprintf(w, `{"siblings": [%s]}`, strings.Join(parts, ","))
	}))
	defer s.Close()
	p := puller(t, t.TempDir(), func(o *pull.Options) { o.Hub = s.URL + "/" })
	for _, tc := range []struct {
		what  string
		files string
		page  string
		key   string
		says  []string
	}{
		{"o/r", "README.md m.gguf mmproj-m.gguf", "/api/models/o/r", "hf:o/r/m.gguf@main", nil},
		{"hf:o/r@v1", "m.gguf", "/api/models/o/r/revision/v1", "hf:o/r/m.gguf@v1", nil},
		{"o/r:q4_k_m", "m-Q8_0.gguf m-Q4_K_M.gguf", "/api/models/o/r", "hf:o/r/m-Q4_K_M.gguf@main", nil},
		{s.URL + "/o/r", "m.gguf", "/api/models/o/r", "hf:o/r/m.gguf@main", nil},
		{"o/r", "a.gguf b.gguf c.txt", "/api/models/o/r", "", []string{"several", "\n  o/r/a.gguf", "\n  o/r/b.gguf"}},
		{"o/r", "a.txt b-00001-of-00002.gguf", "/api/models/o/r", "", []string{"no GGUF file in one piece"}},
	} {
		files = strings.Fields(tc.files)
		got, err := p.Find(context.Background(), tc.what)
		if asked != tc.page || got.Key != tc.key || (err == nil) != (tc.says == nil) {
			t.Errorf("%s: asked %s, got %q, %v", tc.what, asked, got.Key, err)
		}
		for _, part := range tc.says {
			if err != nil && (!strings.Contains(err.Error(), part) || strings.Contains(err.Error(), ".txt")) {
				t.Errorf("%s: %v", tc.what, err)
			}
		}
	}
}

// The token goes to the hub, and not to where it redirects.
func TestToken(t *testing.T) {
	file := model(t, 1)
	far := serve(t, file)
	var tokens []string
	hub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tokens = append(tokens, r.Header.Get("Authorization"))
		if r.URL.Path == "/o/r/resolve/main/m.gguf" {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
			return
		}
		w.Header().Set("X-Linked-Etag", `"`+hashOf(file)+`"`)
		w.Header().Set("X-Linked-Size", fmt.Sprint(len(file)))
		w.Header().Set("ETag", `"`+strings.Repeat("0", 64)+`"`)
		http.Redirect(w, r, far.URL+"/blob?signature=secret", http.StatusFound)
	}))
	defer hub.Close()
	as := func(o *pull.Options) { o.Hub, o.Token = hub.URL, "hf_secret" }
	far.cuts = []int{3000} // the next attempt asks the hub again
	got, err := fetch(puller(t, t.TempDir(), as), "o/r/m.gguf", pull.Want{})
	if err != nil || got.By != pull.ByHub || got.Bytes != int64(len(file)) {
		t.Fatal(got, err)
	}
	bearer := "Bearer hf_secret"
	if d := cmp.Diff([]string{bearer, bearer, bearer, bearer}, tokens); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"", ""}, far.tokens); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"", "bytes=3000-"}, far.requests()); d != "" {
		t.Error(d)
	}
	// It goes to no address outside the hub.
	if _, err := fetch(puller(t, t.TempDir(), as), far.URL+"/m.gguf", pull.Want{}); err != nil {
		t.Fatal(err)
	}
	if last := far.tokens[len(far.tokens)-1]; last != "" {
		t.Error("the token went elsewhere")
	}
}

func TestRedirects(t *testing.T) {
	for _, tc := range []struct {
		from, to      string
		named, hashed bool // allowed, without and with a hash
	}{
		{"https://a.example", "https://b.example/x", true, true},
		{"https://a.example", "http://a.example/x", false, false},
		{"https://a.example", "http://127.0.0.1/x", false, false},
		{"https://a.example", "https://localhost/x", false, false},
		{"http://127.0.0.1", "http://[::1]:8/x", true, true},
		{"http://localhost", "http://b.example/x", false, true},
		{"http://localhost", "https://b.example/x", true, true},
		{"http://a.example", "http://b.example/x", false, true},
		{"http://a.example", "http://127.1.2.3/x", false, false},
		{"http://a.example", "file:///etc/passwd", false, false},
	} {
		from, err := url.Parse(tc.from)
		if err != nil {
			t.Fatal(err)
		}
		to, err := url.Parse(tc.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := pull.Allowed(from, to, false) == nil; got != tc.named {
			t.Errorf("%s to %s: %v", tc.from, tc.to, got)
		}
		if got := pull.Allowed(from, to, true) == nil; got != tc.hashed {
			t.Errorf("%s to %s with a hash: %v", tc.from, tc.to, got)
		}
	}
}

// Plain http to another machine is refused before any request.
func TestPlainHTTP(t *testing.T) {
	_, err := fetch(puller(t, t.TempDir()), "http://models.invalid/m.gguf", pull.Want{})
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "--sha256") {
		t.Error(err)
	}
}

func TestRedirectsEnd(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		http.Redirect(w, r, fmt.Sprintf("/%d", asked), http.StatusFound)
	}))
	defer s.Close()
	if _, err := fetch(puller(t, t.TempDir()), s.URL+"/m.gguf", pull.Want{}); err == nil || !strings.Contains(err.Error(), "more than 10 times") || asked != 10 {
		t.Error(asked, err)
	}
}

// Every entry of the list is complete and has a valid name.
func TestCatalog(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range pull.Catalog() {
		if seen[e.Name] || seen[e.Source()] || e.Name != pull.ModelName(e.Name) || e.About == "" || e.Licence == "" || e.Bytes < 1<<20 {
			t.Errorf("%+v", e)
		}
		seen[e.Name], seen[e.Source()] = true, true
		if s, err := puller(t, t.TempDir()).Find(context.Background(), e.Name); err != nil || s.Key != e.Source() {
			t.Error(s, err)
		}
	}
	if _, err := pull.New(pull.Options{Hub: "ftp://x"}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}
