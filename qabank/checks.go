package qabank

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
	"github.com/percached/percached/qabank/gate"
)

// MaxChecks is the maximum number of checks of a space. The oldest go first.
const MaxChecks = 3000

// Verdict of a check.
const (
	checkPending = iota
	checkRight
	checkWrong
)

// Check compares a stored answer with the fresh answer to another question. The gate
// learns from it.
type Check struct {
	Asked  ID        // the other question
	Entry  ID        // whose answer was served or considered
	Made   time.Time // when that answer was made
	Seen   uint64    // the space's seq when it was served or considered
	Score  float64   // of the two questions
	Vector []float32 // of the other question
	Served bool
	Chunks []percached.ChunkID // the check goes with any of them
}

// check is a Check in memory.
type check struct {
	Check
	scorer  string // whose score it is
	verdict uint8
	at      time.Time // of the verdict, or when the answer was served
	dirty   bool      // newer than on disk
}

// checkID names a check to the gate.
func (c *check) checkID() string { return string(c.Asked[:]) + string(c.Entry[:]) }

func (c *check) pair() [2]ID { return [2]ID{c.Asked, c.Entry} }

// counts are what the gate of a space has done in total.
type counts struct{ served, checked, wrong uint64 }

// Decide asks the gate of a space whether a stored answer with this score is served for a
// question with this vector.
func (b *Bank) Decide(space string, score float64, vector []float32, maxWrong float64) gate.Decision {
	s := b.spaceOf(space)
	if s == nil {
		return gate.Decision{}
	}
	g := b.lockGate(s)
	defer b.mu.Unlock()
	return g.Decide(score, vector, maxWrong)
}

// GateReport returns what the gate of a space has served and found.
func (b *Bank) GateReport(space string, maxWrong float64) gate.Report {
	s := b.spaceOf(space)
	if s == nil {
		return gate.New(b.o.Start, gate.Default()).Report(maxWrong)
	}
	g := b.lockGate(s)
	defer b.mu.Unlock()
	r := g.Report(maxWrong)
	r.Served, r.Checked, r.Wrong = s.counts.served, s.counts.checked, s.counts.wrong
	return r
}

// spaceOf returns nil if the bank has nothing of a space.
func (b *Bank) spaceOf(space string) *spaceIndex {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.spaces[space]
}

// lockGate locks mu and returns the gate of a space, taught by its checks. It builds the gate
// without mu: each of thousands of checks is compared with all others, and questions do not wait
// for that.
func (b *Bank) lockGate(s *spaceIndex) *gate.Gate {
	b.mu.Lock()
	if s.gate != nil {
		return s.gate
	}
	b.mu.Unlock()
	s.building.Lock()
	defer s.building.Unlock()
	b.mu.Lock()
	for s.gate == nil {
		known := b.decided(s)
		b.mu.Unlock()
		g := b.teach(known)
		b.mu.Lock()
		if slices.Equal(known, b.decided(s)) { // none was forgotten meanwhile
			s.gate = g
		}
	}
	return s.gate
}

// decided returns the checks that teach the gate, the oldest verdict first. The caller holds mu.
func (b *Bank) decided(s *spaceIndex) []*check {
	var done []*check
	for _, c := range s.checks {
		if c.verdict != checkPending && c.scorer == b.o.Scorer {
			done = append(done, c)
		}
	}
	slices.SortFunc(done, func(x, y *check) int {
		return cmp.Or(x.at.Compare(y.at), cmp.Compare(x.checkID(), y.checkID()))
	})
	return done
}

// taught makes a gate that has learnt from checks, which it does not change.
func (b *Bank) taught(done []*check) *gate.Gate {
	g := gate.New(b.o.Start, gate.Default())
	for _, c := range done {
		g.Learn(c.label())
	}
	return g
}

func (c *check) label() gate.Label {
	return gate.Label{ID: c.checkID(), Score: c.Score, Vector: c.Vector, Served: c.Served, Right: c.verdict == checkRight}
}

// Serve counts that an entry was served for another question, and remembers to check it.
// The next Flush writes both.
func (b *Bank) Serve(space string, c Check) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.spaces[space]
	if s == nil {
		return
	}
	s.counts.served++
	s.countsDirty = true
	c.Served = true
	if old := s.checks[[2]ID{c.Asked, c.Entry}]; old == nil || old.verdict == checkPending {
		s.addCheck(&check{Check: c, scorer: b.o.Scorer, at: b.o.Now(), dirty: true})
	}
}

// addCheck adds or replaces a check in memory. If there are too many, the oldest goes; the
// next Flush deletes it.
func (s *spaceIndex) addCheck(c *check) {
	s.checks[c.pair()] = c
	if len(s.checks) <= MaxChecks {
		return
	}
	oldest := c
	for _, other := range s.checks {
		if other.at.Before(oldest.at) {
			oldest = other
		}
	}
	delete(s.checks, oldest.pair())
	s.dropped = append(s.dropped, oldest.pair())
}

// Pending returns the checks of answers that were served for a question and not compared
// yet.
func (b *Bank) Pending(space string, asked ID) []Check {
	b.mu.RLock()
	defer b.mu.RUnlock()
	var out []Check
	if s := b.spaces[space]; s != nil {
		for p, c := range s.checks {
			if p[0] == asked && c.verdict == checkPending {
				out = append(out, c.Check)
			}
		}
	}
	return out
}

// Learn records whether the entry's answer said the same as the fresh one. It is on disk
// when Learn returns.
func (b *Bank) Learn(ctx context.Context, space string, c Check, right bool) error {
	const op = "qabank.Learn"
	if err := ctx.Err(); err != nil {
		return fault.Wrap(op, err)
	}
	b.write.Lock()
	defer b.write.Unlock()
	return fault.Wrap(op, b.learn(space, c, right))
}

// The caller of learn holds write.
func (b *Bank) learn(space string, c Check, right bool) error {
	b.mu.RLock()
	s := b.spaces[space]
	if s == nil {
		b.mu.RUnlock()
		return nil
	}
	done := &check{Check: c, scorer: b.o.Scorer, verdict: checkRight, at: b.o.Now()}
	if !right {
		done.verdict = checkWrong
	}
	now := s.counts
	old := s.checks[done.pair()]
	if old != nil && old.Served {
		done.Served = true
	}
	if c.Served && (old == nil || old.verdict == checkPending) {
		now.checked++
		if !right {
			now.wrong++
		}
	}
	b.mu.RUnlock()
	err := b.db.Update(func(tx *kv.Tx) error {
		return errors.Join(tx.Set(s.checkKey(done.pair()), encodeCheck(done)), tx.Set(key(countsByte, s.hash), encodeCounts(now)))
	})
	if err != nil {
		return err
	}
	g := b.lockGate(s) // before it knows the check
	defer b.mu.Unlock()
	s.addCheck(done)
	s.counts.checked, s.counts.wrong = now.checked, now.wrong
	s.countsDirty = s.counts != now
	g.Learn(done.label())
	return nil
}

func (s *spaceIndex) checkKey(p [2]ID) []byte { return key(checkByte, s.hash, p[0], p[1]) }

// flushChecks writes the checks and counts that are newer than on disk. The caller holds
// write.
func (b *Bank) flushChecks() error {
	for _, s := range b.allSpaces() {
		var dirty []*check
		b.mu.RLock()
		for _, c := range s.checks {
			if c.dirty {
				dirty = append(dirty, c)
			}
		}
		dropped, keys, now, dirtyCounts := len(s.dropped), s.droppedKeys(), s.counts, s.countsDirty
		b.mu.RUnlock()
		if err := b.deleteKeys(keys); err != nil {
			return err
		}
		for part := range slices.Chunk(dirty, deleteBatch) {
			err := b.db.Update(func(tx *kv.Tx) error {
				for _, c := range part {
					if err := tx.Set(s.checkKey(c.pair()), encodeCheck(c)); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if dirtyCounts {
			err := b.db.Update(func(tx *kv.Tx) error { return tx.Set(key(countsByte, s.hash), encodeCounts(now)) })
			if err != nil {
				return err
			}
		}
		b.mu.Lock()
		s.dropped = s.dropped[dropped:]
		for _, c := range dirty {
			c.dirty = false
		}
		s.countsDirty = s.counts != now
		b.mu.Unlock()
	}
	return nil
}

func (b *Bank) allSpaces() []*spaceIndex {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return slices.Collect(maps.Values(b.spaces))
}

func encodeCheck(c *check) []byte {
	w := sealed.NewWriter(formatVersion, nil)
	f := c.verdict << 1
	if c.Served {
		f |= 1
	}
	w.Byte(f)
	w.Text(c.scorer)
	w.Time(c.Made)
	w.U64(c.Seen)
	w.Time(c.at)
	w.Float(c.Score)
	writeChunks(w, c.Chunks)
	writeVector(w, c.Vector)
	return w.Seal()
}

func decodeCheck(value []byte) (check, error) {
	r, err := sealed.NewReader(nil, value, formatVersion, formatVersion)
	if err != nil {
		return check{}, err
	}
	f := r.Byte()
	c := check{scorer: r.Text(maxName), verdict: f >> 1}
	c.Served, c.Made, c.Seen, c.at = f&1 != 0, r.Time(), r.U64(), r.Time()
	c.Score = math.Float64frombits(r.U64())
	c.Chunks = readChunks(r)
	c.Vector = readVector(r)
	if c.verdict > checkWrong || !(c.Score >= 0 && c.Score <= 1) {
		r.Fail()
	}
	return c, r.End("a check")
}

func encodeCounts(c counts) []byte {
	w := sealed.NewWriter(formatVersion, nil)
	w.U64(c.served)
	w.U64(c.checked)
	w.U64(c.wrong)
	return w.Seal()
}

func decodeCounts(value []byte) (counts, error) {
	r, err := sealed.NewReader(nil, value, formatVersion, formatVersion)
	if err != nil {
		return counts{}, err
	}
	c := counts{r.U64(), r.U64(), r.U64()}
	return c, r.End("counts")
}

// forgetChecks deletes checks, and those that memory has dropped, whose chunks are not known
// any more. The caller holds write.
func (b *Bank) forgetChecks(s *spaceIndex, checks []*check) error {
	b.mu.RLock()
	keys := s.droppedKeys()
	b.mu.RUnlock()
	for _, c := range checks {
		keys = append(keys, s.checkKey(c.pair()))
	}
	if err := b.deleteKeys(keys); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s.dropped = nil
	var ids []string
	for _, c := range checks {
		delete(s.checks, c.pair())
		ids = append(ids, c.checkID())
	}
	if s.gate != nil {
		s.gate.Forget(ids)
	}
	return nil
}

// droppedKeys are the keys of the checks that memory has dropped and the disk still has,
// unless they came back. The caller holds mu.
func (s *spaceIndex) droppedKeys() (keys [][]byte) {
	for _, p := range s.dropped {
		if s.checks[p] == nil {
			keys = append(keys, s.checkKey(p))
		}
	}
	return keys
}
