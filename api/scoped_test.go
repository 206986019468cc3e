package api

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// busyTimes are those of an answer that waited for the questions of others.
var busyTimes = map[string]float64{"queue_ms": 4321, "prefill_ms": 50, "store_ms": 12, "total_ms": 4400}

// A token of one space is told the time that its caller waited, and nothing that
// says how much of it went to other spaces. A token of all spaces is told all.
func TestTimesOfAScopedToken(t *testing.T) {
	srv := testServer(t, Backend{Ask: func(_ context.Context, _ Asked, l Listener) (Answer, error) {
		a := Answer{Answer: "Monday", Outcome: "miss", Citations: []Citation{}, Times: busyTimes}
		if l.Stage != nil {
			l.Stage(Stage{"retrieve", 1})
			l.Stage(Stage{"queue", 4321})
		}
		if l.Token != nil {
			l.Token("Monday")
		}
		return a, nil
	}})
	const chat = `{"model":"mail","messages":[{"role":"user","content":"when?"}]}`
	for _, tc := range []struct {
		name, what, body string
		headers          []string
	}{
		{"whole", askMail, when, nil},
		{"stream", askMail, when, []string{events}},
		{"chat", "POST /v1/chat/completions", chat, nil},
		{"chat, stream", "POST /v1/chat/completions", strings.Replace(chat, "{", `{"stream":true,`, 1), nil},
	} {
		for token, scoped := range map[string]bool{mailAdminToken: true, mailAskToken: true, askToken: false, adminToken: false} {
			resp, text := send(t, srv, tc.what, tc.body, append(tc.headers, "X-Request-Id: fixed", "Authorization: Bearer "+token)...)
			if resp.StatusCode != 200 || !strings.Contains(text, `"total_ms":4400`) {
				t.Errorf("%s, %s: status %d: %s", tc.name, token, resp.StatusCode, text)
			}
			for _, word := range []string{"queue", "4321", "prefill_ms", "store_ms", "retrieve"} {
				if streamOnly := word == "retrieve" && tc.name != "stream"; !streamOnly && strings.Contains(text, word) == scoped {
					t.Errorf("%s, %s: %q is told, or is not: %s", tc.name, token, word, text)
				}
			}
		}
	}
}

// What a token of one space reads of questions that others have asked there, and of
// idle work, is coarse: how long it took depends on other spaces, too.
func TestScopedTokensReadCoarseTimes(t *testing.T) {
	srv := testServer(t, Backend{
		History: func(context.Context, Recent) (Records, error) {
			return Records{[]Record{{Question: "a", TookMS: 999.9}, {Question: "b", TookMS: 4321}, {Question: "c", TookMS: 70_000}}}, nil
		},
		Predict: func(context.Context, InSpace) (Drained, error) {
			w := Work{Done: 2, Preempted: 3, Seconds: 5.5, Computed: 100}
			return Drained{w, []KindWork{{"predict", w}}, []Reason{{Code: "foreground", Text: "a request is being answered"}, {Code: "paused"}}}, nil
		},
	})
	took := func(token string) (ms []float64) {
		_, text := send(t, srv, "GET /v1/spaces/mail/history", "", "Authorization: Bearer "+token)
		var r Records
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err, text)
		}
		for _, q := range r.Questions {
			ms = append(ms, q.TookMS)
		}
		return ms
	}
	if d := cmp.Diff([]float64{0, 4000, 64_000}, took(mailAdminToken)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{999.9, 4321, 70_000}, took(askToken)); d != "" {
		t.Error(d)
	}
	done := func(token string) (d Drained) {
		_, text := send(t, srv, "POST /v1/spaces/mail/predictions", "", "Authorization: Bearer "+token)
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err, text)
		}
		return d
	}
	w := Work{Done: 2, Seconds: 4, Computed: 100}
	if d := cmp.Diff(Drained{w, []KindWork{{"predict", w}}, []Reason{{Code: "paused"}}}, done(mailWriteToken)); d != "" {
		t.Error(d)
	}
	if got := done(writeToken); got.Preempted != 3 || got.Seconds != 5.5 || len(got.Reasons) != 2 {
		t.Errorf("%+v", got)
	}
}

// Events that other spaces cause are not for a token of one space: that its own work
// gave way, that its own tensors made room, and how long an answer waited.
func TestEventsOfAScopedToken(t *testing.T) {
	hub := &Hub{}
	srv := testServer(t, Backend{}, func(o *Options) { o.Hub = hub })
	whole, end := listenTo(t, srv, askToken)
	defer end()
	mail, end := listenTo(t, srv, mailAdminToken)
	defer end()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sent := []Event{
		{EventJob, at, "mail", map[string]any{"kind": "predict", "end": "preempted", "seconds": 5.5}},
		{EventEvicted, at, "mail", map[string]any{"layer": "tensors"}},
		{EventAnswer, at, "mail", map[string]any{"outcome": "miss", "ms": 4321.5}},
		{EventJob, at, "mail", map[string]any{"kind": "predict", "end": "done", "seconds": 5.5}},
	}
	for _, e := range sent {
		hub.Publish(e)
	}
	for _, want := range sent {
		got, _ := nextEvent(t, whole)
		if diff := cmp.Diff(want, eventOf(t, got)); diff != "" {
			t.Error(diff)
		}
	}
	for _, want := range []Event{
		{EventAnswer, at, "mail", map[string]any{"outcome": "miss", "ms": 4000.0}},
		{EventJob, at, "mail", map[string]any{"kind": "predict", "end": "done", "seconds": 4.0}},
	} {
		got, _ := nextEvent(t, mail)
		if diff := cmp.Diff(want, eventOf(t, got)); diff != "" {
			t.Error(diff)
		}
	}
}

func eventOf(t *testing.T, got event) (e Event) {
	t.Helper()
	if err := json.Unmarshal([]byte(got.data), &e); err != nil {
		t.Fatal(err)
	}
	return e
}
