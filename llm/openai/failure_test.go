package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const secret = "sk-very-secret"

// scripted is a server whose answers are given, one for each try; the last one stays.
type scripted struct {
	mu      sync.Mutex
	answers []http.HandlerFunc
	asked   int
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/v1/models":
		fmt.Fprint(w, `{"data":[{"id":"m","max_model_len":4096}]}`)
	case r.URL.Path != "/v1/chat/completions":
		http.NotFound(w, r)
	default:
		s.mu.Lock()
		s.asked++
		answer := s.answers[0]
		if len(s.answers) > 1 {
			s.answers = s.answers[1:]
		}
		s.mu.Unlock()
		answer(w, r)
	}
}

// says streams events, each as it is.
func says(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for _, e := range events {
			fmt.Fprintf(w, "data: %s\n\n", e)
		}
	}
}

func fails(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

func text(s string) string { return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q}}]}`, s) }

// unfinished is a piece as servers send it that write no reason as an empty one.
func unfinished(s string) string {
	return strings.Replace(text(s), "}}]}", `},"finish_reason":""}]}`, 1)
}

const (
	stop   = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	counts = `{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":16}}}`
	done   = "[DONE]"
)

// started is an engine on a scripted server, and the pauses between its tries.
func started(t *testing.T, change func(*Config), answers ...http.HandlerFunc) (*Engine, *scripted, *[]time.Duration) {
	t.Helper()
	s := &scripted{answers: []http.HandlerFunc{says(text("a"), stop, counts, done)}}
	server := httptest.NewServer(s)
	pauses := &[]time.Duration{}
	c := Default()
	c.URL, c.Key, c.Model, c.Patience = server.URL, secret, "m", 0
	c.Wait = func(ctx context.Context, d time.Duration) error {
		*pauses = append(*pauses, d)
		return ctx.Err()
	}
	if change != nil {
		change(&c)
	}
	e, err := Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(); server.Close() })
	s.mu.Lock()
	s.answers, s.asked = answers, 0
	s.mu.Unlock()
	return e, s, pauses
}

// asks has an engine answer a question, and returns what it emitted.
func asks(e *Engine) (percached.Result, string, error) {
	var emitted strings.Builder
	res, err := e.Generate(context.Background(), percached.Prompt{
		Segments: e.Info().Chat.Ask("Be brief.", []string{"The ferry leaves at ten."}, "When?"), MaxTokens: 8, EndLoops: true,
	}, func(s string) error { emitted.WriteString(s); return nil })
	return res, emitted.String(), err
}

// A server that fails is asked again while nothing of its answer was emitted, at its own pace.
func TestFailures(t *testing.T) {
	good := says(text("At "), text("ten."), stop, counts, done)
	const quoted = `{"error":{"message":"prompt was: The ferry leaves at ten.","type":"invalid_request_error"}}`
	ms := time.Millisecond
	for _, tc := range []struct {
		name    string
		answers []http.HandlerFunc
		text    string     // that was emitted
		kind    fault.Kind // 0: it worked
		says    string     // of the error
		asked   int
		pauses  []time.Duration
	}{
		{"no failure", []http.HandlerFunc{good}, "At ten.", 0, "", 1, nil},
		{"too many requests, with a pause", []http.HandlerFunc{fails(429, "{}", "Retry-After", "3"), good}, "At ten.", 0, "", 2, []time.Duration{3 * time.Second}},
		{"too many requests, with a long pause", []http.HandlerFunc{fails(429, "{}", "Retry-After", "3600")}, "", fault.Overloaded, "too many requests", 1, nil},
		{"too many requests, always", []http.HandlerFunc{fails(429, "{}")}, "", fault.Overloaded, "too many requests", 4, []time.Duration{250 * ms, 500 * ms, 1000 * ms}},
		{"an error of the server", []http.HandlerFunc{fails(500, "{}"), fails(502, "<html>"), good}, "At ten.", 0, "", 3, []time.Duration{250 * ms, 500 * ms}},
		{"an error that stays", []http.HandlerFunc{fails(503, `{"error":{"code":"no_capacity"}}`)}, "", fault.Unavailable, "status 503 (no_capacity)", 4, []time.Duration{250 * ms, 500 * ms, 1000 * ms}},
		{"cut before the answer", []http.HandlerFunc{says(), good}, "At ten.", 0, "", 2, []time.Duration{250 * ms}},
		{"cut in the answer", []http.HandlerFunc{says(text("At ")), good}, "At ", fault.Unavailable, "broke off", 1, nil},
		{"an error in the stream", []http.HandlerFunc{says(`{"error":{"message":"The ferry leaves at ten."}}`)}, "", fault.Unavailable, "while it answered", 4, []time.Duration{250 * ms, 500 * ms, 1000 * ms}},
		{"no JSON", []http.HandlerFunc{says("ferry"), good}, "At ten.", 0, "", 2, []time.Duration{250 * ms}},
		{"a huge line", []http.HandlerFunc{says(text("At "), strings.Repeat("x", 2<<20))}, "At ", fault.Unavailable, "more than", 1, nil},
		{"an endless answer", []http.HandlerFunc{endless}, "", fault.Unavailable, "longer than", 1, nil},
		{"a wrong key", []http.HandlerFunc{fails(401, quoted)}, "", fault.Unavailable, "engine-key-file", 1, nil},
		{"no such model", []http.HandlerFunc{fails(404, quoted)}, "", fault.Unavailable, `no model "m"`, 1, nil},
		{"a refused request", []http.HandlerFunc{fails(400, quoted)}, "", fault.Invalid, "(invalid_request_error)", 1, nil},
		{"a prompt that is too long", []http.HandlerFunc{fails(400, `{"error":{"message":"maximum context length is 9","code":"context_length_exceeded"}}`)}, "", fault.Invalid, "does not fit", 1, nil},
		{"a wrong max_tokens", []http.HandlerFunc{fails(400, `{"error":{"message":"max_tokens is not supported: use max_completion_tokens","code":"unsupported_parameter"}}`)}, "", fault.Invalid, "(unsupported_parameter)", 1, nil},
		{"a redirect", []http.HandlerFunc{fails(307, "", "Location", "http://elsewhere.example/")}, "", fault.Unavailable, "redirects", 1, nil},
		{"a filter", []http.HandlerFunc{says(`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`)}, "", fault.Unavailable, "filter", 1, nil},
		{"an empty reason with each piece", []http.HandlerFunc{says(unfinished("At "), unfinished("ten."), stop, done)}, "At ten.", 0, "", 1, nil},
		{"nothing but [DONE]", []http.HandlerFunc{says(done), good}, "At ten.", 0, "", 2, []time.Duration{250 * ms}},
		{"no reason at the end", []http.HandlerFunc{says(text("At "), text("ten."), done)}, "At ten.", 0, "", 1, nil},
		{"no usage, no [DONE]", []http.HandlerFunc{says(text("At "), text("ten."), stop)}, "At ten.", 0, "", 1, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			e, s, pauses := started(t, nil, tc.answers...)
			res, emitted, err := asks(e)
			if tc.name == "an endless answer" {
				emitted = ""
			}
			if emitted != tc.text || fault.KindOf(err) != tc.kind || s.asked != tc.asked {
				t.Errorf("%q, %v, asked %d times; want %q, %v, %d times", emitted, err, s.asked, tc.text, tc.kind, tc.asked)
			}
			if diff := cmp.Diff(tc.pauses, *pauses, cmp.Transformer("", func(d []time.Duration) []time.Duration { return append([]time.Duration{}, d...) })); diff != "" {
				t.Error(diff)
			}
			if err == nil {
				if res.Text != tc.text || res.Finish != percached.FinishEnd {
					t.Errorf("%+v", res)
				}
				return
			}
			if !strings.Contains(err.Error(), tc.says) {
				t.Errorf("the error is %q, without %q", err, tc.says)
			}
			for _, private := range []string{secret, "ferry"} {
				if strings.Contains(err.Error(), private) {
					t.Errorf("the error has %q: %v", private, err)
				}
			}
		})
	}
}

// endless answers until nobody listens.
func endless(w http.ResponseWriter, r *http.Request) {
	for n := uint64(0); r.Context().Err() == nil; n++ {
		var words strings.Builder
		for i := range uint64(2000) {
			fmt.Fprintf(&words, "%x ", (n*2000+i)*0x9E3779B97F4A7C15)
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", text(words.String())); err != nil {
			return
		}
	}
}

// What a server counts is what the result says, in OpenAI's format and in llama-server's.
func TestCounters(t *testing.T) {
	for name, tc := range map[string]struct {
		events []string
		want   percached.Usage
	}{
		"OpenAI":               {[]string{text("At ten."), stop, counts, done}, percached.Usage{Prompt: 20, Reused: 16, Computed: 4, Generated: 2}},
		"llama-server":         {[]string{text("At ten."), `{"choices":[{"delta":{},"finish_reason":"stop"}],"timings":{"cache_n":7,"prompt_n":3,"predicted_n":5}}`, done}, percached.Usage{Prompt: 10, Reused: 7, Computed: 3, Generated: 5}},
		"more cached than any": {[]string{text("At ten."), stop, `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":99,"prompt_tokens_details":{"cached_tokens":50}}}`, done}, percached.Usage{Prompt: 5, Reused: 5, Generated: 8}},
		"negative":             {[]string{text("At ten."), stop, `{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":-1}}`, done}, percached.Usage{}},
	} {
		e, _, _ := started(t, nil, says(tc.events...))
		res, _, err := asks(e)
		if diff := cmp.Diff(tc.want, res.Usage); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	e, _, _ := started(t, nil)
	if !e.Info().PrefixCache {
		t.Error("the server counts cached tokens, and PrefixCache is false")
	}
}

// Thoughts are no part of an answer, whether the server cuts them out or not.
func TestThoughts(t *testing.T) {
	thinks := func(field string) string {
		return fmt.Sprintf(`{"choices":[{"delta":{%q:"The ferry, hm","content":null}}]}`, field)
	}
	length := strings.Replace(stop, "stop", "length", 1)
	for name, tc := range map[string]struct {
		events []string
		want   string
		finish percached.Finish
	}{
		"reasoning_content": {[]string{thinks("reasoning_content"), text("At ten."), stop, done}, "At ten.", percached.FinishEnd},
		"reasoning":         {[]string{thinks("reasoning"), text("At ten."), length, done}, "At ten.", percached.FinishLength},
		"in the text":       {[]string{text("<thi"), text("nk>hm</think>"), text("At ten."), stop, done}, "At ten.", percached.FinishEnd},
		"nothing else":      {[]string{thinks("reasoning_content"), length, done}, "", percached.FinishThought},
		"a loop":            {[]string{text(strings.Repeat("It leaves at ten o'clock, as it always does. ", 9)), stop, done}, "It leaves at ten o'clock, as it always does. ", percached.FinishLoop},
	} {
		e, _, _ := started(t, nil, says(tc.events...))
		if res, emitted, err := asks(e); res.Text != tc.want || emitted != tc.want || res.Finish != tc.finish || err != nil {
			t.Errorf("%s: %q, %q, %s, %v; want %q, %s", name, res.Text, emitted, res.Finish, err, tc.want, tc.finish)
		}
	}
}

// A server that failed several times in a row is left alone for a while, and then tried once.
func TestBreaker(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	e, s, _ := started(t, func(c *Config) { c.Now = func() time.Time { return now } }, fails(500, "{}"))
	for range 3 {
		if _, _, err := asks(e); fault.KindOf(err) != fault.Unavailable {
			t.Fatal(err)
		}
	}
	if _, _, err := asks(e); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "in a row") || s.asked != breakAfter*tries {
		t.Errorf("%v, asked %d times", err, s.asked)
	}
	now = now.Add(breakFirst)
	if _, _, err := asks(e); err == nil || s.asked != breakAfter*tries+tries {
		t.Errorf("after the pause: %v, asked %d times", err, s.asked)
	}
	now = now.Add(2 * breakFirst)
	s.answers = []http.HandlerFunc{says(text("At ten."), stop, done)}
	for range 2 {
		if _, got, err := asks(e); got != "At ten." {
			t.Errorf("a server that works again: %q, %v", got, err)
		}
	}
}

// A server that sends nothing is given up.
func TestSilence(t *testing.T) {
	release := make(chan struct{})
	e, _, _ := started(t, nil, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-r.Context().Done():
		case <-release:
		}
	})
	defer close(release)
	e.Silence = time.Millisecond
	if _, _, err := asks(e); fault.KindOf(err) != fault.Unavailable {
		t.Errorf("%v", err)
	}
}

// Warming stops when questions use none of it.
func TestWarmingMustPay(t *testing.T) {
	e, s, _ := started(t, nil, says(text("a"), stop, `{"choices":[],"usage":{"prompt_tokens":30000,"completion_tokens":1}}`, done))
	p := percached.Prompt{Segments: e.Info().Chat.Ask("Be brief.", nil, ""), Priority: percached.Background}
	for range 5 {
		if _, err := e.Prefill(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	if s.asked != 2 {
		t.Errorf("the server was warmed %d times, want 2", s.asked)
	}
	e.reused.Store(warmTrial)
	if _, err := e.Prefill(context.Background(), p); err != nil || s.asked != 3 {
		t.Errorf("after questions used it: asked %d times, %v", s.asked, err)
	}
}

func TestCheckURL(t *testing.T) {
	for address, want := range map[string]string{
		"http://127.0.0.1:8080": "", "http://localhost:8080/v1": "", "https://api.example.com/v1": "", "http://[::1]:80": "",
		"http://10.0.0.7:8000": "insecure-engine", "ftp://a": "http://127.0.0.1:8080", "": "http://127.0.0.1:8080", "https://u:p@a": "engine-key-file",
		"https://a/?key=b": "path",
	} {
		err := CheckURL(address, false)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if err := CheckURL("http://10.0.0.7:8000", true); err != nil {
		t.Error(err)
	}
}

func TestReadKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	for content, want := range map[string]string{"sk-1\n": "sk-1", " sk-1 \nmore": "sk-1", "": "empty", "a b": "no key", "ключ": "no key"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := ReadKey(file)
		if err == nil && key != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %q, %v", content, key, err)
		}
	}
	if key, err := ReadKey(""); key != "" || err != nil {
		t.Error(key, err)
	}
	if _, err := ReadKey(file + "2"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// A text comes back from its tokens. Beyond ASCII they are as many as its bytes: no vocabulary of
// bytes has more.
func FuzzTokens(f *testing.F) {
	for _, s := range []string{"", "The ferry to Harwich leaves at 10.", "Zürich, 3. März 🚆", "a\xff\xfeb\x00c", "會議在星期二", " aB  Cd", "<|percached:user|>", "\uFFFD"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ids := estimate(nil, s)
		if err := checkTokens("test", 0, ids); err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		for _, p := range partsOfTokens(ids) {
			if p.mark >= 0 {
				t.Fatalf("%q has a mark", s)
			}
			got.WriteString(p.text)
		}
		if got.String() != s {
			t.Fatalf("%q became %q", s, got.String())
		}
		beyond := 0
		for _, c := range []byte(s) {
			if c >= utf8.RuneSelf {
				beyond++
			}
		}
		if least := beyond + (len(s)-beyond)/mostRun; len(ids) < least {
			t.Fatalf("%d tokens for %q, want at least %d", len(ids), s, least)
		}
	})
}
