package qabank

import (
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank/gate"
)

// While a gate is built, the bank can be used; what is forgotten then teaches nothing.
func TestGateIsBuiltWithoutTheLock(t *testing.T) {
	s := newSpaceIndex("mail")
	b := &Bank{spaces: map[string]*spaceIndex{"mail": s}, o: Options{Scorer: "likeness"}}
	gone := &check{Check: Check{Asked: ID{1}, Score: 0.9, Chunks: []percached.ChunkID{{1}}}, scorer: "likeness", verdict: checkWrong, at: time.Unix(1, 0)}
	stays := &check{Check: Check{Asked: ID{2}, Score: 0.8}, scorer: "likeness", verdict: checkRight, at: time.Unix(2, 0)}
	s.addCheck(gone)
	s.addCheck(stays)
	var learnt [][]*check
	b.teach = func(done []*check) *gate.Gate {
		learnt = append(learnt, done)
		if len(learnt) == 1 {
			if !b.mu.TryLock() {
				t.Fatal("the bank is locked while the gate is built")
			}
			delete(s.checks, gone.pair())
			b.mu.Unlock()
		}
		return b.taught(done)
	}
	b.Decide("mail", 0.9, nil, 0.01)
	b.Decide("mail", 0.9, nil, 0.01)
	if len(learnt) != 2 || len(learnt[1]) != 1 || learnt[1][0] != stays {
		t.Errorf("built from %v; want once more, without what was forgotten", learnt)
	}
}
