package telemetry

import (
	"log/slog"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/scheduler"
)

// Recorder turns what the layers observe into metrics and events.
type Recorder struct {
	Metrics *Metrics
	Events  *api.EventBus
	Now     func() time.Time
	Log     *slog.Logger
	// IDs returns public IDs from the knowledge bank. Set it before the first question or job.
	IDs PublicIDs

	mu    sync.Mutex
	cold  time.Duration // average time of an answer without stored work; 0: unknown
	count api.StatusQuestions
}

// Questions counts the questions since the start.
func (r *Recorder) Questions() api.StatusQuestions {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count
}

// counted counts a question that was answered.
func (r *Recorder) countAnswer(a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch answer.Outcome(a.Outcome) {
	case answer.AnswerHit:
		r.count.AnswerHits++
	case answer.VerifiedHit:
		r.count.VerifiedHits++
	case answer.TensorHit:
		r.count.TensorHits++
	case answer.Miss:
		r.count.Misses++
	}
	r.count.ReusedTokens += a.Reused
	r.count.SavedSeconds += a.Saved.Seconds()
}

// failed counts a question that got no answer.
func (r *Recorder) countFailure() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count.Failed++
}

func (r *Recorder) publish(kind, space string, data map[string]any) {
	r.Events.Publish(api.Event{Type: kind, At: r.Now(), Space: space, Data: data})
}

// Damaged records that a layer lost a record.
func (r *Recorder) Damaged(layer string, err error) {
	r.Metrics.Damaged(layer)
	r.Log.Warn("left out a record that could not be read", "layer", layer, "kind", fault.KindOf(err))
}

// Tree observes the tensor tree.
func (r *Recorder) Tree() qkvtree.Observer {
	return qkvtree.Observer{
		Dropped: func(_ qkvtree.Info, cause error) { r.Damaged("tensors", cause) },
		Stored: func(slices int, bytes int64) {
			r.Metrics.Stored("tensors", slices, bytes)
			r.publish(api.EventStored, "", map[string]any{"slices": slices, "bytes": bytes})
		},
		Evicted: func(i qkvtree.Info) {
			r.Metrics.Evicted("tensors", 1, i.Bytes)
			r.publish(api.EventEvicted, i.Space, map[string]any{"layer": "tensors", "count": 1, "bytes": i.Bytes})
		},
	}
}

// Bank observes the QA bank.
func (r *Recorder) Bank() qabank.Observer {
	return qabank.Observer{
		Damaged: func(err error) { r.Damaged("bank", err) },
		Stored:  func(entries int, bytes int64) { r.Metrics.Stored("bank", entries, bytes) },
		Evicted: func(entries int, bytes int64) {
			r.Metrics.Evicted("bank", entries, bytes)
			r.publish(api.EventEvicted, "", map[string]any{"layer": "bank", "count": entries, "bytes": bytes})
		},
	}
}

// Outlived observes what was deleted because it was kept long enough.
func (r *Recorder) Outlived(space string, gone ingest.Receipt) {
	for what, n := range map[string]int{
		"questions": gone.History, "answers": gone.Entries, "turns": gone.Turns, "predictions": gone.Predicted, "slices": gone.Slices,
	} {
		r.Metrics.Expired(what, n)
	}
	r.publish(api.EventForgotten, space, map[string]any{
		"documents": 0, "chunks": 0, "slices": gone.Slices, "slice_bytes": gone.Bytes, "entries": gone.Entries,
		"history": gone.History, "summaries": 0, "predictions": gone.Predicted, "turns": gone.Turns, "cleaned_up": false,
	})
}

// Scheduler observes idle work.
func (r *Recorder) Scheduler() scheduler.Observer {
	return scheduler.Observer{
		Damaged: func(err error) { r.Damaged("scheduler", err) },
		Request: r.Metrics.RequestEnergy,
		Ended: func(st scheduler.Step) {
			d := st.Done
			if st.Joules != nil {
				r.Metrics.JobEnergy(string(st.Job.Kind), *st.Joules)
			}
			r.Metrics.Job(string(st.Job.Kind), string(st.End), st.Took, d.Computed, d.Generated, d.Written)
			r.publish(api.EventJob, st.Job.Space, map[string]any{
				"id": st.Job.ID(), "kind": st.Job.Kind, "subject": r.IDs.Subject(*st.Job), "end": st.End, "seconds": st.Took.Seconds(), "computed_tokens": d.Computed,
				"generated_tokens": d.Generated, "bytes_written": d.Written, "questions": d.Questions,
			})
		},
	}
}

// Inbox observes the states of uploads.
func (r *Recorder) Inbox() inbox.Observer {
	return inbox.Observer{Moved: func(u inbox.Upload) {
		state := string(u.State)
		if u.Dropped {
			state = "dropped" // on request, so it is no failure
		}
		r.Metrics.Upload(state)
		r.publish(api.EventUpload, u.Space, map[string]any{
			"id": u.ID, "state": u.State, "added": u.Report.Added, "unchanged": u.Report.Unchanged, "replaced": u.Report.Replaced,
			"failed": u.Report.Failed, "chunks": u.Report.Chunks,
		})
	}}
}

// Asked observes a question and its answer.
func (r *Recorder) Asked(space, _ string) func(answer.Answer, error) {
	return func(a answer.Answer, err error) {
		if err != nil {
			kind := fault.KindOf(err).String()
			r.Metrics.AnswerFailed(kind)
			r.countFailure()
			r.publish(api.EventRefused, space, map[string]any{"kind": kind})
			return
		}
		summary := r.summary(a)
		r.Metrics.Answer(summary)
		r.countAnswer(summary)
		r.publish(api.EventAnswer, space, map[string]any{
			"outcome": a.Outcome, "ms": float64(a.Times.Total.Microseconds()) / 1000,
			"chunks": r.chunksOf(space, a), "chunks_stored": a.Chunks.Stored, "chunks_all": a.Chunks.All, "tokens_reused": a.Tokens.Reused, "tokens_computed": a.Tokens.Computed,
		})
	}
}

// Completed observes a text that was completed.
func (r *Recorder) Completed(c answer.Completed) {
	r.Metrics.Completed(c.Tokens.Reused, c.Tokens.Spliced, c.Tokens.Computed, c.Tokens.Generated)
}

// Checked observes that a served answer was compared with a fresh one.
func (r *Recorder) Checked(_ string, right bool) { r.Metrics.GateChecked(right) }

// Changed observes that idle work changed the answer of a question that a user had asked.
func (r *Recorder) Changed(space string, entry qabank.ID) {
	r.publish(api.EventChanged, space, map[string]any{"entry": entry.String()})
}

// summary is what the metrics count of an answer.
func (r *Recorder) summary(a answer.Answer) Answer {
	m := Answer{
		Outcome: string(a.Outcome), Refused: a.Refused, Total: a.Times.Total,
		Prompt: a.Tokens.Prompt, Reused: a.Tokens.Reused, Computed: a.Tokens.Computed, Generated: a.Tokens.Generated,
		ChunksStored: a.Chunks.Stored, ChunksAll: a.Chunks.All, Saved: r.saved(a),
	}
	for _, s := range a.Times.Stages() {
		m.Stages = append(m.Stages, Stage{Name: s.Name, Took: s.Took})
	}
	for _, d := range a.Drafts {
		m.Drafts = append(m.Drafts, Drafted{Source: string(d.Source), Proposed: d.Proposed, Accepted: d.Accepted})
	}
	for _, c := range a.Gate.Considered {
		m.OtherWords = m.OtherWords || c.Served && !c.Exact
		for _, t := range c.Tests {
			if !c.Served && !t.Passed {
				m.GateRefusals = append(m.GateRefusals, t.Name)
				break
			}
		}
	}
	return m
}

// saved estimates how much longer an answer would have taken without stored work. A
// reused token would have taken as long as a computed one, and an answer from the bank
// as long as recent others.
func (r *Recorder) saved(a answer.Answer) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a.Outcome == answer.AnswerHit {
		return max(0, r.cold-a.Times.Total)
	}
	if a.Tokens.Computed == 0 {
		return 0 // the model was not used
	}
	saved := max(0, a.Times.Prefill/time.Duration(a.Tokens.Computed)*time.Duration(a.Tokens.Reused)-a.Times.LoadTensors)
	if r.cold > 0 { // the time of a few tokens says little about many
		saved = min(saved, max(0, 2*r.cold-a.Times.Total))
	}
	const memory = 16 // answers
	if cold := a.Times.Total + saved; r.cold == 0 {
		r.cold = cold
	} else {
		r.cold += (cold - r.cold) / memory
	}
	return saved
}

// chunksOf are the chunks in the prompt of an answer, or behind a stored answer.
func (r *Recorder) chunksOf(space string, a answer.Answer) []percached.ChunkID {
	ids, err := r.IDs(space)
	if err != nil { // the space and its chunks are gone
		return []percached.ChunkID{}
	}
	chunks := make([]percached.ChunkID, len(a.Citations))
	for i, c := range a.Citations {
		chunks[i] = ids.Chunk(c.Chunk)
	}
	return chunks
}

// PublicIDs returns the public IDs of a space.
type PublicIDs func(space string) (percached.PublicIDs, error)

// Subject is what a job is about. Some jobs are about a chunk, whose public ID is unknown
// after its space is deleted.
func (of PublicIDs) Subject(j scheduler.Job) string {
	if j.Kind != scheduler.Warm && j.Kind != scheduler.Abstract {
		return j.Subject
	}
	var chunk percached.ChunkID
	ids, err := of(j.Space)
	if err != nil || chunk.UnmarshalText([]byte(j.Subject)) != nil {
		return ""
	}
	return ids.Chunk(chunk).String()
}
