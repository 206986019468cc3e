package page

import (
	"maps"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// all returns the page's files by name.
func all(t *testing.T) map[string]string {
	t.Helper()
	entries, err := files.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, e := range entries {
		f, ok := read(e.Name())
		if !ok || len(f.Content) == 0 {
			t.Fatalf("%s is empty or cannot be read", e.Name())
		}
		out[e.Name()] = string(f.Content)
	}
	return out
}

func TestNamed(t *testing.T) {
	for _, tc := range []struct {
		name, kind string
		there      bool
	}{
		{"main.js", "text/javascript; charset=utf-8", true},
		{"base.css", "text/css; charset=utf-8", true},
		{"icon.svg", "image/svg+xml", true},
		{"index.html", "", false},
		{"page.go", "", false},
		{"doc.go", "", false},
		{"", "", false},
		{".", "", false},
		{"../page.go", "", false},
		{"MAIN.JS", "", false},
	} {
		f, ok := Named(tc.name)
		if ok != tc.there || f.Type != tc.kind || ok != (len(f.Content) > 0) {
			t.Errorf("%q: there %v, type %q, %d bytes", tc.name, ok, f.Type, len(f.Content))
		}
	}
	if f := Index(); f.Type != "text/html; charset=utf-8" || !strings.HasPrefix(string(f.Content), "<!doctype html>") {
		t.Errorf("the page is %q: %.40q", f.Type, f.Content)
	}
}

// TestPolicy: the policy allows only what the page uses.
func TestPolicy(t *testing.T) {
	got := map[string]string{}
	for part := range strings.SplitSeq(Policy, "; ") {
		name, value, _ := strings.Cut(part, " ")
		got[name] = value
	}
	want := map[string]string{
		"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "img-src": "'self' data:",
		"base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestHTML: the page references existing files only, and contains no inline script, style or
// handler, which the policy would block.
func TestHTML(t *testing.T) {
	html := all(t)[index]
	for _, m := range regexp.MustCompile(`(?:src|href|action|data|poster|srcset)="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		name, file := strings.CutPrefix(m[1], "page/")
		if _, ok := Named(name); file && !ok {
			t.Errorf("%s is not there", m[1])
		} else if !file && !strings.HasPrefix(m[1], "#") {
			t.Errorf("%s is no file of the page", m[1])
		}
	}
	for what, pattern := range map[string]string{
		"a handler": `<[^>]*\son[a-z]+\s*=`,
		"a style":   `<style|<[^>]*\sstyle\s*=`,
		"a script":  `<script[^>]*>[^<]`,
	} {
		if regexp.MustCompile(`(?i)` + pattern).MatchString(html) {
			t.Errorf("%s stands in the page: %s", what, pattern)
		}
	}
	ids := map[string]int{}
	for _, m := range regexp.MustCompile(`\sid="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if ids[m[1]]++; ids[m[1]] > 1 {
			t.Errorf("the id %s stands there twice", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`\sfor="([^"]*)"`).FindAllStringSubmatch(html, -1) {
		if ids[m[1]] == 0 {
			t.Errorf("the label of %s has no control", m[1])
		}
	}
}

// TestNothingFromOutside: no file contains an external address, except XML namespaces, and none
// parses text as HTML.
func TestNothingFromOutside(t *testing.T) {
	foreign := regexp.MustCompile(`(?i)https?://[^\s"'<>)]+|["'(]//[a-z]|@import|url\(`)
	unsafe := regexp.MustCompile(`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|javascript:|DOMParser`)
	for name, text := range all(t) {
		for _, m := range foreign.FindAllString(text, -1) {
			if m != "http://www.w3.org/2000/svg" {
				t.Errorf("%s names %s", name, m)
			}
		}
		if m := unsafe.FindString(text); m != "" {
			t.Errorf("%s uses %s", name, m)
		}
	}
}

// TestEveryFileIsUsed: every file is reachable from the page by links and imports.
func TestEveryFileIsUsed(t *testing.T) {
	files := all(t)
	named := regexp.MustCompile(`"(?:page/|\./)([^"]+)"`)
	var reach func(name string)
	reached := map[string]bool{}
	reach = func(name string) {
		if reached[name] {
			return
		}
		reached[name] = true
		text, ok := files[name]
		if !ok {
			t.Errorf("%s is not there", name)
		}
		if ending := path.Ext(name); ending != ".js" && ending != ".html" {
			return
		}
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			reach(m[1])
		}
	}
	reach(index)
	for name := range files {
		if !reached[name] {
			t.Errorf("%s is used by nothing", name)
		}
	}
}

// TestImportsAreUsed: every import is exported by its module and used, and every export is
// imported.
func TestImportsAreUsed(t *testing.T) {
	files := all(t)
	statement := regexp.MustCompile(`(?m)^import (?:\{ ([^}]*) \}|\* as (\w+)) from "\./([^"]+)";\n`)
	export := regexp.MustCompile(`(?m)^export (?:const|class|function|async function\*?) ([\w$]+)`)
	free := map[string]bool{} // file and name: nobody has imported it so far
	for name, text := range files {
		for _, m := range export.FindAllStringSubmatch(text, -1) {
			free[name+" "+m[1]] = true
		}
	}
	exported := maps.Clone(free)
	for name, text := range files {
		body := statement.ReplaceAllString(text, "")
		used := func(word string) bool {
			return regexp.MustCompile(`(^|[^\w.])` + regexp.QuoteMeta(word) + `($|\W)`).MatchString(body)
		}
		for _, m := range statement.FindAllStringSubmatch(text, -1) {
			if m[2] != "" { // all of a module
				maps.DeleteFunc(free, func(key string, _ bool) bool { return strings.HasPrefix(key, m[3]+" ") })
				continue
			}
			for word := range strings.SplitSeq(m[1], ", ") {
				if !exported[m[3]+" "+word] {
					t.Errorf("%s does not export %s, which %s wants", m[3], word, name)
				}
				if !used(word) {
					t.Errorf("%s does not use %s of %s", name, word, m[3])
				}
				delete(free, m[3]+" "+word)
			}
		}
	}
	for key := range free {
		t.Errorf("nobody imports what is exported: %s", key)
	}
}
