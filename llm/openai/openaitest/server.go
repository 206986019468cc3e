package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Server is an OpenAI-compatible server. Set its fields before it serves.
type Server struct {
	Engine llm.Engine
	Model  string // the name that requests must have
	Key    string // empty: none is wanted
	// Embedder serves /v1/embeddings; nil: the path is unknown.
	Embedder llm.Embedder
	// Seen, if set, sees each request.
	Seen func(*http.Request)

	mu     sync.Mutex
	slices map[string]*percached.Slice // of system messages
}

const keptSlices = 8

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chat struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	MaxTokens     int       `json:"max_tokens"`
	Temperature   float32   `json:"temperature"`
	TopP          float32   `json:"top_p"`
	Seed          uint64    `json:"seed"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.Seen != nil {
		s.Seen(r)
	}
	if s.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.Key {
		refuse(w, http.StatusUnauthorized, "invalid_api_key")
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		answer(w, map[string]any{"object": "list", "data": []any{
			map[string]any{"id": s.Model, "object": "model", "owned_by": "percached", "max_model_len": s.context()},
		}})
	case "POST /v1/chat/completions":
		s.chat(w, r)
	case "POST /v1/embeddings":
		s.embed(w, r)
	default:
		refuse(w, http.StatusNotFound, "not_found")
	}
}

func (s *Server) context() int {
	if s.Engine == nil {
		return 0
	}
	return s.Engine.Info().Context
}

// read reads a request strictly.
func (s *Server) read(w http.ResponseWriter, r *http.Request, into any, model *string) bool {
	d := json.NewDecoder(r.Body)
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || r.Header.Get("Content-Type") != "application/json" {
		refuse(w, http.StatusBadRequest, "invalid_request_error")
		return false
	}
	if *model != s.Model {
		refuse(w, http.StatusNotFound, "model_not_found")
		return false
	}
	return true
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	var q chat
	if !s.read(w, r, &q, &q.Model) {
		return
	}
	n := len(q.Messages)
	if n == 0 || n > 2 || q.Messages[n-1].Role != "user" || n == 2 && q.Messages[0].Role != "system" || q.MaxTokens < 1 || !q.Stream || !q.StreamOptions.IncludeUsage {
		refuse(w, http.StatusBadRequest, "invalid_request_error")
		return
	}
	format := s.Engine.Info().Chat
	segments := format.Turn(q.Messages[n-1].Content)
	if n == 2 {
		segments = format.Ask(q.Messages[0].Content, nil, q.Messages[1].Content)
		s.mu.Lock()
		segments[0].Slice = s.slices[q.Messages[0].Content]
		segments[0].Capture = segments[0].Slice == nil
		s.mu.Unlock()
	}
	out := http.NewResponseController(w)
	begun := false
	send := func(v any) error {
		if !begun {
			begun = true
			w.Header().Set("Content-Type", "text/event-stream")
		}
		b, _ := json.Marshal(v)
		if _, err := fmt.Fprintf(w, "data: %s\n\n", b); err != nil {
			return err
		}
		return out.Flush()
	}
	res, err := s.Engine.Generate(r.Context(), percached.Prompt{
		Segments: segments, MaxTokens: q.MaxTokens, Stop: format.Stop,
		Sampling: percached.Sampling{Temperature: q.Temperature, TopP: q.TopP, Seed: q.Seed},
	}, func(piece string) error {
		return send(chunk(map[string]any{"content": piece}, nil))
	})
	if err != nil {
		if !begun {
			refuse(w, status(err), code(err))
		}
		return // the stream breaks off
	}
	s.keep(q.Messages[0].Content, res.Slices[0])
	finish := "stop"
	if res.Finish == percached.FinishLength {
		finish = "length"
	}
	u := res.Usage
	_ = send(chunk(map[string]any{}, &finish))
	_ = send(map[string]any{"object": "chat.completion.chunk", "choices": []any{}, "usage": map[string]any{
		"prompt_tokens": u.Prompt, "completion_tokens": u.Generated, "total_tokens": u.Prompt + u.Generated,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.Reused},
	}})
	_, _ = w.Write([]byte("data: [DONE]\n\n"))
}

func chunk(delta any, finish *string) any {
	return map[string]any{"object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
}

// keep keeps the slice of a system message.
func (s *Server) keep(text string, slice *percached.Slice) {
	if slice == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.slices == nil || len(s.slices) >= keptSlices {
		s.slices = map[string]*percached.Slice{}
	}
	s.slices[text] = slice
}

func (s *Server) embed(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Model  string   `json:"model"`
		Input  []string `json:"input"`
		Format string   `json:"encoding_format"`
	}
	if s.Embedder == nil {
		refuse(w, http.StatusNotFound, "not_found")
		return
	}
	if !s.read(w, r, &q, &q.Model) {
		return
	}
	for _, text := range q.Input {
		// Like many servers: no empty text, and none that is too long.
		if strings.TrimSpace(text) == "" || len(text) > 4*s.Embedder.Info().MaxTokens {
			refuse(w, http.StatusBadRequest, "invalid_request_error")
			return
		}
	}
	vectors, err := s.Embedder.Embed(r.Context(), percached.Foreground, q.Input)
	if err != nil {
		refuse(w, status(err), code(err))
		return
	}
	var data []any
	for i := range vectors {
		i = len(vectors) - 1 - i // the order is not promised, the index is
		data = append(data, map[string]any{"object": "embedding", "index": i, "embedding": vectors[i]})
	}
	answer(w, map[string]any{"object": "list", "model": q.Model, "data": data, "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1}})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// refuse sends an error in OpenAI's format.
func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": "the server's own words", "type": code, "code": code}})
}

func status(err error) int {
	switch fault.KindOf(err) {
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.Overloaded:
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}

func code(err error) string {
	if fault.KindOf(err) == fault.Invalid {
		return "context_length_exceeded"
	}
	return "server_error"
}
