package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/llm/llmtest"
)

// While one token's questions occupy all places that it may have, another token still gets
// stored answers, uploads, and a place at the model.
func TestServeFloodOfQuestions(t *testing.T) {
	conf, g := config.DaemonDefault(), node.Dependencies{}
	conf.Data, conf.Serving.Listen, conf.MaxWaiting = t.TempDir(), "127.0.0.1:0", 4
	conf.Idle.Compute = 0
	free := make(chan struct{}, 1)
	free <- struct{}{}
	o := llmtest.DefaultOptions()
	o.Step = func(s llmtest.Step) {
		if s.Op == llmtest.OpDecode {
			free <- <-free // where it is taken out, it is put back by whoever did
		}
	}
	g.Engine = llmtest.NewFake(o)
	a := startServing(t, conf.Data, func(ctx context.Context, stdout, stderr io.Writer) error {
		return daemon.Serve(ctx, config.Of(conf, daemon.CheckConfig), g, stdout, stderr)
	})
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	call[api.UploadStatus](a, "POST", "/v1/spaces/notes/documents?wait=true", gateText)
	first := call[api.Answer](a, "POST", "/v1/spaces/notes/ask", gateAsk)
	var made bytes.Buffer
	if err := run(patiently(t), []string{"token", "create", "--data", a.dir, "--role", "ask", "--json"}, strings.NewReader(""), &made, io.Discard); err != nil {
		t.Fatal(err)
	}
	var flood struct{ Secret string }
	if err := json.Unmarshal(made.Bytes(), &flood); err != nil {
		t.Fatal(err)
	}
	<-free
	// ask begins a question and returns when it has a place; it is read to its end later.
	ask := func(token, question string) *http.Response {
		t.Helper()
		r := a.request("POST", "/v1/spaces/notes/ask", strings.NewReader(`{"bypass":true,"question":"`+question+`"}`))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Accept", "text/event-stream")
		resp, err := a.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { resp.Body.Close() })
		if resp.StatusCode == http.StatusOK {
			for line, in := "", bufio.NewReader(resp.Body); !strings.HasPrefix(line, "event: citation"); {
				if line, err = in.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
			}
		}
		return resp
	}
	questions := []string{"What is the code for the gate?", "Which code has the gate?", "What opens the gate?"}
	taken := []*http.Response{ask(flood.Secret, questions[0]), ask(flood.Secret, questions[1])}
	if resp := ask(flood.Secret, questions[2]); resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" {
		t.Errorf("one more: %s", resp.Status)
	}
	if got := call[api.Answer](a, "POST", "/v1/spaces/notes/ask", gateAsk); got.Outcome != "answer_hit" || got.Answer != first.Answer {
		t.Errorf("the stored answer: %+v", got)
	}
	if got := call[api.UploadStatus](a, "POST", "/v1/spaces/notes/documents?wait=true", `{"documents":[{"text":"The barn has a red door."}]}`); got.State != api.UploadDone {
		t.Errorf("the upload: %+v", got)
	}
	taken = append(taken, ask(a.token, questions[2]))
	free <- struct{}{}
	for i, resp := range taken {
		if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), "event: done") {
			t.Errorf("question %d: %s, %v: %s", i, resp.Status, err, text)
		}
	}
	a.end()
}
