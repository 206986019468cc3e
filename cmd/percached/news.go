package main

import (
	"log/slog"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/scheduler"
)

// news tells metrics, and those who listen to events, what the service does. Nil
// tells nobody.
type news struct {
	metrics *telemetry.Metrics
	hub     *api.Hub
	now     func() time.Time
	log     *slog.Logger
	ids     publicIDs // of the knowledge bank, set before anything is told

	mu    sync.Mutex
	cold  time.Duration // what an answer takes without anything stored, about; zero: not known yet
	count api.StatusQuestions
}

// questions counts those that were asked since the start.
func (n *news) questions() api.StatusQuestions {
	if n == nil {
		return api.StatusQuestions{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count
}

// counted counts a question that was answered.
func (n *news) counted(a telemetry.Answer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch answer.Outcome(a.Outcome) {
	case answer.AnswerHit:
		n.count.AnswerHits++
	case answer.TensorHit:
		n.count.TensorHits++
	case answer.Miss:
		n.count.Misses++
	}
	n.count.ReusedTokens += a.Reused
	n.count.SavedSeconds += a.Saved.Seconds()
}

// failed counts a question that got no answer.
func (n *news) failed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count.Failed++
}

func (n *news) publish(kind, space string, data map[string]any) {
	n.hub.Publish(api.Event{Type: kind, At: n.now(), Space: space, Data: data})
}

// damaged is for the observers of what cannot be read.
func (n *news) damaged(layer string) func(error) {
	if n == nil {
		return nil
	}
	return func(err error) {
		n.metrics.Damaged(layer)
		n.log.Warn("a record could not be read and was left out", "layer", layer, "kind", fault.KindOf(err))
	}
}

func (n *news) ofTree() qkvtree.Observer {
	if n == nil {
		return qkvtree.Observer{}
	}
	damaged := n.damaged("tensors")
	return qkvtree.Observer{
		Dropped: func(_ qkvtree.Info, cause error) { damaged(cause) },
		Stored: func(slices int, bytes int64) {
			n.metrics.Stored("tensors", slices, bytes)
			n.publish(api.EventStored, "", map[string]any{"slices": slices, "bytes": bytes})
		},
		Evicted: func(i qkvtree.Info) {
			n.metrics.Evicted("tensors", 1, i.Bytes)
			n.publish(api.EventEvicted, i.Space, map[string]any{"layer": "tensors", "count": 1, "bytes": i.Bytes})
		},
	}
}

func (n *news) ofBank() qabank.Observer {
	if n == nil {
		return qabank.Observer{}
	}
	return qabank.Observer{
		Damaged: n.damaged("bank"),
		Stored:  func(entries int, bytes int64) { n.metrics.Stored("bank", entries, bytes) },
		Evicted: func(entries int, bytes int64) {
			n.metrics.Evicted("bank", entries, bytes)
			n.publish(api.EventEvicted, "", map[string]any{"layer": "bank", "count": entries, "bytes": bytes})
		},
	}
}

func (n *news) ofScheduler() scheduler.Observer {
	if n == nil {
		return scheduler.Observer{}
	}
	return scheduler.Observer{
		Damaged: n.damaged("scheduler"),
		Ended: func(st scheduler.Step) {
			d := st.Done
			n.metrics.Job(string(st.Job.Kind), string(st.End), st.Took, d.Computed, d.Generated, d.Written)
			n.publish(api.EventJob, st.Job.Space, map[string]any{
				"id": st.Job.ID(), "kind": st.Job.Kind, "subject": n.ids.subject(*st.Job), "end": st.End, "seconds": st.Took.Seconds(), "computed_tokens": d.Computed,
				"generated_tokens": d.Generated, "bytes_written": d.Written, "questions": d.Questions,
			})
		},
	}
}

// ofInbox is told when an upload has another state.
func (n *news) ofInbox() inbox.Observer {
	if n == nil {
		return inbox.Observer{}
	}
	return inbox.Observer{Moved: func(u inbox.Upload) {
		state := string(u.State)
		if u.Dropped {
			state = "dropped" // that is nobody's trouble
		}
		n.metrics.Upload(state)
		n.publish(api.EventUpload, u.Space, map[string]any{
			"id": u.ID, "state": u.State, "added": u.Report.Added, "unchanged": u.Report.Unchanged, "replaced": u.Report.Replaced,
			"failed": u.Report.Failed, "chunks": u.Report.Chunks,
		})
	}}
}

// forgot is told of documents that were forgotten.
func (n *news) forgot(documents int) {
	if n != nil {
		n.metrics.Forgotten(documents)
	}
}

// asked sees every question, beside another who does.
func (n *news) asked(other func(space, question string) func(answer.Answer, error)) func(space, question string) func(answer.Answer, error) {
	if n == nil {
		return other
	}
	return func(space, question string) func(answer.Answer, error) {
		answered := other(space, question)
		return func(a answer.Answer, err error) {
			answered(a, err)
			if err != nil {
				kind := fault.KindOf(err).String()
				n.metrics.AnswerFailed(kind)
				n.failed()
				n.publish(api.EventRefused, space, map[string]any{"kind": kind})
				return
			}
			told := n.told(a)
			n.metrics.Answer(told)
			n.counted(told)
			n.publish(api.EventAnswer, space, map[string]any{
				"outcome": a.Outcome, "ms": float64(a.Times.Total.Microseconds()) / 1000,
				"chunks": n.chunksOf(space, a), "chunks_stored": a.Chunks.Stored, "chunks_all": a.Chunks.All, "tokens_reused": a.Tokens.Reused, "tokens_computed": a.Tokens.Computed,
			})
		}
	}
}

// told is what there is to count of an answer.
func (n *news) told(a answer.Answer) telemetry.Answer {
	m := telemetry.Answer{
		Outcome: string(a.Outcome), Refused: a.Refused, Total: a.Times.Total,
		Prompt: a.Tokens.Prompt, Reused: a.Tokens.Reused, Computed: a.Tokens.Computed, Generated: a.Tokens.Generated,
		ChunksStored: a.Chunks.Stored, ChunksAll: a.Chunks.All, Saved: n.saved(a),
	}
	for _, s := range a.Times.Stages() {
		m.Stages = append(m.Stages, telemetry.Stage{Name: s.Name, Took: s.Took})
	}
	for _, c := range a.Gate.Considered {
		for _, t := range c.Tests {
			if !c.Served && !t.Passed {
				m.GateRefusals = append(m.GateRefusals, t.Name)
				break
			}
		}
	}
	return m
}

// saved is how much longer an answer would have taken without anything stored.
// Tokens that were reused would have taken as long as those that were computed;
// an answer from the bank as long as the others have taken lately.
func (n *news) saved(a answer.Answer) time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	if a.Outcome == answer.AnswerHit {
		return max(0, n.cold-a.Times.Total)
	}
	if a.Tokens.Computed == 0 {
		return 0 // the model had no part in it
	}
	saved := max(0, a.Times.Prefill/time.Duration(a.Tokens.Computed)*time.Duration(a.Tokens.Reused)-a.Times.LoadTensors)
	if n.cold > 0 { // where little was computed, what it took says little of the rest
		saved = min(saved, max(0, 2*n.cold-a.Times.Total))
	}
	const memory = 16 // answers
	if cold := a.Times.Total + saved; n.cold == 0 {
		n.cold = cold
	} else {
		n.cold += (cold - n.cold) / memory
	}
	return saved
}

// revived tells that the engine failed, and what came of it.
func (n *news) revived(log *slog.Logger) func(cause, err error) {
	return func(cause, err error) {
		switch {
		case err != nil:
			log.Error("the model failed and could not be opened anew", "cause", cause, "error", err)
			return
		case n != nil:
			n.metrics.EngineRestarted()
		}
		log.Warn("the model failed and was opened anew", "cause", cause)
	}
}

// stopped is told when the engine was made to stop, as nobody waits any more.
func (n *news) stopped() func() {
	if n == nil {
		return nil
	}
	return n.metrics.EngineCancelled
}

// chunksOf are the chunks that stood in the prompt of an answer, or that a stored
// one rests on.
func (n *news) chunksOf(space string, a answer.Answer) []percached.ChunkID {
	ids, err := n.ids(space)
	if err != nil { // the space has gone, and its chunks with it
		return []percached.ChunkID{}
	}
	chunks := make([]percached.ChunkID, len(a.Citations))
	for i, c := range a.Citations {
		chunks[i] = ids.Chunk(c.Chunk)
	}
	return chunks
}
