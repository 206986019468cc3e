package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/commands"
)

// percached answers with an OpenAI-compatible server: another percached. The bank, evidence and
// forgetting work as with the built-in engine, and other requests are passed on.
func TestEngineOnServer(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	behind := startServe(t, filepath.Join(dir, "behind"))
	behind.ready()
	note := file("gate.md", "The code of the gate at Wharf Road is 6190.\n")
	key := file("key", behind.token+"\n")
	call := func(a *atWork, args ...string) string {
		t.Helper()
		out, errs, status := called(patiently(t), append(args, "--data", a.dir)...)
		if status != commands.ExitDone {
			t.Fatalf("%v: %q", args, errs)
		}
		return out + errs
	}
	call(behind, "add", note)
	front := startServe(t, filepath.Join(dir, "front"), "--engine", "openai", "--engine-url", behind.url+"/v1", "--engine-key-file", key, "--model", "default")
	front.ready()
	call(front, "add", note)

	const question = "What is the code of the gate at Wharf Road?"
	chat := func(model string) (how, body string) {
		t.Helper()
		return post(t, front, "/v1/chat/completions", `{"model":"`+model+`","messages":[{"role":"user","content":"`+question+`"}]}`)
	}
	if how, body := chat("default"); how != "computed" || !strings.Contains(body, "6190") || !strings.Contains(body, `"citations":[{`) {
		t.Errorf("the first time: %q, %s", how, body)
	}
	if how, body := chat("default"); how != "served" || !strings.Contains(body, "6190") {
		t.Errorf("the second time: %q, %s", how, body)
	}
	if out := call(front, "ask", question, "--explain"); !strings.Contains(out, "answer_hit") {
		t.Errorf("a question: %s", out)
	}
	if how, body := post(t, front, "/v1/completions", `{}`); how != "passed" || !strings.Contains(body, "no_operation") {
		t.Errorf("a path of the server alone: %q, %s", how, body)
	}
	if out := call(front, "status"); !strings.Contains(out, "default (on OpenAI-compatible, context of") {
		t.Errorf("status: %s", out)
	}
	id := strings.Fields(call(front, "documents", "list"))[0]
	call(front, "documents", "delete", id, "--yes")
	if how, body := chat("default"); how != "computed" || strings.Contains(body, "6190") {
		t.Errorf("after its document was deleted: %q, %s", how, body)
	}
	behind.stop()
	<-behind.ended
	call(front, "add", note, "--again")
	if _, errs, status := called(patiently(t), "ask", question, "--data", front.dir); status == commands.ExitDone || !strings.Contains(errs, "cannot reach") {
		t.Errorf("without the server: status %d, %s", status, errs)
	}
	front.stop()
	<-front.ended
	if log := front.log.String(); strings.Contains(log, behind.token) || strings.Contains(log, "6190") {
		t.Errorf("the log has the key or a document:\n%s", log)
	}
}

// post sends a request with a daemon's main token, and returns the header that says how the
// answer came about.
func post(t *testing.T, a *atWork, path, body string) (how, text string) {
	t.Helper()
	r, err := http.NewRequestWithContext(patiently(t), http.MethodPost, a.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	r.Header.Set("Content-Type", "application/json")
	resp, err := a.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Header.Get("Percached-Answer"), string(b)
}

// Wrong settings of a server say what to do.
func TestEngineSettings(t *testing.T) {
	for _, tc := range []struct{ args, says string }{
		{"--engine openai", "engine-url: set the address of the server"},
		{"--engine vllm", `"vllm" is neither llamacpp nor openai`},
		{"--engine-url http://127.0.0.1:1", "it is used by engine = openai alone"},
		{"--engine openai --engine-url http://10.0.0.9:8000", "use https, or set insecure-engine to true"},
		{"--embed-url ftp://a", "must be a URL such as"},
		{"--engine openai --engine-url https://a.example --placement parallel", "leave placement empty"},
		{"--engine-key-file x", "there is no server that the key is for"},
	} {
		args := append([]string{"serve", "--data", filepath.Join(t.TempDir(), "data")}, strings.Fields(tc.args)...)
		if out, errs, status := called(patiently(t), args...); status != commands.ExitMisused || !strings.Contains(errs, tc.says) {
			t.Errorf("%s: status %d, %q, %q", tc.args, status, out, errs)
		}
	}
}
