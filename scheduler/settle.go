package scheduler

import "time"

// cost is how a job went.
type cost struct {
	done   Done
	took   time.Duration
	joules float64
	end    End
	why    string
	at     time.Time // when it ended
}

// settle books a job and takes it out of the queue or puts it back, in one
// transaction. It gives the job as it is then.
func (s *Scheduler) settle(a around, it *item, c *cost) (Job, error) {
	b, j := it.book, it.job
	s.write.Lock()
	defer s.write.Unlock()
	s.mu.Lock()
	if s.books[b.hash] == b { // else it was dropped meanwhile
		s.bookJob(b, j.Kind, *c)
	}
	s.spend(a.window, b, j.Kind, *c)
	now := s.jobs[it.id] // it may have been forgotten meanwhile, or unparked
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
			s.o.Logger.Warn("idle work: a job was parked", "kind", j.Kind, "job", it.id, "why", j.Reason)
		}
		after = &item{job: j, id: it.id, book: b, rank: it.rank}
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
	s.afterJob(b, it, c)
	return j, nil
}

// bookJob enters a job into the ledger. It wants mu.
func (s *Scheduler) bookJob(b *book, k Kind, c cost) {
	e := account{
		spent: int64(c.took), joules: max(0, c.joules),
		computed: int64(max(0, c.done.Computed)), generated: int64(max(0, c.done.Generated)), written: max(0, c.done.Written),
	}
	switch c.end {
	case EndDone:
		e.jobs = 1
	case EndFailed: // parked or not is seen later
		e.failed = 1
	case EndPreempted:
		e.preempted = 1
	}
	s.account(b, k, dateOf(c.at, s.config.Load().Zone)).add(e)
	s.grant(b, k, c.done.Credits)
	s.turn++
	b.served = s.turn
	s.keep(b)
}

// afterJob sees to what a job that ended leaves to be looked for. It wants mu.
func (s *Scheduler) afterJob(b *book, it *item, c *cost) {
	switch c.end {
	case EndNothing:
		b.idle[it.id] = c.at
	case EndDone:
		clear(b.idle)
	}
	if !s.canRun(b, it.job.Kind, c.at) {
		b.changed = allKinds // there may be more
	}
}
