package scheduler

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// mergeFound updates the queue from a scan: it adds new jobs, deletes jobs that were not
// named, and updates the times of waiting ones. It deletes a failed job only if it is no
// longer due, and never a parked one.
func (s *Scheduler) mergeFound(b *spaceState, found map[Kind]finding, now time.Time) error {
	s.diskLock.Lock()
	defer s.diskLock.Unlock()
	s.mu.Lock()
	if s.states[b.hash] != b { // dropped meanwhile
		s.mu.Unlock()
		return nil
	}
	var changed []*queuedJob
	named := map[jobID]bool{}
	for k, f := range found {
		for rank, d := range f.due {
			j := Job{Kind: k, Space: b.name, Subject: d.Subject, Added: now.UTC(), From: b.startOf(d, k, s.config.Load().Retry, now)}
			id := j.id()
			if named[id] {
				continue
			}
			named[id] = true
			old := s.jobs[id]
			if old == nil {
				changed = append(changed, &queuedJob{job: j, id: id, space: b, rank: rank})
				continue
			}
			old.rank = rank
			if !old.job.Parked && old.job.Attempts == 0 && !old.job.From.Equal(j.From) {
				moved := *old
				moved.job.From = j.From
				changed = append(changed, &moved)
			}
		}
	}
	var gone []*queuedJob
	for _, it := range s.jobs {
		f, looked := found[it.job.Kind]
		// A job beyond the scan's limit is found by a later scan.
		if it.space == b && looked && !named[it.id] && !it.job.Parked && (!f.more || it.job.Attempts == 0) {
			gone = append(gone, it)
		}
	}
	s.mu.Unlock()
	most := min(len(gone), maxDeletes)
	if err := s.deleteJobs(gone[most:]); err != nil {
		return err
	}
	return s.enqueue(b, changed, gone[:most])
}

// startOf returns when a due job may run. A job that just found nothing to do waits.
func (b *spaceState) startOf(d Due, k Kind, r Retry, now time.Time) time.Time {
	at, ok := b.foundNothing[Job{Kind: k, Space: b.name, Subject: d.Subject}.id()]
	if ok {
		at = earlier(at, now).Add(max(r.First, time.Second)) // the clock may have been set back
	}
	if at = later(at, d.From); at.IsZero() {
		return at
	}
	return at.UTC()
}

// enqueue writes new or changed jobs and deletes others. The caller holds diskLock.
func (s *Scheduler) enqueue(b *spaceState, changed, gone []*queuedJob) error {
	if len(changed)+len(gone) == 0 {
		return nil
	}
	var records []record
	for _, it := range changed {
		records = append(records, it.record())
	}
	for _, it := range gone {
		records = append(records, record{key: it.key()})
	}
	s.mu.Lock()
	if len(changed) > 0 && !b.stored {
		s.storeSpace(b)
	}
	s.mu.Unlock()
	if err := s.commit(records); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range changed {
		s.jobs[it.id] = it
	}
	for _, it := range gone {
		delete(s.jobs, it.id)
	}
	return nil
}

// deleteJobs deletes any number of jobs. The caller holds diskLock.
func (s *Scheduler) deleteJobs(gone []*queuedJob) error {
	for part := range slices.Chunk(gone, maxDeletes) {
		if err := s.enqueue(nil, nil, part); err != nil {
			return err
		}
	}
	return nil
}

func (it *queuedJob) key() []byte { return recordKey(queueByte, it.space.hash, it.id[:]...) }

func (it *queuedJob) record() record {
	key := it.key()
	return record{key, encodeJob(key, it.job)}
}

// after is the back-off after this many failures.
func (r Retry) after(failures int) time.Duration {
	d := r.First
	for range failures - 1 {
		if d >= r.Longest/2 {
			return r.Longest
		}
		d *= 2
	}
	return min(d, r.Longest)
}

// choice is the next job; without one, the reasons and when to look again.
type choice struct {
	item    *queuedJob
	reasons []Reason
	wake    time.Time
}

// pick chooses the best job that may start now. For a drain it chooses among the selected
// jobs that have not failed since the drain began. The caller holds mu.
func (s *Scheduler) pick(a conditions, e *drain) choice {
	var best *queuedJob
	var soonest time.Time
	waiting := 0
	paces := map[*spaceState]Pace{}
	for _, b := range s.states {
		if e.kindsFor(b.name) != 0 {
			paces[b] = s.pace(b, a.now)
		}
	}
	held := map[*spaceState]bool{}
	for _, it := range s.jobs {
		pace := paces[it.space]
		switch {
		case it.job.Parked, !e.kindsFor(it.job.Space).contains(it.job.Kind):
			continue
		case it.job.Kind.Predicts() && pace.Speed == PaceStopped:
			continue
		case it.job.Kind.findsQuestions() && pace.Speed == PaceSlow && s.usageIn(a.window).asked[it.space.hash][predictionIndex(it.job.Kind)] > 0:
			held[it.space] = true
			continue
		}
		_, idle := it.space.foundNothing[it.id]
		from := s.startTime(it.job, a.now)
		if e.ignoresRules() && (idle || s.failedSince(it.job, e.begun)) || !e.ignoresRules() && from.After(a.now) {
			waiting++
			soonest = earlier(soonest, from)
			continue
		}
		if best == nil || it.place().compare(best.place()) < 0 {
			best = it
		}
	}
	if best != nil {
		return choice{item: best}
	}
	c := choice{wake: soonest}
	add := func(r Reason) {
		c.reasons = append(c.reasons, r)
		c.wake = earlier(c.wake, r.Until)
	}
	if waiting > 0 {
		add(Reason{Code: ReasonNotYet, Text: fmt.Sprintf("%d jobs wait for a quiet period or a retry", waiting), Until: soonest})
	}
	for _, b := range slices.SortedFunc(maps.Keys(paces), byName) {
		pace := paces[b]
		if b.failedKinds&e.kindsFor(b.name) != 0 {
			add(Reason{Code: ReasonNotYet, Text: fmt.Sprintf("cannot scan space %q for due work: %s", b.name, errorCode(b.scanErr)), Until: b.scanAgain})
		}
		switch {
		case pace.Speed == PaceStopped:
			add(Reason{Code: ReasonNoPay, Text: fmt.Sprintf("space %q: %s", b.name, pace.Why), Until: pace.Until})
		case held[b]:
			add(Reason{Code: ReasonNoPay, Text: fmt.Sprintf("space %q: %s, so questions are predicted once a window", b.name, pace.Why), Until: a.nextWindow})
		}
	}
	if c.reasons == nil {
		add(Reason{Code: ReasonNothing, Text: "no work is due"})
	}
	return c
}

// failedSince reports whether a job failed at or after t.
func (s *Scheduler) failedSince(j Job, t time.Time) bool {
	return j.Attempts > 0 && !j.From.Add(-s.config.Load().Retry.after(j.Attempts)).Before(t)
}

// startTime is when a job may start. A start beyond the longest back-off, or a job added
// in the future, means that the clock was set back; such a job may start now.
func (s *Scheduler) startTime(j Job, now time.Time) time.Time {
	if latest := now.Add(s.config.Load().Retry.Longest); j.Added.After(now) || j.Attempts > 0 && j.From.After(latest) {
		return now
	}
	return j.From
}

// place is what decides a job's order.
type place struct {
	job    Job
	rank   int
	served uint64
}

// The caller holds mu.
func (it *queuedJob) place() place { return place{it.job, it.rank, it.space.served} }

// compare orders jobs: by kind, then the space served least recently, then the oldest,
// then the worker's order.
func (p place) compare(other place) int {
	return cmp.Or(
		cmp.Compare(p.job.Kind.rank(), other.job.Kind.rank()),
		cmp.Compare(p.served, other.served),
		p.job.Added.Compare(other.job.Added),
		cmp.Compare(p.rank, other.rank),
		cmp.Compare(p.job.Space, other.job.Space),
		cmp.Compare(p.job.Subject, other.job.Subject),
	)
}

// earlier returns the earlier time; zero counts as none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func byName(a, b *spaceState) int { return cmp.Compare(a.name, b.name) }

// cost is how a job went.
type cost struct {
	done   Done
	took   time.Duration
	joules float64
	// measured: the joules are known.
	measured bool
	end      End
	why      string
	at       time.Time // end of the job
}

// recordEnd writes a job's costs and deletes it from the queue or puts it back, in one
// transaction. It returns the job's new state.
func (s *Scheduler) recordEnd(a conditions, it *queuedJob, c *cost) (Job, error) {
	b, j := it.space, it.job
	s.diskLock.Lock()
	defer s.diskLock.Unlock()
	s.mu.Lock()
	if s.states[b.hash] == b { // otherwise it was dropped meanwhile
		s.recordCosts(b, j.Kind, *c)
	}
	s.chargeBudget(a.window, b, j.Kind, *c)
	now := s.jobs[it.id] // may be forgotten or retried meanwhile
	s.mu.Unlock()

	var records []record
	after := it
	switch {
	case now == nil:
	case c.end == EndDone, c.end == EndNothing:
		records = []record{{key: it.key()}}
	case c.end == EndFailed:
		j = now.job
		j.Attempts++
		j.Reason, j.From = c.why, c.at.Add(s.config.Load().Retry.after(j.Attempts)).UTC()
		if j.Attempts >= s.config.Load().Retry.Attempts {
			j.Parked, c.end = true, EndParked
			s.o.Logger.Warn("idle work: job parked after too many failures", "kind", j.Kind, "job", it.id, "why", j.Reason)
		}
		after = &queuedJob{job: j, id: it.id, space: b, rank: it.rank}
		records = []record{after.record()}
	}
	if err := s.commit(records); err != nil {
		return j, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case now == nil, c.end == EndPreempted:
		return j, nil
	case after != it:
		s.jobs[it.id] = after
	default:
		delete(s.jobs, it.id)
	}
	s.markRescan(b, it, c)
	return j, nil
}

// recordCosts adds a job to the ledger. The caller holds mu.
func (s *Scheduler) recordCosts(b *spaceState, k Kind, c cost) {
	e := account{
		spent:    int64(c.took),
		computed: int64(max(0, c.done.Computed)), generated: int64(max(0, c.done.Generated)), written: max(0, c.done.Written),
	}
	if c.measured {
		e.joules, e.measured = c.joules, int64(c.took)
	}
	switch c.end {
	case EndDone:
		e.jobs = 1
	case EndFailed: // parking is decided later
		e.failed = 1
	case EndPreempted:
		e.preempted = 1
	}
	s.account(b, k, dateOf(c.at, s.config.Load().Zone)).add(e)
	s.addCredits(b, k, c.done.Credits)
	s.turn++
	b.served = s.turn
	s.storeSpace(b)
}

// markRescan decides what to scan after a job. The caller holds mu.
func (s *Scheduler) markRescan(b *spaceState, it *queuedJob, c *cost) {
	switch c.end {
	case EndNothing:
		b.foundNothing[it.id] = c.at
	case EndDone:
		clear(b.foundNothing)
	}
	if !s.canRun(b, it.job.Kind, c.at) {
		b.changed = allKinds // there may be more
	}
}
