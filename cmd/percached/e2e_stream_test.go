package main

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/llm/gguf"
)

// stream is a response of server-sent events.
type stream struct {
	w     *world
	pull  func() (client.Message, error, bool)
	close func()
}

// streamed reads a response as a stream. Closing it is like a client that disconnects.
func (w *world) streamed(r *http.Response, err error, gone func()) *stream {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
	if kind := r.Header.Get("Content-Type"); r.StatusCode != 200 || !strings.HasPrefix(kind, "text/event-stream") {
		b, _ := io.ReadAll(r.Body)
		w.Fatalf("status %d, %s: %s", r.StatusCode, kind, b)
	}
	next, stop := iter.Pull2(client.Messages(r.Body))
	return &stream{w, next, func() { gone(); r.Body.Close(); stop() }}
}

// listen opens the daemon's stream of events.
func (w *world) listen(ctx context.Context) *stream {
	w.Helper()
	return w.listenAfter(ctx, nil)
}

// listenAfter opens it after the event with an id.
func (w *world) listenAfter(ctx context.Context, last *string) *stream {
	w.Helper()
	ctx, gone := context.WithCancel(ctx)
	r, err := w.all.Events(ctx, &client.EventsParams{LastEventID: last})
	return w.streamed(r, err, gone)
}

// message returns the next event.
func (s *stream) message() client.Message {
	s.w.Helper()
	m, err, ok := s.pull()
	if err != nil || !ok {
		s.w.Fatalf("the stream ended: %v", err)
	}
	return m
}

// next returns the next event of a type.
func (s *stream) next(event string) client.Message {
	s.w.Helper()
	for {
		if m := s.message(); m.Event == event {
			return m
		}
	}
}

// as decodes the data of an event.
func as[T any](w *world, m client.Message) (v T) {
	w.Helper()
	if err := json.Unmarshal([]byte(m.Data), &v); err != nil {
		w.Fatalf("%q: %v", m.Data, err)
	}
	return v
}

// eventStream requests a stream.
func eventStream(_ context.Context, r *http.Request) error {
	r.Header.Set("Accept", "text/event-stream")
	return nil
}

// namesChunks: the event of an answer names the cited chunks.
func (w *world) namesChunks(told client.Message, cited []client.Citation) {
	w.Helper()
	named := as[struct {
		Data struct{ Chunks []string }
	}](w, told).Data.Chunks
	if !slices.EqualFunc(cited, named, func(c client.Citation, id string) bool { return c.Chunk == id }) {
		w.Errorf("%+v were cited, %v are named", cited, named)
	}
}

func (w *world) streamScene(ctx context.Context) {
	events := w.listen(ctx)
	defer events.close()
	r, err := w.all.AskStream(ctx, mail, client.Question{Question: budgetQ, Refresh: new(true)})
	s := w.streamed(r, err, func() {})
	defer s.close()
	var text strings.Builder
	var cited []client.Citation
	stages := map[string]bool{}
	for {
		m := s.message()
		switch m.Event {
		case "stage":
			stages[as[client.Stage](w, m).Name] = true
		case "citation":
			cited = append(cited, as[client.Citation](w, m))
		case "token":
			if len(cited) == 0 {
				w.Error("the first token comes before the citations")
			}
			text.WriteString(as[client.Token](w, m).Text)
		case "done":
			a := as[client.Answer](w, m)
			if text.String() != a.Answer || len(cited) != len(a.Citations) || !stages["retrieve"] || !stages["total"] {
				w.Errorf("%q in pieces %q; %d citations, %d told; %v", a.Answer, text.String(), len(a.Citations), len(cited), stages)
			}
			told := events.next("answer")
			if e := as[client.Event](w, told); e.Space == nil || *e.Space != mail || strings.Contains(string(told.Data), "Heron") {
				w.Errorf("%s", told.Data)
			}
			w.namesChunks(told, cited)
			return
		default:
			w.Fatalf("%+v", m)
		}
	}
}

func (w *world) openaiScene(ctx context.Context) {
	var content client.ChatContent
	if err := content.FromChatText(budgetQ); err != nil {
		w.Fatal(err)
	}
	asked := client.ChatRequest{Model: mail, Messages: []client.ChatMessage{{Role: client.ChatMessageRoleUser, Content: &content}}}
	got, err := w.all.CreateChatCompletionWithResponse(ctx, asked)
	w.is(200, got, err)
	if c := got.JSON200; c.Percached.Outcome != client.OutcomeAnswerHit || c.Choices[0].Message.Content == nil || *c.Choices[0].Message.Content == "" {
		w.Errorf("%+v", c)
	}
	q := client.ResponsesRequest{Model: mail}
	if err := q.Input.FromChatText(budgetQ); err != nil {
		w.Fatal(err)
	}
	newer, err := w.all.CreateResponseWithResponse(ctx, q)
	w.is(200, newer, err)
	if r := newer.JSON200; r.Output[0].Content[0].Text != *got.JSON200.Choices[0].Message.Content {
		w.Errorf("%+v", r)
	}
	asked.ResponseFormat = &client.ChatFormat{Type: client.ChatFormatTypeJSONSchema, JSONSchema: &client.ChatSchema{Schema: client.JSONSchema{
		"type": "object", "properties": map[string]any{"sum": map[string]any{"type": "integer"}}, "required": []string{"sum"},
	}}}
	formed, err := w.all.CreateChatCompletionWithResponse(ctx, asked)
	w.is(200, formed, err)
	var sum struct{ Sum *int }
	if text := formed.JSON200.Choices[0].Message.Content; text == nil || json.Unmarshal([]byte(*text), &sum) != nil || sum.Sum == nil {
		w.Errorf("%+v", formed.JSON200.Choices)
	}
	var input client.EmbeddingInput
	if err := input.FromEmbeddingText("the mill pond"); err != nil {
		w.Fatal(err)
	}
	vectors, err := w.all.CreateEmbeddingWithResponse(ctx, client.EmbeddingRequest{Input: input})
	w.is(200, vectors, err)
	models, err := w.all.ListModelsWithResponse(ctx)
	w.is(200, models, err)
	one, err := w.all.GetModelWithResponse(ctx, mail)
	w.is(200, one, err)

	// Clients made for OpenAI, where their packages are: make clients fetches them.
	if _, err := os.Stat("../../build/clients/python/.installed"); err != nil {
		w.Log("the clients made for OpenAI are not there: make clients fetches them, and make check runs that first")
		return
	}
	cmd := exec.CommandContext(ctx, "sh", "../../internal/tools/clients.sh", "openai")
	cmd.Env = append(os.Environ(), "PERCACHED_URL="+w.URL, "PERCACHED_TOKEN="+w.Token, "PERCACHED_SPACE="+mail, "PERCACHED_QUESTION="+budgetQ)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.Errorf("%v\n%s", err, out)
	}
}

// TestClientGoesAway: the engine stops when no client waits for the answer.
func TestClientGoesAway(t *testing.T) {
	ctx := context.Background()
	// A model of random weights never ends by itself.
	w := newWorld(t, "--model", rambling(t), "--max-tokens", "50000", "--context", "120000")
	made, err := w.all.CreateSpaceWithResponse(ctx, client.NewSpace{Name: mail})
	w.is(201, made, err)
	in, err := w.all.UploadWithResponse(ctx, mail, &client.UploadParams{Wait: new(true)}, client.Texts{Documents: []client.NewDocument{{Text: "The pond is deep."}}})
	w.is(200, in, err)
	const stopped = "percached_engine_cancelled_total"
	if n := w.metric(stopped); n != "0" {
		t.Fatalf("%s engine runs were stopped before any", n)
	}
	asking, goAway := context.WithCancel(ctx)
	r, err := w.all.Ask(asking, mail, client.Question{Question: "How deep is the pond?"}, eventStream)
	s := w.streamed(r, err, goAway)
	s.next("token")
	s.close()
	w.becomes(stopped, "1")
	w.becomes("percached_questions_waiting", "0")
}

// rambling writes a model of random weights.
func rambling(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "rambling.gguf")
	if err := gguf.WriteRandom(path, gguf.RandomOptions{Seed: 1, Context: 131072}); err != nil {
		t.Fatal(err)
	}
	return path
}
