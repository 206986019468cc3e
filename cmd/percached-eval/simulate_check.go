package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/scheduler"
)

// documents are the user's documents by the simulation's own count.
type documents struct {
	chunks  map[percached.DocumentID][]percached.ChunkID
	holders map[percached.ChunkID]int
}

func newDocuments() documents {
	return documents{map[percached.DocumentID][]percached.ChunkID{}, map[percached.ChunkID]int{}}
}

func (d *documents) put(id percached.DocumentID, chunks []percached.ChunkID) {
	d.remove(id)
	d.chunks[id] = chunks
	for _, c := range chunks {
		d.holders[c]++
	}
}

func (d *documents) remove(id percached.DocumentID) {
	for _, c := range d.chunks[id] {
		if d.holders[c]--; d.holders[c] == 0 {
			delete(d.holders, c)
		}
	}
	delete(d.chunks, id)
}

// allAlive says whether every chunk is in a document.
func (d *documents) allAlive(chunks []percached.ChunkID) bool {
	return !slices.ContainsFunc(chunks, func(c percached.ChunkID) bool { return c != (percached.ChunkID{}) && d.holders[c] == 0 })
}

// checked checks the invariants after an event.
func (s *simulator) checked(e event) error {
	if s.guard.fault != nil {
		return s.guard.fault
	}
	if e.Kind == persona.Posted {
		return nil // it changes no stored data
	}
	if err := s.stored(); err != nil {
		return err
	}
	switch {
	case e.Kind == persona.Deleted:
		if err := s.forgotten(); err != nil {
			return err
		}
		return s.alive()
	case e.Kind == persona.Arrives:
		return s.alive()
	}
	return nil
}

// stored checks that stored data is within its limits.
func (s *simulator) stored() error {
	st, err := s.Tree.Stats()
	if err != nil {
		return err
	}
	if err := s.hold("tensors_within_limit", st.Bytes <= st.Limit, "%d bytes are stored, the limit is %d", st.Bytes, st.Limit); err != nil {
		return err
	}
	bytes, limit := s.Bank.Usage()
	return s.hold("answers_within_limit", bytes <= limit, "%d bytes are stored, the limit is %d", bytes, limit)
}

// alive checks that the chunks of every entry exist, unless it is stale.
func (s *simulator) alive() error {
	ok, id := true, qabank.ID{}
	if err := s.Bank.Scan(simulated, func(i qabank.Info) error {
		if !i.Stale && !s.mirror.allAlive(i.Chunks) {
			ok, id = false, i.ID
		}
		return nil
	}); err != nil {
		return err
	}
	return s.hold("evidence_alive", ok, "entry %s is not stale, but its evidence has a deleted chunk", id)
}

// versions checks that an entry that is not stale has the current versions of its chunks.
func (s *simulator) versions() error {
	var ids []percached.ChunkID
	for id := range s.mirror.holders {
		ids = append(ids, id)
	}
	now, err := s.Knowledge.Versions(simulated, ids)
	if err != nil {
		return err
	}
	if err := s.hold("documents_complete", len(now) == len(ids), "%d chunks are there, not %d", len(now), len(ids)); err != nil {
		return err
	}
	return s.Bank.Each(simulated, func(e qabank.Entry) error {
		ok := e.Stale || !slices.ContainsFunc(e.Evidence, func(ev percached.Evidence) bool { return now[ev.Chunk] != ev.Version })
		return s.hold("evidence_versions", ok, "entry %s is not stale, but its evidence has another version of a chunk", e.ID)
	})
}

// forgotten checks that no layer names a deleted chunk.
func (s *simulator) forgotten() error {
	layers := map[string][]percached.ChunkID{}
	var err error
	if layers["history"], err = s.History.Cited(simulated); err != nil {
		return err
	}
	if layers["predictor"], err = s.Predictor.Cited(simulated); err != nil {
		return err
	}
	s.Tree.Nodes(simulated, func(n qkvtree.Info) { layers["tensors"] = append(layers["tensors"], n.Chunk) })
	if err := s.Bank.Scan(simulated, func(i qabank.Info) error {
		layers["bank"] = append(layers["bank"], i.Chunks...)
		return nil
	}); err != nil {
		return err
	}
	for _, layer := range slices.Sorted(maps.Keys(layers)) {
		if err := s.hold("forgotten", s.mirror.allAlive(layers[layer]), "a document was deleted, but the %s name its chunk", layer); err != nil {
			return err
		}
	}
	return nil
}

// booked checks that the ledger equals the sum of the steps.
func (s *simulator) booked() error {
	accounts, err := s.Scheduler.Ledger("", s.start)
	if err != nil {
		return err
	}
	for _, a := range accounts {
		sum := s.guard.sums[a.Kind]
		if sum == nil {
			sum = &scheduler.Account{}
		}
		ok := sum.Jobs == a.Jobs && sum.Failed == a.Failed && sum.Preempted == a.Preempted && math.Abs(sum.Seconds-a.Seconds) < 1e-6*(1+a.Seconds) &&
			sum.Computed == a.Computed && sum.Generated == a.Generated && sum.Written == a.Written
		if err := s.hold("ledger", ok, "the ledger says %+v, the steps were %+v", a, *sum); err != nil {
			return err
		}
	}
	return nil
}

// dawn checks that all work is done at the end of the night, or has a reason.
func (s *simulator) dawn() error {
	st, err := s.Scheduler.Status()
	if err != nil {
		return err
	}
	ready := slices.ContainsFunc(s.Scheduler.Queue(), func(j scheduler.Job) bool { return !j.Parked && !j.From.After(s.now()) })
	if err := s.hold("night", !ready || len(st.Reasons) > 0, "jobs are ready, but there is no reason why they are not done"); err != nil {
		return err
	}
	s.count.night(ready, st.Reasons)
	return nil
}

func (s *simulator) midnight() error {
	if err := s.booked(); err != nil {
		return err
	}
	if err := s.versions(); err != nil {
		return err
	}
	days := int(s.now().Add(12*time.Hour).Sub(s.start) / (24 * time.Hour)) // the last job may end after midnight
	if days%7 == 0 || days == s.profile.Days {
		return s.weekEnds(days)
	}
	return nil
}

// weekEnds records the counts of the layers.
func (s *simulator) weekEnds(days int) error {
	t, err := s.Tree.Stats()
	if err != nil {
		return err
	}
	p, err := s.Predictor.Stats(simulated)
	if err != nil {
		return err
	}
	accounts, err := s.Scheduler.Ledger(simulated, s.start)
	if err != nil {
		return err
	}
	s.count.weekEnds(fmt.Sprintf("days %d-%d", days-(days-1)%7, days), days == s.profile.Days, standing{t, s.Bank.Stats(simulated), p, accounts})
	return nil
}
