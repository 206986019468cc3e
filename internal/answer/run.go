package answer

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
)

// spare hits are asked for beside those needed: the index may still name chunks
// that are gone.
const spare = 8

// run is one question on its path.
type run struct {
	*Asker
	q       Question
	work    *Work // nil: somebody waits for the answer
	f       *flight
	set     Settings
	mark    string // of the settings
	seq     uint64 // of the space when the question came
	seen    uint64 // up to which the search found its chunks
	useBank bool
	most    int    // tokens of the answer
	place   *place // in the line for the engine
	queued  time.Duration

	began, at time.Time
	vector    []float32
	own       []percached.Chunk // the question's own chunks, best first
	searched  bool
	entry     *qabank.Entry     // the bank's, of this very question
	rests     []percached.Chunk // what the answer was made from, best first
	insert    func() error      // puts new tensors into the tree; nil: there are none
	crowded   bool              // there was no room for some of them
	answer    Answer
}

// answer takes a question along its path. Of work that was cut short the answer
// says what it took.
func (a *Asker) answer(ctx context.Context, q Question, set Settings, w *Work, f *flight) (Answer, error) {
	r, err := a.begin(q, set, w, f)
	if err != nil {
		return Answer{}, err
	}
	defer func() { r.place.leave() }()
	served, err := r.fromBank(ctx)
	if err == nil && !served {
		err = r.fromDocuments(ctx)
	}
	if err == nil {
		r.ground()
	}
	if err == nil || w != nil {
		stored := r.store(ctx, err == nil)
		if err == nil && w != nil {
			err = stored
		}
	}
	r.answer.Times.Total = a.Now().Sub(r.began)
	if err == nil { // who is refused hears that alone
		f.stage("total", r.answer.Times.Total)
	}
	return r.answer, err
}

// begin finds out what holds for a question.
func (a *Asker) begin(q Question, set Settings, w *Work, f *flight) (*run, error) {
	began := a.Now()
	r := &run{Asker: a, q: q, set: set, work: w, f: f, began: began, at: began}
	r.answer.Citations = []Citation{}
	r.mark = a.Mark(r.set)
	r.useBank = r.set.Bank && q.alone()
	if r.most = r.set.MaxTokens; q.MaxTokens > 0 {
		r.most = min(r.most, q.MaxTokens)
	}
	var err error
	r.seq, err = a.Knowledge.Seq(q.Space)
	return r, err
}

// settingsOf are those that hold for a question.
func (a *Asker) settingsOf(q Question) (Settings, error) {
	set, err := a.Settings(q.Space)
	if err != nil {
		return set, err
	}
	return set.With(q.Settings)
}

// Settings are those that hold in a space.
func (a *Asker) Settings(space string) (Settings, error) {
	sp, err := a.Knowledge.Space(space)
	if err != nil {
		return Settings{}, err
	}
	set, err := a.settings.Load().With(sp.Settings)
	if err != nil {
		return set, err
	}
	if a.Instructions != nil {
		text, ok, err := a.Instructions(space)
		if err != nil {
			return set, err
		}
		if ok {
			set.Instructions = strings.ReplaceAll(text, "{kind}", sp.Kind)
		}
	}
	if a.Placement != nil && !set.Fixed && !set.Whole {
		if p, ok := a.Placement(sp.Kind, set); ok {
			set.Placement = p
		}
	}
	return set, nil
}

// ended notes the time of a stage, from the end of the one before.
func (r *run) ended(name string, to *time.Duration) {
	*to += lap(r.Now, &r.at)
	r.f.stage(name, *to)
}

// without goes on although a part failed: the answer costs more for it.
func (r *run) without(part string, err error) {
	r.answer.Notes = append(r.answer.Notes, part+" did not work and was left out")
	r.Logger.Warn("a question was answered without a part", "part", part, "kind", fault.KindOf(err), "error", err)
}

// fromDocuments computes the answer from the question's chunks.
func (r *run) fromDocuments(ctx context.Context) (err error) {
	if r.work == nil {
		if r.place, err = r.line.enter(r.q.Caller); err != nil {
			return err
		}
	}
	for sure := r.work != nil; ; sure = true {
		if err := r.retrieve(ctx); err != nil {
			return err
		}
		chunks := r.own[:min(len(r.own), r.set.K)]
		if len(chunks) == 0 { // a model would make something up
			r.answer.Text, r.answer.Refused, r.answer.Outcome = strings.TrimSpace(refusal), true, Miss
			r.answer.Gate.Why += "; there is no document to answer from"
			r.f.tell(event{piece: r.answer.Text})
			return nil
		}
		err := r.compute(ctx, chunks, sure)
		if sure || !errors.Is(err, errGone) {
			r.answer.Refused = err == nil && refuses(r.answer.Text)
			return err
		}
		r.rests, r.answer.Citations, r.searched = nil, []Citation{}, false // its turn is the question's still
		if r.seq, err = r.Knowledge.Seq(r.q.Space); err != nil {
			return err
		}
	}
}

// retrieve finds the question's own chunks, once.
func (r *run) retrieve(ctx context.Context) error {
	if r.searched {
		return nil
	}
	defer r.ended("retrieve", &r.answer.Times.Retrieve)
	st := r.standing(r.q.Space)
	if st.EmbedderStale {
		r.answer.Notes = append(r.answer.Notes, "the vectors of this space are another embedding model's: it is searched by words alone until it is indexed anew (percached reindex)")
	}
	r.seen = min(r.seq, st.Seq) // before the search: what comes in meanwhile may be missed
	own, err := r.search(ctx, r.q.Space, r.q.wanted(), r.vector, max(r.set.K, r.set.KRefresh))
	if err != nil {
		return err
	}
	r.own, r.searched = own, true
	return nil
}

// embed gives the question its vector; without one, words alone decide.
func (r *run) embed(ctx context.Context) error {
	if r.vector != nil {
		return nil
	}
	var vs [][]float32
	var err error
	if texts := []string{r.q.wanted()}; r.work == nil {
		vs, err = r.Embed(ctx, r.q.Caller, texts)
	} else {
		vs, err = r.Embedder.Embed(ctx, percached.Background, texts)
	}
	switch {
	case ctx.Err() != nil:
		return fault.Wrap("embed", ctx.Err())
	case err != nil && r.work != nil && r.useBank: // nothing of it would be kept
		return err
	case err != nil:
		r.without("the embedder", err)
	case len(vs) == 1:
		r.vector = vs[0]
	}
	return nil
}

// cite names the chunks that the answer rests on, before its text comes.
func (r *run) cite(chunks []percached.Chunk) {
	r.rests = chunks
	for _, c := range chunks {
		cite := Citation{Chunk: c.ID, About: strings.TrimPrefix(c.Head, "### "), Quote: c.Body}
		if len(c.Documents) > 0 {
			cite.Document = c.Documents[0]
		}
		r.answer.Citations = append(r.answer.Citations, cite)
		r.f.tell(event{cite: &cite})
	}
}

// store puts what came of the question into the tree, the bank and the history,
// unless a chunk that it rests on went meanwhile: what is forgotten must not come
// back, see Settle.
//
// Of work that was cut short the tensors stay that it had made until then. What
// was done is stored although ctx has ended.
func (r *run) store(ctx context.Context, whole bool) error {
	r.storing.RLock()
	defer r.storing.RUnlock()
	defer r.ended("store", &r.answer.Times.Store)
	if !r.stands() {
		return errGone
	}
	var err error
	if r.insert != nil {
		if err = r.insert(); err != nil {
			r.without("storing tensors", err)
		}
	}
	if whole && r.answer.Outcome != AnswerHit && len(r.rests) > 0 {
		kept := r.keep(context.WithoutCancel(ctx))
		if kept != nil && r.vector != nil {
			r.without("the bank", kept)
		}
		err = errors.Join(err, kept)
	}
	if r.work == nil {
		r.remember()
	}
	return err
}

// priority is that of all that is computed for the question.
func (r *run) priority() percached.Priority {
	if r.work != nil {
		return percached.Background
	}
	return percached.Foreground
}

// stands says whether all that the answer rests on is still there as it was, and
// if that is nothing, whether the space is.
func (r *run) stands() bool {
	if seq, err := r.Knowledge.Seq(r.q.Space); err == nil && seq == r.seq {
		return true // nothing has changed since the question came
	}
	ids := make([]percached.ChunkID, len(r.rests))
	for i, c := range r.rests {
		ids[i] = c.ID
	}
	now, err := r.Knowledge.Chunks(r.q.Space, ids)
	return err == nil && slices.EqualFunc(r.rests, now, func(a, b percached.Chunk) bool { return a.ID == b.ID && a.Version == b.Version })
}

// remember puts the question into the space's history.
func (r *run) remember() {
	rec := Record{Asked: r.began, Question: r.q.Text, Outcome: r.answer.Outcome, Took: r.Now().Sub(r.began)}
	for _, c := range r.rests {
		rec.Chunks = append(rec.Chunks, c.ID)
	}
	if err := r.History.Add(r.q.Space, rec, r.answer.Outcome != AnswerHit); err != nil {
		r.without("the history", err)
	}
}

// refuses says whether an answer is that the documents do not say.
func refuses(text string) bool {
	return qabank.Normalise(text) == qabank.Normalise(refusal)
}
