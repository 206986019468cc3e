package api

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

const (
	askMail = "POST /v1/spaces/mail/ask"
	when    = `{"question":"when?"}`
	events  = "Accept: text/event-stream"
)

// event is one event of a stream; a heartbeat has no name.
type event struct{ name, data string }

// nextEvent reads the next event of a stream, and returns false at its end.
func nextEvent(t *testing.T, r *bufio.Reader) (e event, ok bool) {
	t.Helper()
	_, e, ok = nextNumbered(t, r)
	return e, ok
}

// nextNumbered reads the next event of a stream with its id.
func nextNumbered(t *testing.T, r *bufio.Reader) (id string, e event, ok bool) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err == io.EOF {
			return id, e, false
		}
		if err != nil {
			t.Fatal(err)
		}
		line = strings.TrimSuffix(line, "\n")
		switch key, value, _ := strings.Cut(line, ": "); {
		case line == "":
			return id, e, true
		case key == "id":
			id = value
		case key == "event":
			e.name = value
		case key == "data":
			e.data += value
		case line != ":":
			t.Fatalf("line %q", line)
		}
	}
}

func allEvents(t *testing.T, text string) (all []event) {
	r := bufio.NewReader(strings.NewReader(text))
	for {
		e, ok := nextEvent(t, r)
		if !ok {
			return all
		}
		all = append(all, e)
	}
}

// A question reaches the backend completely. Its answer comes back as JSON, or as events with
// the same content.
func TestAsk(t *testing.T) {
	half := 0.5
	want := AskRequest{Space: "mail", Question: Question{Question: "when\nis it? \"<é>\"", Bypass: true, Refresh: true, Threshold: &half, MaxWrong: &half, MaxAge: 1.5}}
	answered := Answer{Answer: "on\nMonday", Outcome: "miss", Citations: []Citation{{About: "mail"}}, Times: map[string]float64{"total_ms": 1}}
	srv := testServer(t, Backend{Ask: func(ctx context.Context, q AskRequest, l Listener) (Answer, error) {
		if diff := cmp.Diff(want, q); diff != "" {
			t.Errorf("asked (-want +got):\n%s", diff)
		}
		if deadline, ok := ctx.Deadline(); !ok || time.Until(deadline) > Default().AskTimeout {
			t.Error("the question has no end")
		}
		if caller := Caller(ctx); caller != "admin" {
			t.Errorf("asked by %q", caller)
		}
		if l.Stage != nil {
			l.Stage(Stage{"search", 1.5})
			l.Citation(answered.Citations[0])
			l.Token("on\n")
			l.Token("Monday")
		}
		return answered, nil
	}})
	body, err := json.Marshal(want.Question)
	if err != nil {
		t.Fatal(err)
	}
	for _, accept := range []string{"", "*/*", "application/json", "text/event-stream;q=0.5, application/json", "text/*;q=0.3, */*;q=0.4"} {
		resp, text := send(t, srv, askMail, string(body), "Accept: "+accept)
		var got Answer
		if err := json.Unmarshal([]byte(text), &got); err != nil || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != jsonType {
			t.Fatalf("accepting %q: status %d, %v: %s", accept, resp.StatusCode, err, text)
		}
		if diff := cmp.Diff(answered, got); diff != "" {
			t.Errorf("accepting %q (-want +got):\n%s", accept, diff)
		}
	}
	for _, accept := range []string{"text/event-stream", "application/json;q=0.9, text/event-stream", "text/*, application/json;q=0"} {
		resp, text := send(t, srv, askMail, string(body), "Accept: "+accept)
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("accepting %q: status %d: %s", accept, resp.StatusCode, text)
		}
		got := allEvents(t, text)
		done := got[len(got)-1]
		var end Answer
		if err := json.Unmarshal([]byte(done.data), &end); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(answered, end); diff != "" {
			t.Errorf("at the end (-want +got):\n%s", diff)
		}
		citation, _ := json.Marshal(answered.Citations[0])
		if diff := cmp.Diff([]event{
			{"stage", `{"name":"search","ms":1.5}`},
			{"citation", string(citation)},
			{"token", `{"text":"on\n"}`},
			{"token", `{"text":"Monday"}`},
			{"done", done.data},
		}, got, cmp.AllowUnexported(event{})); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	}
}

// A question refused up to the first stage gets its own status, streaming or not. Later, an
// event reports the error.
func TestAskFails(t *testing.T) {
	for _, first := range []bool{true, false} {
		srv := testServer(t, Backend{Ask: func(_ context.Context, _ AskRequest, l Listener) (Answer, error) {
			if l.Stage != nil {
				l.Stage(Stage{"match_question", 1})
			}
			if !first {
				l.Token("it ")
			}
			return Answer{}, fault.New(fault.Overloaded, "answer.Ask", "64 questions wait")
		}})
		a := exchangeRaw(t, srv, raw(askMail, when, events))
		if first {
			if a.StatusCode != 429 || a.name() != "overloaded" || a.Header.Get("Retry-After") != "1" || !strings.HasPrefix(a.problem.Detail, "64 questions wait. ") {
				t.Errorf("status %d: %s", a.StatusCode, a.text)
			}
			continue
		}
		got := allEvents(t, a.text)
		if a.StatusCode != 200 || len(got) != 3 || got[0].name != "stage" || got[1].name != "token" || got[2].name != "error" {
			t.Fatalf("status %d: %s", a.StatusCode, a.text)
		}
		var p Problem
		if err := json.Unmarshal([]byte(got[2].data), &p); err != nil || p.Status != 429 || p.Instance == "" || p.Fix == "" {
			t.Errorf("%v: %+v", err, p)
		}
	}
}

// If the client disconnects, the question's context ends and the log says so.
func TestClientGone(t *testing.T) {
	for _, accept := range []string{"Accept: application/json", events} {
		t.Run(accept, func(t *testing.T) {
			begun, stopped, status := make(chan bool), make(chan error), make(chan int, 1)
			srv := testServer(t, Backend{Ask: func(ctx context.Context, _ AskRequest, l Listener) (Answer, error) {
				if l.Token != nil {
					l.Token("it ")
				}
				close(begun)
				<-ctx.Done()
				stopped <- ctx.Err()
				return Answer{}, fault.Wrap("answer.Ask", ctx.Err())
			}}, func(o *Options) { o.Observer.Request = func(_ string, s int, _ time.Duration) { status <- s } })
			c, err := net.Dial("tcp", srv.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(c, raw(askMail, when, accept)); err != nil {
				t.Fatal(err)
			}
			<-begun
			c.Close()
			if err := <-stopped; err != context.Canceled {
				t.Errorf("the question ended with %v", err)
			}
			if s := <-status; s != statusClientGone {
				t.Errorf("status %d in the log", s)
			}
		})
	}
}

// leavesAfter is a response whose client disconnects when it has received a text.
type leavesAfter struct {
	*httptest.ResponseRecorder
	text  string
	leave func()
}

func (w leavesAfter) Write(p []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(p)
	if strings.Contains(w.Body.String(), w.text) {
		w.leave()
	}
	return n, err
}

// A client may disconnect as soon as it has the whole answer: the log has the status that was sent.
func TestClientGoneAtTheEnd(t *testing.T) {
	for _, tt := range []struct{ what, body, accept, end string }{
		{askMail, when, jsonType, `"answer":"Monday"`},
		{askMail, when, eventsType, "event: done"},
		{"POST /v1/spaces/mail/complete", `{"before":"on "}`, eventsType, "event: done"},
		{"POST /v1/chat/completions", `{"model":"mail","stream":true,"messages":[{"role":"user","content":"when?"}]}`, "", "[DONE]"},
		{"POST /v1/responses", `{"model":"mail","stream":true,"input":"when?"}`, "", "event: response.completed"},
	} {
		status := 0
		s := newServer(t, Backend{
			Ask: func(_ context.Context, _ AskRequest, l Listener) (Answer, error) {
				if l.Token != nil {
					l.Token("Monday")
				}
				return Answer{Answer: "Monday", Grounds: Grounds{Grounded: true}}, nil
			},
			Complete: func(_ context.Context, _ TypingRequest, emit func(string) error) (Completion, error) {
				return Completion{Candidates: []Candidate{{Text: "Monday"}}}, emit("Monday")
			},
		}, func(o *Options) { o.Observer.Request = func(_ string, s int, _ time.Duration) { status = s } })
		ctx, leave := context.WithCancel(t.Context())
		method, path, _ := strings.Cut(tt.what, " ")
		r := httptest.NewRequestWithContext(ctx, method, "http://localhost"+path, strings.NewReader(tt.body))
		r.Header.Set("Authorization", "Bearer "+adminToken)
		r.Header.Set("Content-Type", jsonType)
		r.Header.Set("Accept", tt.accept)
		w := leavesAfter{httptest.NewRecorder(), tt.end, leave}
		s.ServeHTTP(w, r)
		if ctx.Err() == nil || status != 200 {
			t.Errorf("%s, %s: status %d in the log: %s", tt.what, tt.accept, status, w.Body)
		}
		leave()
	}
}

// A question ends after AskTimeout. Until then its stream sends heartbeats.
func TestAskTakesTooLong(t *testing.T) {
	inBubble(t, func(t *testing.T, serve func(*Server) pipes) {
		l := serve(newServer(t, Backend{Ask: func(ctx context.Context, _ AskRequest, _ Listener) (Answer, error) {
			<-ctx.Done()
			return Answer{}, fault.Wrap("answer.Ask", ctx.Err())
		}}, func(o *Options) { o.AskTimeout, o.Heartbeat = 35*time.Second, 10*time.Second }))
		c, began := l.dial(), time.Now()
		defer c.Close()
		go io.WriteString(c, raw(askMail, when))
		if a := response(t, c); a.StatusCode != 504 || a.name() != "timeout" || time.Since(began) != 35*time.Second {
			t.Errorf("status %d after %v: %s", a.StatusCode, time.Since(began), a.text)
		}
		c2 := l.dial()
		defer c2.Close()
		began = time.Now()
		go io.WriteString(c2, raw(askMail, when, events))
		resp, err := http.ReadResponse(bufio.NewReader(c2), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		r := bufio.NewReader(resp.Body)
		for beat := 1; ; beat++ {
			e, ok := nextEvent(t, r)
			switch at := time.Since(began); {
			case beat <= 3 && (!ok || e != event{} || at != time.Duration(beat)*10*time.Second):
				t.Fatalf("heartbeat %d after %v: %+v", beat, at, e)
			case beat == 4 && (e.name != "error" || !strings.Contains(e.data, `"status":504`) || at != 35*time.Second):
				t.Fatalf("after %v: %+v", at, e)
			case beat == 5:
				if ok {
					t.Errorf("more behind the error: %+v", e)
				}
				return
			}
		}
	})
}

// A stream accepts events from several goroutines, keeps each complete, and drops those sent
// after it is closed.
func TestStreamFromMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept *eventStream
		s := newServer(t, Backend{})
		x := &exchange{options: &s.Options}
		rec := newRecorder()
		r, _ := http.NewRequestWithContext(context.WithValue(t.Context(), exchangeKey{}, x), "GET", "/", nil)
		kept = newEventStream(rec, r)
		for i := range 8 {
			go func() {
				for range 50 {
					_ = kept.send("token", i)
				}
			}()
		}
		synctest.Wait()
		kept.close()
		before := rec.Body.Len()
		if err := kept.send("token", 9); err != nil || rec.Body.Len() != before {
			t.Error("something was sent behind the end")
		}
		time.Sleep(time.Hour) // no heartbeat either
		if n := len(allEvents(t, rec.Body.String())); n != 400 || rec.Body.Len() != before {
			t.Errorf("%d events", n)
		}
	})
}
