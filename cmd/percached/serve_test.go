package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llmtest"
)

// A daemon adds documents, answers, is configured, stops, and has everything after a restart.
func TestServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	a := startServe(t, dir)
	if d := cmp.Diff(a.url+"\n", a.file("address")); d != "" {
		t.Error(d)
	}
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes","kind":"notes"}`)
	if u := call[api.UploadStatus](a, "POST", "/v1/spaces/notes/documents?wait=true", gateText); u.Added != 1 {
		t.Errorf("%+v", u)
	}
	if got := call[api.Answer](a, "POST", "/v1/spaces/notes/ask", gateAsk); got.Answer != "6190" || got.Outcome == "answer_hit" {
		t.Errorf("%+v", got)
	}
	if about := call[api.About](a, "GET", "/v1/about", ""); about.Model.Threads != 1 || about.Embedder.Dimensions == 0 {
		t.Errorf("%+v", about)
	}
	call[api.Config](a, "PATCH", "/v1/config", `{"tensor-limit":"3MiB","bank-limit":"1MiB","threshold":"0.95","idle-after":"1h","log-level":"warn"}`)
	if c := call[api.Cache](a, "GET", "/v1/cache", ""); c.Limit != 3<<20 {
		t.Errorf("the limit is %d", c.Limit)
	}
	if s := call[api.Space](a, "GET", "/v1/spaces/notes", ""); *s.Effective.Threshold != 0.95 {
		t.Errorf("%+v", s.Effective)
	}
	quiet := a.request("GET", "/healthz", nil)
	quiet.Header.Set("X-Request-Id", "quiet")
	if resp, err := a.client.Do(quiet); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
	before := call[api.Entries](a, "GET", "/v1/spaces/notes/entries", "")
	a.end()
	for _, gone := range []string{"address", "unclean"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", gone, err)
		}
	}
	for _, text := range []string{"Wharf", a.token, "quiet", "msg=closing"} { // the last two: not at the level warn
		if strings.Contains(a.log.String(), text) {
			t.Errorf("the log holds %q:\n%s", text, a.log)
		}
	}

	b := startServe(t, dir, "--tensor-limit", "8MiB")
	b.ready()
	if b.token != a.token {
		t.Error("it has another token")
	}
	now := call[api.Entries](b, "GET", "/v1/spaces/notes/entries", "")
	if d := cmp.Diff(before, now); d != "" {
		t.Error(d)
	}
	if got := call[api.Answer](b, "POST", "/v1/spaces/notes/ask", gateAsk); got.Answer != "6190" || got.Outcome != "answer_hit" {
		t.Errorf("%+v", got)
	}
	if c := call[api.Cache](b, "GET", "/v1/cache", ""); c.Limit != 8<<20 {
		t.Errorf("the limit is %d", c.Limit)
	}
	b.end()
}

// Everything that the daemon does is counted and published as an event.
func TestServeTells(t *testing.T) {
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0") // no idle work
	a := startServe(t, t.TempDir())
	a.ready()
	resp, err := a.client.Do(a.request("GET", "/v1/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	call[api.UploadStatus](a, "POST", "/v1/spaces/notes/documents?wait=true", gateText)
	call[api.Answer](a, "POST", "/v1/spaces/notes/ask", gateAsk)
	call[api.Answer](a, "POST", "/v1/spaces/notes/ask", gateAsk)
	refused, err := a.client.Do(a.request("POST", "/v1/spaces/nosuch/ask", strings.NewReader(gateAsk)))
	if err != nil {
		t.Fatal(err)
	}
	refused.Body.Close()
	call[api.Cache](a, "PATCH", "/v1/cache", `{"limit":0}`)
	documents := call[api.Documents](a, "GET", "/v1/spaces/notes/documents", "")
	call[api.Receipt](a, "DELETE", "/v1/spaces/notes/documents/"+documents.Documents[0].ID.String(), "")

	heard := map[string]int{}
	for lines := bufio.NewScanner(resp.Body); heard[api.EventForgotten] == 0 && lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data:")
		if !ok {
			continue
		}
		var e api.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		heard[e.Type]++
		if strings.Contains(data, "Wharf") {
			t.Errorf("an event holds text: %s", data)
		}
	}
	for _, kind := range []string{api.EventUpload, api.EventStored, api.EventAnswer, api.EventRefused, api.EventEvicted, api.EventForgotten} {
		if heard[kind] == 0 {
			t.Errorf("no event of the kind %s; there were %v", kind, heard)
		}
	}
	metrics := a.metrics()
	for name, want := range map[string]string{
		`percached_answers_total{outcome="miss"}`:                     "1",
		`percached_answers_total{outcome="answer_hit"}`:               "1",
		`percached_answer_failures_total{kind="not_found"}`:           "1",
		`percached_uploads_total{state="done"}`:                       "1",
		`percached_layer_stored_total{layer="bank"}`:                  "1",
		`percached_layer_evicted_total{layer="tensors"}`:              metrics[`percached_layer_stored_total{layer="tensors"}`],
		`percached_layer_limit_bytes{layer="tensors"}`:                "0",
		`percached_documents_forgotten_total`:                         "1",
		`percached_event_listeners`:                                   "1",
		`percached_state_up`:                                          "1",
		`percached_engine_restarts_total`:                             "0",
		`percached_spaces`:                                            "1",
		`percached_http_requests_total{operation="ask",status="404"}`: "1",
	} {
		if metrics[name] != want {
			t.Errorf("%s is %q, want %q", name, metrics[name], want)
		}
	}
	if saved := metrics[`percached_answer_saved_seconds_total{layer="bank"}`]; saved == "" || saved == "0" {
		t.Errorf("the bank has saved %q seconds", saved)
	}
	a.end()
	if _, err := io.ReadAll(resp.Body); err != nil { // the stream was ended, not cut
		t.Error(err)
	}
}

func (a *atWork) metrics() map[string]string {
	a.Helper()
	resp, err := a.client.Do(a.request("GET", "/metrics", nil))
	if err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	all := map[string]string{}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok && name != "#" {
			all[name] = value
		}
	}
	return all
}

// slowly is an embedder that blocks until it is released.
type slowly struct {
	llm.Embedder
	free <-chan struct{}
}

func (s slowly) Info() percached.EmbedderInfo {
	<-s.free
	return s.Embedder.Info()
}

// While it loads, a daemon reports that and answers nothing else.
func TestServeWhileLoading(t *testing.T) {
	conf, g := config.DaemonDefault(), node.Dependencies{}
	conf.Data, conf.Serving.Listen = t.TempDir(), "127.0.0.1:0"
	free := make(chan struct{})
	g.Embedder = slowly{llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions()), free}
	a := startServing(t, conf.Data, func(ctx context.Context, stdout, stderr io.Writer) error {
		return daemon.Serve(ctx, config.Of(conf, daemon.CheckConfig), g, stdout, stderr)
	})
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 503, "/openapi.yaml": 200, "/v1/spaces": 503, "/metrics": 503} {
		if got := a.status(path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	resp, err := a.client.Do(a.request("GET", "/readyz", nil))
	if err != nil {
		t.Fatal(err)
	}
	var r api.Ready
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil || r.Ready || r.Stage != daemon.StageOpening {
		t.Errorf("%+v, %v", r, err)
	}
	resp.Body.Close()
	close(free)
	a.ready()
	if got := call[api.Ready](a, "GET", "/readyz", ""); got != (api.Ready{Ready: true, Stage: daemon.StageReady, Progress: 1}) {
		t.Errorf("%+v", got)
	}
	if got := a.status("/v1/spaces"); got != 200 {
		t.Error(got)
	}
	a.end()
}

// A daemon can be stopped at any stage of loading.
func TestServeEndsWhileLoading(t *testing.T) {
	for _, at := range []string{"created the main token", "opening the data folder", "loading the model", "msg=ready"} {
		a := startServe(t, t.TempDir())
		if err := a.log.await(patiently(t), at); err != nil {
			t.Fatal(err)
		}
		a.end()
	}
}
