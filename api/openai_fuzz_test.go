package api

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"
)

// refusal checks the problem of a refused body.
func refusal(t *testing.T, err error) {
	t.Helper()
	e, ok := errors.AsType[*problemError](err)
	if !ok {
		t.Fatalf("not a problem: %v", err)
	}
	if row, known := problems[e.problem]; !known || row.status < 400 || row.status > 499 {
		t.Errorf("a body makes the problem %q", e.problem)
	}
	if !utf8.ValidString(e.Error()) || len(e.fields) > maxWrong || e.detail == "" && len(e.fields) == 0 {
		t.Errorf("nobody can read %q", e.Error())
	}
	for _, f := range e.fields {
		if f.Field != "" && f.Field[0] != '/' || f.Detail == "" {
			t.Errorf("%q is no JSON pointer, or nothing is said of it", f.Field)
		}
	}
}

// Any body is either a valid question to a space or refused.
func FuzzChat(f *testing.F) {
	for _, tt := range wrongOpenAI() {
		_, body, _ := strings.Cut(tt.text, "\r\n\r\n")
		if len(body) < 4<<10 {
			f.Add(body)
		}
	}
	f.Add(`{"model":"mail","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"\ud800"}]}],"stream":true}`)
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body))
		r.Header.Set("Content-Type", jsonType)
		q, err := decode[chatRequest](r, false)
		if err != nil {
			refusal(t, err)
			return
		}
		a, _, err := q.asked()
		if err != nil {
			refusal(t, err)
			return
		}
		if a.Space == "" || strings.TrimSpace(a.Question.Question) == "" || a.MaxTokens < 0 {
			t.Errorf("%+v", a)
		}
		texts := []string{a.Space, a.Question.Question, a.Instructions}
		for _, turn := range a.Earlier {
			if texts = append(texts, turn.Text); turn.Role != "user" && turn.Role != "assistant" || turn.Text == "" {
				t.Errorf("%+v", turn)
			}
		}
		if !utf8.ValidString(strings.Join(texts, "")) {
			t.Error("not UTF-8")
		}
	})
}

func FuzzEmbedding(f *testing.F) {
	for _, tt := range wrongOpenAI() {
		if _, body, _ := strings.Cut(tt.text, "\r\n\r\n"); len(body) < 4<<10 {
			f.Add(body)
		}
	}
	f.Add(`{"input":["a","b"],"encoding_format":"base64"}`)
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest("POST", "/v1/embeddings", strings.NewReader(body))
		r.Header.Set("Content-Type", jsonType)
		q, err := decode[embeddingRequest](r, false)
		if err != nil {
			refusal(t, err)
			return
		}
		texts, _, err := q.asked()
		if err != nil {
			refusal(t, err)
			return
		}
		if len(texts) == 0 || len(texts) > maxInputs {
			t.Errorf("%d texts", len(texts))
		}
		for _, text := range texts {
			if strings.TrimSpace(text) == "" || len(text) > maxInput || !utf8.ValidString(text) {
				t.Errorf("%q", text)
			}
		}
	})
}
