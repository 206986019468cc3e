package trial_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/trial"
)

// scripted is a percached with scripted answers behind a real socket. The real one is
// tested in cmd/percached. All fields but the functions belong to the one started last.
type scripted struct {
	say                               func(space, question string) reply // absent: a miss
	drained                           func(space string, kinds string) client.Drained
	vector                            func(text string) []float32
	slices                            []client.Slice // of the probe
	cannot                            string         // why slices cannot be stored
	version, model, embedder, threads string
	unread                            string // a file that is not read
	full                              bool   // documents are refused
	lost                              bool   // uploads fail after their end
	warm                              bool   // the warm-up is answered like everything else

	mu      sync.Mutex
	dead    bool
	started int
	stopped int
	calls   []string // since the first start: METHOD path ?query body
	files   map[string][]string
	uploads []int // files of each upload
	cache   client.Cache
	spaces  map[string]client.SpaceCache
}

// reply is the reply to a question.
type reply struct {
	client.Answer
	status int    // a problem, from 400 on
	events string // instead of an answer
	gone   bool   // the connection breaks after the events
	dead   bool   // and so does any later connection

	written, evicted, bytes int64 // of tensors, by this question
}

func miss(text string) reply {
	return reply{Answer: client.Answer{Answer: text, Outcome: client.OutcomeMiss}}
}

// setup is a run on it with user ana's questions, which differ by their first letter.
func (s *scripted) setup(t *testing.T, systems []eval.System, questions ...string) trial.Setup {
	return trial.Setup{
		Data: &eval.Data{Sets: []eval.Set{aSet("ana", questions...)}},
		Run:  eval.Run{Dataset: "plain", Systems: systems, Plan: eval.Plan{Seed: 1, Repeats: 1, Rounds: 2, Stride: 5, LimitBytes: 1 << 30}},
		Dir:  filepath.Join(t.TempDir(), "run"),
		Start: func(context.Context) (*trial.Daemon, error) {
			return s.start(t)
		},
		Tell: func(trial.Step) {},
	}
}

func aSet(user string, questions ...string) eval.Set {
	set := eval.Set{User: user, Kind: "emails", Ordered: true, Files: []eval.File{file("a.md")}}
	for i, q := range questions {
		set.Questions = append(set.Questions, eval.Question{Number: i + 1, Text: q})
	}
	return set
}

func file(name string) eval.File {
	return eval.File{Name: name, Size: int64(len(name)), Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(name)), nil }}
}

func (s *scripted) start(t *testing.T) (*trial.Daemon, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started++
	s.calls = append(s.calls, "start")
	s.files, s.cache, s.spaces = map[string][]string{}, client.Cache{}, map[string]client.SpaceCache{}
	srv := httptest.NewServer(s.routes(t))
	t.Cleanup(srv.Close)
	api, err := client.NewClient(srv.URL)
	return &trial.Daemon{API: api, Stop: func() error {
		s.stopped++
		srv.Close()
		return nil
	}}, err
}

func (s *scripted) routes(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	give := func(pattern string, say func(r *http.Request, space string) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.mu.Lock()
			defer s.mu.Unlock()
			body := say(r, r.PathValue("space"))
			w.Header().Set("Content-Type", "application/json")
			if status, ok := body.(int); ok {
				problem(w, status)
				return
			}
			if err := json.NewEncoder(w).Encode(body); err != nil {
				t.Error(err)
			}
		})
	}
	ok := func(r *http.Request, _ string) any { return struct{}{} }
	give("GET /v1/about", func(*http.Request, string) any {
		a := client.About{Version: s.version, Model: client.AboutModel{Name: "m", Fingerprint: cmp.Or(s.model, "f")}, Embedder: client.AboutEmbedder{Name: cmp.Or(s.embedder, "e")}}
		if s.cannot != "" {
			a.Model.NoSlices = &s.cannot
		}
		return a
	})
	give("GET /v1/config", func(*http.Request, string) any {
		return client.Config{Settings: []client.Setting{
			{Key: "threads", Value: cmp.Or(s.threads, "1"), Source: "environment"},
			{Key: "kv", Value: "f16", Source: "default"},
			{Key: "data", Value: fmt.Sprint("/d", s.started), Source: "flag"},
			{Key: "listen", Value: fmt.Sprint("h:", s.started), Source: "flag"},
		}}
	})
	give("PATCH /v1/config", s.noted(ok))
	give("POST /v1/spaces", s.noted(ok))
	give("PATCH /v1/spaces/{space}/settings", s.noted(ok))
	give("POST /v1/spaces/{space}/documents", func(r *http.Request, space string) any { return s.addDocuments(t, r, space) })
	give("GET /v1/spaces/{space}/documents", func(r *http.Request, space string) any { return s.documents(r, space) })
	give("GET /v1/spaces/{space}/documents/{id}", func(r *http.Request, _ string) any {
		name := strings.ReplaceAll(r.PathValue("id"), "~", "/")
		return client.DocumentText{ID: r.PathValue("id"), Text: []client.ChunkText{{Chunk: name + "#0"}, {Chunk: name + "#1"}}}
	})
	give("POST /v1/embeddings", func(r *http.Request, _ string) any { return s.embed(t, r) })
	give("POST /v1/idle/drain", func(r *http.Request, _ string) any {
		q := r.URL.Query()
		s.calls = append(s.calls, strings.TrimSpace(fmt.Sprintf("%s works: kind=%s jobs=%s tokens=%s", q.Get("space"), q.Get("kind"), q.Get("jobs"), q.Get("tokens"))))
		if s.drained == nil {
			return client.Drained{}
		}
		return s.drained(q.Get("space"), q.Get("kind"))
	})
	give("GET /v1/cache", func(*http.Request, string) any { return s.cache })
	give("GET /v1/spaces/{space}/cache", func(_ *http.Request, space string) any { return s.spaces[space] })
	give("GET /v1/spaces/{space}/cache/tree", func(*http.Request, string) any { return client.Tree{Slices: s.slices} })
	give("GET /v1/spaces/{space}/entries", func(_ *http.Request, space string) any {
		return client.Entries{Bank: &client.Bank{Entries: 10 + len(space)}}
	})
	give("GET /v1/spaces/{space}/entries/{id}", func(r *http.Request, space string) any {
		s.calls = append(s.calls, space+" shows "+r.PathValue("id"))
		return client.Entry{ID: r.PathValue("id"), Origin: "predicted"}
	})
	mux.HandleFunc("DELETE /v1/spaces/{space}/entries/{id}", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = append(s.calls, r.PathValue("space")+" forgets "+r.PathValue("id"))
		w.WriteHeader(http.StatusNoContent)
	})
	give("GET /v1/idle/ledger", func(r *http.Request, _ string) any {
		if r.URL.Query().Get("space") != "s0" {
			return client.Ledger{}
		}
		return client.Ledger{Accounts: []client.Account{{Joules: 1.5}, {Joules: 2}}}
	})
	mux.HandleFunc("POST /v1/spaces/{space}/ask", func(w http.ResponseWriter, r *http.Request) { s.answer(t, w, r) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		dead := s.dead
		s.mu.Unlock()
		if dead {
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
	})
}

func problem(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":"t","title":"Too much","status":%d,"instance":"i","fix":"f"}`, status)
}

// noted records a call with its body.
func (s *scripted) noted(next func(*http.Request, string) any) func(*http.Request, string) any {
	return func(r *http.Request, space string) any {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return http.StatusBadRequest
		}
		s.calls = append(s.calls, r.Method+" "+r.URL.Path+" "+strings.TrimSpace(string(body)))
		return next(r, space)
	}
}

func (s *scripted) addDocuments(t *testing.T, r *http.Request, space string) any {
	if s.full {
		return http.StatusInsufficientStorage
	}
	form, err := r.MultipartReader()
	if err != nil || r.URL.Query().Get("wait") != "true" {
		t.Error(err, r.URL)
		return http.StatusBadRequest
	}
	n, failures := 0, []client.Failure{}
	for {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return http.StatusBadRequest
		}
		_, name, _ := strings.Cut(part.Header.Get("Content-Disposition"), `filename="`)
		name = strings.TrimSuffix(name, `"`)
		content, err := io.ReadAll(part)
		if err != nil || string(content) != name {
			t.Errorf("%s came as %q: %v", name, content, err)
		}
		if n++; name == s.unread {
			failures = append(failures, client.Failure{Name: name, Reason: "odd"})
			continue
		}
		s.files[space] = append(s.files[space], name)
	}
	s.uploads = append(s.uploads, n)
	if s.lost {
		return client.UploadStatus{State: client.UploadStateFailed}
	}
	return client.UploadStatus{State: client.UploadStateDone, Chunks: 2 * n, Failures: failures, LeftOut: []client.Failure{{Name: "pic", Reason: "a picture"}}}
}

// documents returns one per page.
func (s *scripted) documents(r *http.Request, space string) any {
	at := 0
	fmt.Sscan(r.URL.Query().Get("after"), &at)
	out := client.Documents{Documents: []client.Document{}}
	if all := s.files[space]; at < len(all) {
		out.Documents = append(out.Documents, client.Document{ID: strings.ReplaceAll(all[at], "/", "~"), Path: &all[at]})
		if at+1 < len(all) {
			out.Next = new(fmt.Sprint(at + 1))
		}
	}
	return out
}

func (s *scripted) embed(t *testing.T, r *http.Request) any {
	var in struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || len(in.Input) == 0 || len(in.Input) > 256 {
		t.Error(err, len(in.Input))
	}
	data := []map[string]any{}
	for i, text := range in.Input {
		v := []float32{1}
		if s.vector != nil {
			v = s.vector(text)
		}
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": v})
	}
	return map[string]any{"data": data}
}

func (s *scripted) answer(t *testing.T, w http.ResponseWriter, r *http.Request) {
	var q client.Question
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.Header.Get("Accept") != "text/event-stream" {
		t.Error(err, r.Header)
	}
	if q.Bypass != nil || q.Refresh != nil || q.Threshold != nil || q.MaxAgeSeconds != nil {
		t.Errorf("a question is asked as anybody asks it: %+v", q)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	space := r.PathValue("space")
	s.calls = append(s.calls, space+" is asked "+q.Question)
	a := miss("to " + q.Question)
	if s.say != nil && (space != "warmup" || s.warm) {
		a = s.say(space, q.Question)
	}
	s.cache.WrittenBytes += a.written
	s.cache.Evicted += a.evicted
	own := s.spaces[space]
	own.Bytes, own.Slices = own.Bytes+a.bytes, own.Slices+1
	s.spaces[space] = own
	if a.status != 0 {
		problem(w, a.status)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	events := a.events
	if events == "" && !a.gone && !a.dead {
		done, err := json.Marshal(a.Answer)
		if err != nil {
			t.Error(err)
		}
		io.WriteString(w, "event: token\ndata: {\"text\":\"x\"}\n\n")
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		events = "event: done\ndata: " + string(done) + "\n\n"
	}
	io.WriteString(w, events)
	s.dead = a.dead
	if a.gone || a.dead {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// some are the calls with one of the words, without those of the warm-up.
func (s *scripted) some(words ...string) (out []string) {
	for _, c := range s.calls {
		if !strings.Contains(c, "warmup") && slices.ContainsFunc(words, func(w string) bool { return strings.Contains(c, w) }) {
			out = append(out, c)
		}
	}
	return out
}

// oneSlice is what a probe must find.
func oneSlice() []client.Slice { return []client.Slice{{Chunk: new("c"), Bytes: 100}} }

func plain(names ...string) (all []eval.System) {
	for _, n := range names {
		all = append(all, eval.System{Name: n, Idle: eval.IdleNone, Reference: names[0], Settings: client.Settings{Bank: new(false)}})
	}
	return all
}

// lead executes a run that must succeed.
func lead(t *testing.T, setup trial.Setup) *eval.Results {
	t.Helper()
	r, err := trial.Run(t.Context(), setup)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func asked(u eval.Unit) (texts []string) {
	for _, a := range u.Asked {
		texts = append(texts, a.Text)
	}
	return texts
}
