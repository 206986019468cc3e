package scheduler

import (
	"slices"
	"time"
)

// merge makes the queue hold what was found: new jobs come, those that were not
// named go, those that wait take the new time. What failed is forgotten only if
// it is not due any more, what is parked not even then.
func (s *Scheduler) merge(b *book, found map[Kind]finding, now time.Time) error {
	s.write.Lock()
	defer s.write.Unlock()
	s.mu.Lock()
	if s.books[b.hash] != b { // dropped meanwhile
		s.mu.Unlock()
		return nil
	}
	var changed []*item
	named := map[jobID]bool{}
	for k, f := range found {
		for rank, d := range f.due {
			j := Job{Kind: k, Space: b.name, Subject: d.Subject, Added: now.UTC(), From: b.from(d, k, s.config.Load().Retry, now)}
			id := j.id()
			if named[id] {
				continue
			}
			named[id] = true
			old := s.jobs[id]
			if old == nil {
				changed = append(changed, &item{job: j, id: id, book: b, rank: rank})
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
	var gone []*item
	for _, it := range s.jobs {
		f, looked := found[it.job.Kind]
		// One that merely is behind those named is found again, in its turn.
		if it.book == b && looked && !named[it.id] && !it.job.Parked && (!f.more || it.job.Attempts == 0) {
			gone = append(gone, it)
		}
	}
	s.mu.Unlock()
	most := min(len(gone), goneAtOnce)
	if err := s.drop(gone[most:]); err != nil {
		return err
	}
	return s.enqueue(b, changed, gone[:most])
}

// from is when a due job may be done: not at once, if it just said that there
// was nothing to do.
func (b *book) from(d Due, k Kind, r Retry, now time.Time) time.Time {
	at, ok := b.idle[Job{Kind: k, Space: b.name, Subject: d.Subject}.id()]
	if ok {
		at = earlier(at, now).Add(max(r.First, time.Second)) // the clock may have been set back
	}
	if at = later(at, d.From); at.IsZero() {
		return at
	}
	return at.UTC()
}

// enqueue writes jobs that are new or changed, and deletes others. The caller
// holds write.
func (s *Scheduler) enqueue(b *book, changed, gone []*item) error {
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
		s.keep(b)
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

// drop deletes jobs, however many. The caller holds write.
func (s *Scheduler) drop(gone []*item) error {
	for part := range slices.Chunk(gone, goneAtOnce) {
		if err := s.enqueue(nil, nil, part); err != nil {
			return err
		}
	}
	return nil
}

func (it *item) key() []byte { return recordKey(queueByte, it.book.hash, it.id[:]...) }

func (it *item) record() record {
	key := it.key()
	return record{key, encodeJob(key, it.job)}
}

// after is the back-off behind so many failures.
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
