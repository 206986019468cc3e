package pull_test

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/pull"
)

// wrong checks that a hash was refused, that the error names both, and that nothing
// stays.
func wrong(t *testing.T, err error, dir, got, want, who string, left ...string) {
	t.Helper()
	if fault.KindOf(err) != fault.Invalid {
		t.Fatalf("%v", err)
	}
	for _, part := range []string{got, want, who} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v does not say %q", err, part)
		}
	}
	holds(t, dir, left...)
}

func TestHashOfTheCaller(t *testing.T) {
	file, dir := model(t, 1), t.TempDir()
	s := serve(t, file)
	no := strings.Repeat("ab", 32)
	_, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{SHA256: no})
	wrong(t, err, dir, hashOf(file), no, "which was named")
	if _, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{SHA256: "abc"}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	got, err := fetch(puller(t, dir), s.URL+"/m.gguf", pull.Want{SHA256: " " + strings.ToUpper(hashOf(file))})
	if err != nil || !got.Confirmed || got.By != pull.ByCaller {
		t.Error(got, err)
	}
}

// A source must keep its hash until the caller names another.
func TestHashThatWasNoted(t *testing.T) {
	file, other, dir := model(t, 1), model(t, 2), t.TempDir()
	s := serve(t, file)
	to := func(name string) pull.Want { return pull.Want{To: filepath.Join(t.TempDir(), name)} }
	if _, err := fetch(puller(t, dir), s.URL+"/m.gguf", to("a")); err != nil {
		t.Fatal(err)
	}
	s.file = other
	w := to("b")
	_, err := fetch(puller(t, dir), s.URL+"/m.gguf", w)
	wrong(t, err, filepath.Dir(w.To), hashOf(other), hashOf(file), "noted when it was fetched before; if it is meant")
	w.SHA256 = hashOf(other)
	if got, err := fetch(puller(t, dir), s.URL+"/m.gguf", w); err != nil || !got.Confirmed {
		t.Error(got, err)
	}
	got, err := fetch(puller(t, dir), s.URL+"/m.gguf", to("c"))
	if err != nil || !got.Confirmed || got.By != pull.ByNote || got.SHA256 != hashOf(other) {
		t.Error(got, err)
	}
	notes, err := puller(t, dir).Known()
	if err != nil || len(notes) != 1 || notes[0].Name != "" || !notes[0].Confirmed {
		t.Error(notes, err)
	}
}

// hubOf makes the server the puller's hub.
func hubOf(s *server, token string) func(*pull.Options) {
	return func(o *pull.Options) { o.Hub, o.Token = s.URL, token }
}

func TestHashOfTheHub(t *testing.T) {
	file := model(t, 1)
	no := strings.Repeat("cd", 32)
	for _, tc := range []struct {
		name   string
		header http.Header
		right  bool
	}{
		{"right", http.Header{"X-Linked-Etag": {`"` + hashOf(file) + `"`}}, true},
		{"right, as the file's own tag", http.Header{"Etag": {`"` + hashOf(file) + `"`}}, true},
		{"wrong", http.Header{"X-Linked-Etag": {`"` + no + `"`}}, false},
		{"wrong, as the file's own tag", http.Header{"Etag": {`"` + no + `"`}}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, dir := serve(t, file), t.TempDir()
			s.header = tc.header
			got, err := fetch(puller(t, dir, hubOf(s, "")), "o/r/m.gguf", pull.Want{})
			if !tc.right {
				wrong(t, err, dir, hashOf(file), no, "which the hub says")
				return
			}
			if err != nil || got.By != pull.ByHub || got.Confirmed {
				t.Error(got, err)
			}
		})
	}
}

// Nothing is fetched if the hub announces another hash.
func TestHubOffersAnother(t *testing.T) {
	file, other := model(t, 1), model(t, 2)
	for _, named := range []bool{true, false} {
		s, dir := serve(t, file), t.TempDir()
		w := pull.Want{To: filepath.Join(t.TempDir(), "b")}
		if named {
			w.SHA256 = hashOf(file)
		} else if _, err := fetch(puller(t, dir, hubOf(s, "")), "o/r/m.gguf", pull.Want{To: filepath.Join(t.TempDir(), "a")}); err != nil {
			t.Fatal(err)
		}
		s.file, s.header = other, http.Header{"X-Linked-Etag": {`"` + hashOf(other) + `"`}}
		r, err := fetch(puller(t, dir, hubOf(s, "")), "o/r/m.gguf", w)
		wrong(t, err, filepath.Dir(w.To), hashOf(other), hashOf(file), "offers a file")
		if r.Fetched != 0 {
			t.Errorf("%d bytes were fetched", r.Fetched)
		}
	}
}

// A hash from a server that is not the hub does not count.
func TestHashOfSomebody(t *testing.T) {
	file := model(t, 1)
	s := serve(t, file)
	s.header = http.Header{"X-Linked-Etag": {`"` + strings.Repeat("cd", 32) + `"`}, "X-Linked-Size": {"7"}}
	if got, err := fetch(puller(t, t.TempDir()), s.URL+"/m.gguf", pull.Want{}); err != nil || got.By != pull.ByNobody {
		t.Error(got, err)
	}
}

func TestHubSaysAnotherSize(t *testing.T) {
	s, dir := serve(t, model(t, 1)), t.TempDir()
	s.header = http.Header{"X-Linked-Size": {"7"}}
	_, err := fetch(puller(t, dir, hubOf(s, "")), "o/r/m.gguf", pull.Want{})
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "the hub says that the file has 7 bytes") {
		t.Error(err)
	}
	holds(t, dir)
}
