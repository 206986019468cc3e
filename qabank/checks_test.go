package qabank_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qabank/gate"
)

// served makes a check of an answer that was served for another question.
func served(b *bench, id qabank.ID, asked string, chunks ...byte) qabank.Check {
	b.t.Helper()
	c := qabank.Check{
		Asked: qabank.NewID("mail", asked), Entry: id, Made: b.get("mail", id).Made, Seen: 7, Score: 0.5, Vector: unit(asked), Served: true,
	}
	for _, n := range chunks {
		c.Chunks = append(c.Chunks, chunk(n))
	}
	return c
}

func (b *bench) report() gate.Report {
	r := b.bank.GateReport("mail", 0.01)
	return gate.Report{Served: r.Served, Checked: r.Checked, Wrong: r.Wrong}
}

// An answer that was served is checked once, also after a restart.
func TestServedAnswerIsChecked(t *testing.T) {
	b := start(t, 1<<20)
	id := b.put(entry("mail", "Where is the key?", 1))
	c := served(b, id, "In which place is the key?", 1)
	b.bank.Serve("mail", c)
	b.do(b.bank.Flush(t.Context()))
	b.reopen(true)
	if d := cmp.Diff([]qabank.Check{c}, b.bank.Pending("mail", c.Asked)); d != "" {
		t.Fatal(d)
	}
	if d := cmp.Diff(gate.Report{Served: 1}, b.report()); d != "" {
		t.Error(d)
	}
	b.do(b.bank.Learn(t.Context(), "mail", c, false))
	b.reopen(true) // what was learnt is on disk at once
	if d := cmp.Diff(gate.Report{Served: 1, Checked: 1, Wrong: 1}, b.report()); d != "" {
		t.Error(d)
	}
	if p := b.bank.Pending("mail", c.Asked); len(p) > 0 {
		t.Errorf("still to be checked: %+v", p)
	}
	b.bank.Serve("mail", c)
	b.do(b.bank.Learn(t.Context(), "mail", c, true)) // the same answer again
	if d := cmp.Diff(gate.Report{Served: 2, Checked: 1, Wrong: 1}, b.report()); d != "" {
		t.Error(d)
	}
}

// A near miss that was computed teaches the gate, and counts as neither served nor
// checked.
func TestNearMissIsLearnt(t *testing.T) {
	b := start(t, 1<<20)
	c := served(b, b.put(entry("mail", "Where is the key?", 1)), "In which place is the key?", 1)
	c.Served = false
	b.do(b.bank.Learn(t.Context(), "mail", c, true))
	if d := cmp.Diff(gate.Report{}, b.report()); d != "" {
		t.Error(d)
	}
}

// A user's word that a served answer was wrong counts as a check.
func TestVetoIsACheck(t *testing.T) {
	b := start(t, 1<<20)
	id := b.put(entry("mail", "Where is the key?", 1))
	b.bank.Serve("mail", served(b, id, "In which place is the key?", 1))
	b.do(b.bank.Veto(t.Context(), "mail", "In which place is the key?", id))
	b.do(b.bank.Veto(t.Context(), "mail", "How many keys are there?", id)) // for which it was not served
	if d := cmp.Diff(gate.Report{Served: 1, Checked: 1, Wrong: 1}, b.report()); d != "" {
		t.Error(d)
	}
}

// Forgetting a chunk deletes the checks that rest on it, and no others; deleting a space
// deletes all.
func TestChecksAreForgotten(t *testing.T) {
	b := start(t, 1<<20)
	one, two := b.put(entry("mail", "Where is the key?", 1)), b.put(entry("mail", "When is the fair?", 2))
	first, second := served(b, one, "In which place is the key?", 1), served(b, two, "On which day is the fair?", 2)
	b.bank.Serve("mail", first)
	b.bank.Serve("mail", second)
	b.do(b.bank.Flush(t.Context()))
	_, err := b.bank.Forget(t.Context(), "mail", []percached.ChunkID{chunk(1)})
	b.do(err)
	for range 2 {
		if p := b.bank.Pending("mail", first.Asked); len(p) > 0 {
			t.Errorf("a forgotten chunk's check is there: %+v", p)
		}
		if p := b.bank.Pending("mail", second.Asked); len(p) != 1 {
			t.Errorf("another chunk's checks: %+v", p)
		}
		b.reopen(true)
	}
	_, err = b.bank.DropSpace(t.Context(), "mail")
	b.do(err)
	b.reopen(true)
	b.put(entry("mail", "When is the fair?", 2))
	if p, r := b.bank.Pending("mail", second.Asked), b.report(); len(p) > 0 || r != (gate.Report{}) {
		t.Errorf("a deleted space left %+v, %+v", p, r)
	}
}

// The bank keeps a bounded number of checks, the newest, in memory and on disk.
func TestOldChecksGo(t *testing.T) {
	b := start(t, 1<<20)
	id := b.put(entry("mail", "Where is the key?", 1))
	const more = 10
	var all []qabank.Check
	for i := range qabank.MaxChecks + more {
		b.now = b.now.Add(time.Second)
		all = append(all, served(b, id, ask(i), 1))
		b.bank.Serve("mail", all[i])
	}
	for range 2 {
		if p := b.bank.Pending("mail", all[more-1].Asked); len(p) > 0 {
			t.Errorf("an old check is there: %+v", p)
		}
		if p := b.bank.Pending("mail", all[more].Asked); len(p) != 1 {
			t.Errorf("the newest %d: %+v", qabank.MaxChecks, p)
		}
		b.do(b.bank.Flush(t.Context()))
		b.reopen(true)
	}
}

// A check that went because there were too many, and is made again, stays on disk.
func TestDroppedCheckComesBack(t *testing.T) {
	b := start(t, 1<<20)
	id := b.put(entry("mail", "Where is the key?", 1))
	first := served(b, id, "In which place is the key?", 1)
	b.bank.Serve("mail", first)
	for i := range qabank.MaxChecks {
		b.now = b.now.Add(time.Second)
		b.bank.Serve("mail", served(b, id, ask(i), 1))
	}
	b.do(b.bank.Learn(t.Context(), "mail", first, true))
	b.do(b.bank.Flush(t.Context()))
	b.reopen(true)
	b.bank.Serve("mail", first)
	if p := b.bank.Pending("mail", first.Asked); len(p) > 0 {
		t.Errorf("what was learnt is lost: %+v", p)
	}
}
