package main

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/percached/percached/api/client"
)

// Two spaces with the same documents, questions and idle work have no ID in common in any
// response.
func TestEqualDocumentsHaveOtherIDs(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	hex := regexp.MustCompile(`[^.0-9a-f][0-9a-f]{16,}`)    // and no fraction
	_, about := w.raw(ctx, "GET", "/v1/about", "", w.Token) // fingerprints of models
	known := map[string]bool{}
	for _, id := range hex.FindAllString(about, -1) {
		known[id[1:]] = true
	}
	seen := map[string]map[string]bool{alpha: {}, beta: {}}
	told := map[string]string{} // what names an id
	for _, space := range []string{alpha, beta} {
		see := func(what string, status int, body string) {
			t.Helper()
			if status >= 300 && status != 404 {
				t.Fatalf("%s: status %d: %s", what, status, body)
			}
			for _, id := range hex.FindAllString(body, -1) {
				seen[space][id[1:]] = true
				told[id[1:]] += " " + space + ": " + what
			}
		}
		do := func(method, path, body string) string {
			t.Helper()
			status, text := w.raw(ctx, method, "/v1/spaces"+path, body, w.Token)
			see(method+" "+path, status, text)
			return text
		}
		do("POST", "", `{"name":"`+space+`"}`)
		heard, cancel := context.WithCancel(ctx)
		stream, err := w.with(w.tokenFor(space, "ask")).Events(heard, nil)
		events := w.streamed(stream, err, cancel)
		at := "/" + space
		do("POST", at+"/documents?wait=true", `{"documents":[{"title":"Code","text":"The garage code is 4711."},{"title":"Tea","text":"Ana drinks green tea in the garage."}]}`)
		do("POST", at+"/ask", `{"question":"What is the garage code?"}`)
		do("POST", at+"/ask", `{"question":"Who drinks tea?"}`)
		do("POST", at+"/complete", `{"before":"The garage code is "}`)
		do("POST", at+"/predictions", "")
		_, err = w.all.DrainIdleWithResponse(ctx, &client.DrainIdleParams{Space: &space})
		if err != nil {
			t.Fatal(err)
		}
		for path, item := range w.law.Paths.Map() {
			if rest, ok := strings.CutPrefix(path, "/v1/spaces/{space}"); ok && item.Get != nil && !strings.Contains(rest, "{") && rest != "/entries/export" {
				if rest == "/entries/search" || rest == "/search" {
					rest += "?q=tea"
				}
				do(http.MethodGet, at+rest, "")
			}
		}
		list, err := w.all.ListDocumentsWithResponse(ctx, space, nil)
		w.is(200, list, err)
		for _, d := range list.JSON200.Documents {
			for _, id := range hex.FindAllString(d.Key, -1) {
				known[id[1:]] = true // a hash of the text, which the reader has
			}
			whole, err := w.all.GetDocumentWithResponse(ctx, space, d.ID)
			w.is(200, whole, err)
			see("a document", 200, string(whole.Body))
			if whole.JSON200.ID != d.ID {
				t.Errorf("%s is asked for, and %s comes", d.ID, whole.JSON200.ID)
			}
		}
		do("GET", at+"/documents/"+strings.Repeat("0", 32), "")
		do("DELETE", at+"/documents/"+list.JSON200.Documents[0].ID, "")
		for kind := ""; kind != "forgotten"; {
			m := events.message()
			kind = m.Event
			see("event "+kind, 200, string(m.Data))
		}
		events.close()
	}
	known[strings.Repeat("0", 32)] = true // asked for above
	for id := range seen[alpha] {
		if seen[beta][id] && !known[id] {
			t.Errorf("%s is told in both spaces:%s", id, told[id])
		}
	}
	if len(seen[alpha]) < 15 {
		t.Errorf("only %d ids were seen: %v", len(seen[alpha]), told)
	}
}
