package idle_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/scheduler"
)

// mark is a thing that was about to be done.
type mark struct {
	what     string
	priority percached.Priority
	llmtest.Step
	own bool // of the job that is looked at
}

// tape records what happens in the order in which it does.
type tape struct {
	*bench
	kind scheduler.Kind
	mu   sync.Mutex
	told sync.Cond // of each mark
	all  []mark
	own  int       // steps of the first job of the kind, as of now
	job  string    // that job
	when int       // of its steps; a question comes then
	ask  func(int) // at is the place in the tape
	// asking: searches are the question's.
	asking atomic.Bool
}

// step is told of each thing before it is done.
func (t *tape) step(s llmtest.Step) {
	mine := false
	if s.Priority == percached.Background && s.Op != llmtest.OpQueue {
		st, err := t.scheduler.Status()
		t.ok(err)
		mine = st.Running != nil && st.Running.Kind == t.kind && (t.job == "" || t.job == st.Running.ID())
		if mine {
			t.job = st.Running.ID()
		}
	}
	t.note(mark{what: string(s.Op), priority: s.Priority, Step: s}, mine)
}

func (t *tape) search() {
	st, err := t.scheduler.Status()
	t.ok(err)
	if st.Running == nil || st.Running.Kind != t.kind || t.kind != scheduler.Check || t.asking.Load() {
		return
	}
	t.job = st.Running.ID()
	t.note(mark{what: "search", priority: percached.Background}, true)
}

func (t *tape) note(m mark, mine bool) {
	m.own = mine
	t.mu.Lock()
	t.all = append(t.all, m)
	t.told.Broadcast()
	at := len(t.all)
	comes := false
	if mine {
		comes = t.own == t.when
		t.own++
	}
	t.mu.Unlock()
	if comes && t.ask != nil {
		t.ask(at)
	}
}

func sliceOverhead(b *bench, kind scheduler.Kind) *tape {
	t := &tape{bench: b, kind: kind, when: -1}
	t.told.L = &t.mu
	b.step, b.searched = t.step, t.search
	return t
}

// steps are all that happened until now.
func (t *tape) steps() []mark {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.all)
}

func (s scene) make(t *testing.T) *tape {
	t.Helper()
	b := newBench(t, s.change)
	b.letter("Otter")
	b.rest() // what is due now is the scene's
	s.set(b)
	b.sleep(10 * time.Minute)
	return sliceOverhead(b, s.kind)
}

// A question that comes while a job is done is answered before any more of the
// job is done than the batch that is under way. The job stays in the queue, is taken
// up again when nobody has asked for a while, and computes nothing again that was
// stored.
func TestStepsAside(t *testing.T) {
	for i, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			alone := s.make(t)
			for _, st := range alone.work() {
				if st.Job.ID() == alone.job && st.End != scheduler.EndDone {
					t.Fatalf("undisturbed, the job ended as %s: %s", st.End, st.Job.Reason)
				}
			}
			if alone.own == 0 {
				t.Fatalf("no job of the kind %s computes anything: %v", s.kind, kinds(alone.ended))
			}
			for j, at := range moments(alone.own) {
				if testing.Short() && (i+j)%3 != 0 { // another third for each scene
					continue
				}
				s.interrupt(t, at, alone)
			}
		})
	}
}

// moments picks some of a job's n steps.
func moments(n int) []int {
	return slices.Compact([]int{0, n / 5, 2 * n / 5, 3 * n / 5, 4 * n / 5, n - 1})
}

func computed(steps []scheduler.Step, job string) (tokens int) {
	for _, s := range steps {
		if s.Job.ID() == job {
			tokens += s.Done.Computed
		}
	}
	return tokens
}

// interrupt has a question come at a step of the job, which alone tells of
// undisturbed.
func (s scene) interrupt(t *testing.T, at int, alone *tape) {
	t.Helper()
	r := s.make(t)
	r.when = at
	answered := make(chan answer.Answer, 1)
	came := 0
	r.ask = func(here int) {
		came = here
		r.asking.Store(true)
		go func() {
			a, err := r.Asker.Ask(context.Background(), answer.Question{Space: space, Text: "Where is the office of Otter?"}, answer.Listener{})
			if err != nil {
				t.Error(err)
			}
			r.note(mark{what: "answered"}, false)
			answered <- a
		}()
		r.await(here)
	}
	var first scheduler.Step
	for {
		st, err := r.scheduler.Step(context.Background())
		r.ok(err)
		if st.Job == nil {
			t.Fatalf("at step %d: nobody was interrupted; %+v", at, st.Reasons)
		}
		if st.Job.ID() == r.job {
			first = st
			break
		}
	}
	<-answered
	r.asking.Store(false)
	ended := r.now()
	cost := computed(alone.ended, alone.job)
	if first.End == scheduler.EndDone && at == alone.own-1 && first.Done.Computed == cost {
		return // nothing was left to be done
	}
	if first.End != scheduler.EndPreempted {
		t.Fatalf("at step %d the job ended as %s: %s", at, first.End, first.Job.Reason)
	}
	all := r.steps()
	var between []string
	for _, m := range all[came:] {
		if m.what == "answered" {
			break
		}
		if m.priority == percached.Background {
			between = append(between, m.what)
		}
	}
	allowed := 0
	if all[came-1].what == string(llmtest.OpCapture) || all[came-1].what == "search" {
		allowed = 1 // it is told of the next thing, and does not do it
	}
	if len(between) > allowed {
		t.Errorf("at step %d (%s) the question waited for %v", at, all[came-1].what, between)
	}
	if !slices.ContainsFunc(r.scheduler.Queue(), func(j scheduler.Job) bool { return j.ID() == r.job && j.Attempts == 0 && !j.Parked }) {
		t.Errorf("at step %d: the job is not in the queue", at)
	}
	r.quiet(ended)
	r.resumed(s, at, cost, first, all[:came])
	if s.kind == scheduler.Check && r.own > alone.own+1 {
		t.Errorf("at step %d: %d searches, undisturbed %d", at, r.own, alone.own)
	}
}

// await waits until the question is in line for the device, or answered.
func (t *tape) await(from int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !slices.ContainsFunc(t.all[from:], func(m mark) bool {
		return m.what == "answered" || m.priority == percached.Foreground && m.what == string(llmtest.OpQueue)
	}) {
		t.told.Wait()
	}
}

// quiet: nothing is done for a while behind the question.
func (t *tape) quiet(ended time.Time) {
	t.Helper()
	after := t.config.Policy.IdleAfter
	for _, until := range []time.Duration{0, after - time.Second} {
		t.sleep(until - t.now().Sub(ended))
		st, err := t.scheduler.Step(context.Background())
		t.ok(err)
		if st.Job != nil || !slices.ContainsFunc(st.Reasons, func(r scheduler.Reason) bool { return r.Code == scheduler.ReasonRecent }) {
			t.Errorf("%v after the question: %+v", t.now().Sub(ended), st)
		}
	}
	t.sleep(after - t.now().Sub(ended))
}

// resumed: the job is taken up and done.
func (t *tape) resumed(s scene, at, alone int, first scheduler.Step, before []mark) {
	t.Helper()
	t.ask, t.ended = nil, nil
	if s.moved {
		t.sleep(t.config.QuietQuestions)
	}
	done := false
	for range 1000 {
		st, err := t.scheduler.Step(context.Background())
		t.ok(err)
		if st.Job == nil {
			break
		}
		if st.Job.ID() == t.job || s.moved && st.Job.Kind == s.kind {
			done = st.End == scheduler.EndDone || st.End == scheduler.EndNothing
			total := first.Done.Computed + st.Done.Computed
			if lost := unfinished(before); !s.moved && total > alone+lost {
				t.Errorf("at step %d: %d tokens before and %d after, undisturbed %d; %d of them were under way", at, first.Done.Computed, st.Done.Computed, alone, lost)
			}
			break
		}
	}
	if !done {
		t.Errorf("at step %d: the job was not taken up again; %v", at, cmp.Diff(nil, t.scheduler.Queue()))
	}
}

// unfinished counts the tokens that the job had computed and not stored: those
// of the segment that was under way, or of a turn of the model's that nothing was
// kept of yet.
func unfinished(all []mark) (tokens int) {
	for _, m := range all {
		switch {
		case !m.own:
		case m.Op == llmtest.OpCapture:
			tokens = 0
		case m.Op == llmtest.OpPrefill:
			tokens += m.Tokens
		}
	}
	return tokens
}

// What clears up behind a deletion makes room for a question, too, and is not
// done before all of it was.
func TestCleaningStepsAside(t *testing.T) {
	b := newBench(t, nil)
	for _, name := range []string{"Heron", "Kite", "Otter"} {
		b.letter(name)
		b.ask("What is the budget of " + name + "?")
	}
	b.rest()
	b.forget("Kite")
	var end func()
	b.Library.Asker = settling{b.Asker, func() {
		if end == nil {
			end = b.scheduler.Foreground()
		}
	}}
	b.sleep(10 * time.Minute)
	st, err := b.scheduler.Step(context.Background())
	b.ok(err)
	for st.Job != nil && st.Job.Kind != scheduler.Clean {
		st, err = b.scheduler.Step(context.Background())
		b.ok(err)
	}
	if st.Job == nil || st.End != scheduler.EndPreempted {
		t.Fatalf("%+v", st)
	}
	b.ask("What is the budget of Otter?") // nothing keeps it waiting
	end()
	if untidy, err := b.Library.NeedsCleanUp(); !untidy || err != nil {
		t.Errorf("untidy %v, %v", untidy, err)
	}
	b.rest()
	if untidy, err := b.Library.NeedsCleanUp(); untidy || err != nil {
		t.Errorf("in the end: untidy %v, %v", untidy, err)
	}
}

// settling tells when something is being forgotten.
type settling struct {
	*answer.Asker
	hook func()
}

func (s settling) Settle() {
	s.hook()
	s.Asker.Settle()
}
