package main

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/scheduler"
)

// The metrics know every label of the packages: none is counted as other.
func TestMetricsKnowTheWords(t *testing.T) {
	m := telemetry.New()
	for _, o := range []answer.Outcome{answer.AnswerHit, answer.VerifiedHit, answer.TensorHit, answer.Miss} {
		a := telemetry.Answer{Outcome: string(o), GateRefusals: append(gateTests(t), "fresh")} // which internal/answer adds
		for _, s := range (&answer.Times{}).Stages() {
			a.Stages = append(a.Stages, telemetry.Stage{Name: s.Name, Took: time.Second})
		}
		for _, s := range []percached.DraftSource{percached.DraftStored, percached.DraftNear, percached.DraftPrompt} {
			a.Drafts = append(a.Drafts, telemetry.Drafted{Source: string(s), Proposed: 2, Accepted: 1})
		}
		m.Answer(a)
	}
	for k := fault.Invalid; k <= fault.Internal; k++ {
		m.AnswerFailed(k.String())
	}
	state := telemetry.State{Queue: map[string]int{}, Ledger: map[string]telemetry.Account{}}
	for _, k := range scheduler.Kinds() {
		for _, e := range []scheduler.End{scheduler.EndDone, scheduler.EndNothing, scheduler.EndPreempted, scheduler.EndFailed, scheduler.EndParked} {
			m.Job(string(k), string(e), time.Second, 1, 1, 1)
		}
		state.Queue[string(k)], state.Ledger[string(k)] = 1, telemetry.Account{Spent: 1, Saved: 1}
	}
	uploads := (&telemetry.Recorder{Metrics: m, Events: &api.EventBus{}, Now: time.Now}).Inbox()
	for _, s := range []inbox.State{inbox.Queued, inbox.Running, inbox.Done, inbox.Failed} {
		uploads.Moved(inbox.Upload{State: s})
	}
	uploads.Moved(inbox.Upload{State: inbox.Failed, Dropped: true})
	m.WatchState(func() (telemetry.State, error) { return state, nil })
	for _, s := range []scheduler.State{scheduler.Working, scheduler.Idle, scheduler.Waiting, scheduler.Paused} {
		state.Idle = string(s)
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		for _, s := range []string{"failed", "dropped"} {
			if one := `percached_uploads_total{state="` + s + `"} 1`; !strings.Contains(w.Body.String(), one) {
				t.Errorf("there is no %s", one)
			}
		}
		others := 0
		for line := range strings.Lines(w.Body.String()) {
			if !strings.Contains(line, `="other"`) {
				continue
			}
			if others++; !strings.HasSuffix(line, "} 0\n") {
				t.Errorf("%s: a word is not known: %s", s, line)
			}
		}
		if others == 0 {
			t.Fatal("nothing could be counted as other")
		}
	}
}

// gateTests are the names of all tests of the gate for a question that passes them.
func gateTests(t *testing.T) (names []string) {
	t.Helper()
	evidence := percached.ChunkID{1}
	e := qabank.Entry{Question: "Where is the key?", Answered: true, Settings: "s", Evidence: []percached.Evidence{{Chunk: evidence, Version: 1}}}
	v := qabank.Judge(qabank.Candidate{Entry: e, Similarity: 1}, qabank.Ask{
		Question: e.Question, Own: []percached.ChunkID{evidence}, Versions: map[percached.ChunkID]uint64{evidence: 1}, Settings: "s",
		Threshold: 0.9, MaxAge: time.Hour, Guard: true,
	})
	if !v.Serve {
		t.Fatalf("%+v", v.Tests)
	}
	for _, test := range v.Tests {
		names = append(names, test.Name)
	}
	return names
}
