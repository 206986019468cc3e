package answer

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/qabank"

	"github.com/percached/percached/qabank/gate"
)

// check is what the gate may learn from the best stored answer that was not served: whether
// it says the same as the one that is computed now. Nil: there was none.
func (w weighing) check(r request, found retrieved) *qabank.Check {
	i := slices.IndexFunc(w.tried, func(c candidate) bool { return c.scored && !c.proven })
	if i < 0 {
		return nil
	}
	c := w.tried[i].check(r, found)
	return &c
}

// check compares the candidate's answer with a fresh one, later.
func (c candidate) check(r request, found retrieved) qabank.Check {
	chunks := make([]percached.ChunkID, len(c.Entry.Evidence))
	for i, e := range c.Entry.Evidence {
		chunks[i] = e.Chunk
	}
	return qabank.Check{
		Asked: r.entry(), Entry: c.Entry.ID, Made: c.Made, Seen: found.seq, Score: c.score, Vector: found.vector(), Chunks: chunks,
	}
}

// learn compares stored answers with the computed one: the one that was considered for the
// question, and those that were served for it earlier.
func (a *Asker) learn(ctx context.Context, r request, d draft, p *progress) {
	if !r.banked || d.Finish.Failed() || !d.Grounded || d.Chunks.Packed > 0 || r.prefills() {
		return
	}
	checks := a.Bank.Pending(r.Space, r.entry())
	if d.considered != nil {
		checks = append(checks, *d.considered)
	}
	for _, c := range checks {
		e, err := a.Bank.Get(r.Space, c.Entry)
		newer := func(ch percached.Chunk) bool { return ch.Version > c.Seen }
		if err != nil || !e.Answered || e.Stale || !e.Made.Equal(c.Made) || slices.ContainsFunc(d.rests, newer) {
			continue // the two answers rest on different documents
		}
		right := e.Refused == d.Refused && (d.Refused || r.sameAnswer(e.Answer, d.Text))
		if err := a.Bank.Learn(ctx, r.Space, c, right); err != nil {
			p.without("the gate", err)
		} else if c.Served && a.Observer.Checked != nil {
			a.Observer.Checked(r.Space, right)
		}
	}
}

// GateReport returns what the gate of a space has served and found, and what is in force.
func (a *Asker) GateReport(space string) (gate.Report, error) {
	set, err := a.Settings(space)
	if err != nil {
		return gate.Report{}, err
	}
	return a.Bank.GateReport(space, set.MaxWrong), nil
}
