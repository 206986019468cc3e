package openai

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// replaceable is a server that another one can replace.
type replaceable struct {
	*httptest.Server
	mu    sync.Mutex
	paths map[string]string // responses by path; "503": the server is busy
}

const (
	chatsPath   = "/v1/chat/completions"
	vectorsPath = "/v1/embeddings"
	busy        = "503"
)

func newReplaceable(t *testing.T, paths map[string]string) *replaceable {
	t.Helper()
	r := &replaceable{paths: paths}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *replaceable) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	r.mu.Lock()
	answer, ok := r.paths[q.URL.Path]
	r.mu.Unlock()
	switch {
	case q.URL.Path == chatsPath:
		says(text("At ten."), stop, counts, done)(w, q)
	case q.URL.Path == vectorsPath:
		fmt.Fprint(w, `{"data":[{"index":0,"embedding":[1,0]}]}`)
	case !ok:
		http.NotFound(w, q)
	case answer == busy:
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		fmt.Fprint(w, answer)
	}
}

// replace has another server listen at the address.
func (r *replaceable) replace(paths map[string]string) {
	r.mu.Lock()
	r.paths = paths
	r.mu.Unlock()
	r.CloseClientConnections()
}

// llamaServerOf is a llama-server with a model of so many parameters.
func llamaServerOf(parameters int) map[string]string {
	return map[string]string{
		"/v1/models": fmt.Sprintf(`{"data":[{"id":"m","meta":{"n_params":%d}}]}`, parameters),
		"/props":     `{"default_generation_settings":{"n_ctx":4096},"model_path":"m.gguf"}`,
	}
}

func (r *replaceable) config() Config {
	c := Default()
	c.URL, c.Model, c.Patience = r.URL, "m", 0
	c.Wait = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return c
}

func (r *replaceable) open(t *testing.T) *Engine {
	t.Helper()
	e, err := Open(context.Background(), r.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// A server that was restarted with another model is another engine from then on; one that is
// still loading is not.
func TestReplacedModel(t *testing.T) {
	r := newReplaceable(t, llamaServerOf(1))
	e := r.open(t)
	was := e.Info().Fingerprint
	r.replace(llamaServerOf(1))
	if _, _, err := asks(e); err != nil || e.Info().Fingerprint != was {
		t.Errorf("restarted with the same model: %v, another fingerprint: %v", err, e.Info().Fingerprint != was)
	}
	loading := llamaServerOf(2)
	loading["/props"] = busy
	r.replace(loading)
	if _, _, err := asks(e); err != nil || e.Info().Fingerprint != was {
		t.Errorf("busy: %v, another fingerprint: %v", err, e.Info().Fingerprint != was)
	}
	r.replace(llamaServerOf(2))
	if _, _, err := asks(e); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "another model") {
		t.Errorf("restarted with another model: %v", err)
	}
	if e.Info().Fingerprint == was || e.Info().Parameters != 2 || !e.Info().PrefixCache {
		t.Errorf("after the model was replaced: %+v", e.Info())
	}
	if _, got, err := asks(e); got != "At ten." || err != nil {
		t.Errorf("after the model was replaced: %q, %v", got, err)
	}
}

// Stored answers end with the model also if no question reaches the server.
func TestCheck(t *testing.T) {
	r := newReplaceable(t, llamaServerOf(1))
	e := r.open(t)
	if err := e.Check(context.Background()); err != nil {
		t.Error(err)
	}
	was := e.Info().Fingerprint
	r.replace(llamaServerOf(2))
	if err := e.Check(context.Background()); fault.KindOf(err) != fault.Unavailable || e.Info().Fingerprint == was {
		t.Error(err, e.Info().Fingerprint)
	}
}

// A name on one server is not the same model as on another, unless both say so.
func TestFingerprints(t *testing.T) {
	named := map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`}
	rooted := map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"vllm","root":"org/a"}]}`}
	digest := func(d string) map[string]string {
		return map[string]string{
			"/v1/models": `{"data":[{"id":"m:latest"}]}`, "/api/version": `{"version":"0.1"}`,
			"/api/tags": fmt.Sprintf(`{"models":[{"name":"m:latest","digest":%q}]}`, d),
		}
	}
	prints := map[string]string{}
	for name, paths := range map[string]map[string]string{
		"a name": named, "the name elsewhere": named, "vLLM": rooted, "a digest": digest("a"), "the digest elsewhere": digest("a"), "another digest": digest("b"),
	} {
		prints[name] = newReplaceable(t, paths).open(t).Info().Fingerprint
	}
	if prints["a digest"] != prints["the digest elsewhere"] {
		t.Error("the same digest has two fingerprints")
	}
	delete(prints, "the digest elsewhere")
	seen := map[string]string{}
	for name, p := range prints {
		if seen[p] != "" {
			t.Errorf("%s and %s have the same fingerprint", name, seen[p])
		}
		seen[p] = name
	}
}

// Vectors of two models are not mixed, even if they have the same length.
func TestReplacedEmbedder(t *testing.T) {
	r := newReplaceable(t, llamaServerOf(1))
	e, err := OpenEmbedder(context.Background(), EmbedderConfig{Config: r.config()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	embeds := func() error {
		_, err := e.Embed(context.Background(), percached.Foreground, []string{"a"})
		return err
	}
	r.replace(llamaServerOf(1))
	if err := embeds(); err != nil {
		t.Error(err)
	}
	r.replace(llamaServerOf(2))
	for range 2 {
		if err := embeds(); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "restart percached") {
			t.Error(err)
		}
	}
	r.replace(llamaServerOf(1))
	if err := embeds(); err != nil {
		t.Errorf("with the first model again: %v", err)
	}
}
