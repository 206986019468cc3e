package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
)

// fields has every kind of field that inputs use.
type fields struct {
	OneDocument
	Text   string                      `json:"text"`
	Flag   bool                        `json:"flag"`
	Count  int                         `json:"count"`
	Small  uint8                       `json:"small"`
	Share  *float64                    `json:"share"`
	At     time.Time                   `json:"at"`
	Kind   percached.Placement         `json:"kind"`
	IDs    []percached.ChunkID         `json:"ids"`
	By     map[string]int              `json:"by"`
	Inner  *struct{ Prompts *Prompts } `json:"inner"`
	Prompt Prompts                     `json:"prompt"`
	Any    any                         `json:"any"`
	Raw    json.RawMessage             `json:"raw"`

	Limit int       `query:"limit"`
	Since time.Time `query:"since"`
	Full  bool      `query:"full"`
	Near  float64   `query:"near"`
	Query string    `query:"q"`
}

// faults returns the fields that an error names, or its problem if it names none.
func faults(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*problemError](err)
	if !ok {
		t.Fatalf("%v is no problem", err)
	}
	if len(e.fields) == 0 {
		return []string{string(e.problem)}
	}
	var names []string
	for _, f := range e.fields {
		names = append(names, f.Field)
	}
	return names
}

// The error names all invalid fields together.
func TestUnmarshalNames(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	tests := map[string][]string{
		`{"text":"a","count":-3,"small":255,"share":1e3,"at":"2026-01-02T03:04:05Z","kind":"parallel","by":{"a":1},"ids":[],"any":[{}],"raw":{"a":[1]}}`: nil,
		`{"share":null,"inner":null,"any":null,"raw":null,"prompt":{"history":null}}`:                                                                    nil,

		`{"text":1,"flag":"true","count":1.5,"small":256,"share":"1","at":"today","kind":"up","ids":["x"],"by":{"a":"b"}}`: {
			"/text",
			"/flag",
			"/count",
			"/small",
			"/share",
			"/at",
			"/kind",
			"/ids/0",
			"/by/a",
		},
		`{"text":null,"flag":null,"count":null,"at":null,"prompt":null,"ids":null,"by":null}`: {
			"/text",
			"/flag",
			"/count",
			"/at",
			"/prompt",
			"/ids",
			"/by",
		},
		`{"text":[],"ids":{},"by":[],"prompt":"x","at":5,"kind":{"a":1},"count":true}`: {
			"/text",
			"/ids",
			"/by",
			"/prompt",
			"/at",
			"/kind",
			"/count",
		},
		`{"a/b~c":1,"prompt":{"abstracts":"x"},"Text":"a","Space":"b","limit":5,"Document":"x"}`: {
			"/a~1b~0c",
			"/prompt/abstracts",
			"/Text",
			"/Space",
			"/limit",
			"/Document",
		},
		`{"by":{"a":1,"a":2},"count":1,"count":2}`: {"/by/a", "/count"},
		`{"share":1e999,"count":1e2}`:              {"/share", "/count"},
		`[]`:                                       {""},
		`null`:                                     {""},
		`7`:                                        {""},
		`{"any":` + deep + `}`:                     {"bad_body"},
		`{"count":1} {}`:                           {"bad_body"},
		`{"count":01}`:                             {"bad_body"},
		`{"` + strings.Repeat("é", 100) + `":1}`: {"/" + strings.Repeat("é", 32)},
	}
	for text, want := range tests {
		var v fields
		if diff := cmp.Diff(want, faults(t, unmarshal([]byte(text), &v, true))); diff != "" {
			t.Errorf("%.100s (-want +got):\n%s", text, diff)
		}
	}
	var v fields
	if err := unmarshal([]byte(`{"tempo":1,"count":2,"prompt":{"x":[1]}}`), &v, false); err != nil || v.Count != 2 {
		t.Errorf("loose: %v, %+v", err, v)
	}
	if err := unmarshal([]byte(`{"count":"2"}`), &v, false); err == nil {
		t.Error("loose takes text for a number")
	}
	many := "{" + strings.Repeat(`"x":1,`, 100) + `"y":1}`
	if n := len(faults(t, unmarshal([]byte(many), &v, true))); n != maxWrong {
		t.Errorf("%d faults are told", n)
	}
}

// paramsOf reads the parameters of a request.
func paramsOf(path, query string) (fields, error) {
	r := httptest.NewRequest("GET", "/", nil)
	r.URL.RawQuery = query
	r.SetPathValue("space", "mail")
	r.SetPathValue("document", path)
	return params[fields](r)
}

// Parameters are read by their types, and the error names the invalid ones.
func TestParams(t *testing.T) {
	id := percached.NewDocumentID("x")
	got, err := paramsOf(id.String(), "limit=-5&since=2026-01-02T03:04:05%2B01:00&full=true&near=0.5&q=a%20b%2bc%26")
	want := fields{
		OneDocument: OneDocument{InSpace{"mail"}, id}, Limit: -5, Since: time.Date(2026, 1, 2, 2, 4, 5, 0, time.UTC), Full: true, Near: 0.5, Query: "a b+c&",
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(time.Time.Equal)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for query, want := range map[string][]string{
		"limit=1&limit=1": {"query:limit"},
		"limit=0x10&full=1&near=NaN&since=2026-01-02": {
			"query:limit",
			"query:since",
			"query:full",
			"query:near",
		},
		"q=%ff&near=1e999":          {"query:near", "query:q"},
		"q=a%00":                    {"query:q"},
		"Q=a&count=5&%ff%00=x":      {"query:Q", "query:count", "query:?\x00"},
		"a;b":                       {"query"},
		"%":                         {"query"},
		"space=other&document=abcd": {"query:document", "query:space"},
	} {
		_, err := paramsOf(id.String(), query)
		if diff := cmp.Diff(want, faults(t, err)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", query, diff)
		}
	}
	if _, err := paramsOf("abc", ""); !cmp.Equal([]string{"path:document"}, faults(t, err)) {
		t.Errorf("a document's name: %v", err)
	}
}

// FuzzUnmarshal: any text is either refused with a valid problem, or decoded as encoding/json
// decodes it, completely.
func FuzzUnmarshal(f *testing.F) {
	for _, s := range []string{
		`{"text":"a","count":-3,"small":255,"share":1e3,"at":"2026-01-02T03:04:05Z","kind":"parallel","by":{"a":1},"ids":["` + someID + `"]}`,
		`{"inner":{"Prompts":{"history":"x"}},"prompt":{"abstract":null},"any":[1,{"a":null}],"raw":{"b":[]}}`,
		`{"text":"\ud800\u0000","count":9223372036854775808}`, `{"a":{"a":{"a":[[[]]]}}}`, `null`, `[1,2]`, `"x"`, `{"text":"a"}{}`, "{\"\xff\":1}",
		`{"text":"a","TEXT":"b"}`, `{"count":1,"count":2}`, strings.Repeat("[", 1000), `{"` + strings.Repeat("/~", 100) + `":1}`,
	} {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, strict bool) {
		if !utf8.Valid(text) {
			t.Skip() // readText refuses it
		}
		var got, again fields
		err := unmarshal(text, &got, strict)
		if err != nil {
			for _, field := range faults(t, err) {
				if !utf8.ValidString(field) || len(field) > 10000 {
					t.Errorf("fault of %q", field)
				}
			}
			return
		}
		if !reflect.DeepEqual(got.OneDocument, OneDocument{}) || got.Limit != 0 || got.Query != "" {
			t.Errorf("the body filled what is not for it: %+v", got)
		}
		in := json.NewDecoder(bytes.NewReader(text))
		if strict {
			in.DisallowUnknownFields()
		}
		if err := in.Decode(&again); err != nil || !reflect.DeepEqual(got, again) {
			t.Errorf("%v: %+v, then %+v", err, got, again)
		}
	})
}

// FuzzParams: any query is either refused by name or decoded to its value.
func FuzzParams(f *testing.F) {
	for _, q := range []string{"limit=5&full=true", "since=2026-01-02T03:04:05Z", "near=1e3&q=%00", "q=a&q=b", "%zz", "a=1;b=2", "near=0x1p-2", "limit=+5", "&&=&="} {
		f.Add(someID, q)
	}
	f.Fuzz(func(t *testing.T, path, query string) {
		got, err := paramsOf(path, query)
		if err != nil {
			for _, field := range faults(t, err) {
				if !utf8.ValidString(field) || field == "" {
					t.Errorf("fault of %q", field)
				}
			}
			return
		}
		if got.Near != got.Near || !utf8.ValidString(got.Query) || got.Text != "" || path != "" && !strings.EqualFold(got.Document.String(), path) {
			t.Errorf("%+v", got)
		}
	})
}

// FuzzServe: any request gets a status of the table, and the backend is not called without a
// token.
func FuzzServe(f *testing.F) {
	for _, rt := range []string{"GET /v1/spaces/mail", "POST /v1/spaces/mail/ask", "DELETE /v1/spaces/a%2fb", "PATCH /v1/config?x", "OPTIONS *", "GET /v1/../x"} {
		method, path, _ := strings.Cut(rt, " ")
		f.Add(method, path, "localhost", "", `{"question":"x"}`)
		f.Add(method, path, "[::1]:1", "http://localhost", "")
	}
	s := newServer(f, Backend{})
	f.Fuzz(func(t *testing.T, method, path, host, origin, body string) {
		r, err := http.NewRequest(method, "http://x"+path, strings.NewReader(body))
		if err != nil {
			t.Skip() // net/http refuses it
		}
		r.Host, r.RequestURI = host, path
		r.Header.Set("Origin", origin)
		if origin == "" {
			r.Header.Del("Origin")
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		open := w.Code == 200 && (r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || r.URL.Path == "/openapi.yaml")
		if !open && (w.Code < 400 || w.Code >= 500 || w.Header().Get("Content-Type") != "application/problem+json") {
			t.Errorf("%s %q: status %d: %s", method, path, w.Code, w.Body)
		}
	})
}
