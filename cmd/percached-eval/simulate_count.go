package main

import (
	"time"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/scheduler"
)

// counting keeps the counts of each week and of all weeks.
type counting struct {
	weeks []*period
	all   *period
	paces []paceChange
	last  standing // at the end of the last week
}

func newCounting() *counting {
	c := &counting{all: newPeriod("all")}
	c.begin()
	return c
}

func (c *counting) begin() { c.weeks = append(c.weeks, newPeriod("")) }

// each calls fn with the current week and with the total.
func (c *counting) each(fn func(*period)) {
	fn(c.weeks[len(c.weeks)-1])
	fn(c.all)
}

// standing has the counts of the layers since the start.
type standing struct {
	tree     qkvtree.Stats
	bank     qabank.Stats
	guesses  predictor.Stats
	accounts []scheduler.Account
}

// paceChange is a change of the speed of prediction.
type paceChange struct {
	At    time.Time       `json:"at"`
	Day   int             `json:"day"` // counted from 1
	Speed scheduler.Speed `json:"speed"`
	Why   string          `json:"why"`
}

// pace records the speed of prediction if it has changed.
func (c *counting) pace(at time.Time, day int, p scheduler.Pace) {
	if n := len(c.paces); n == 0 || c.paces[n-1].Speed != p.Speed {
		c.paces = append(c.paces, paceChange{at, day, p.Speed, p.Why})
	}
}

// passed counts time by the speed of prediction.
func (c *counting) passed(d time.Duration) {
	speed := c.paces[len(c.paces)-1].Speed
	c.each(func(p *period) { p.Pace[speed] += d.Hours() })
}

func (c *counting) documents(added, replaced, deleted int) {
	c.each(func(p *period) {
		p.Documents.Added += added
		p.Documents.Replaced += replaced
		p.Documents.Deleted += deleted
	})
}

// step counts a job.
func (c *counting) step(st scheduler.Step) {
	c.each(func(p *period) {
		k := p.kind(st.Job.Kind)
		k.Seconds += st.Took.Seconds()
		k.Computed, k.Generated, k.Written = k.Computed+st.Done.Computed, k.Generated+st.Done.Generated, k.Written+st.Done.Written
		p.Idle.Seconds += st.Took.Seconds()
		switch st.End {
		case scheduler.EndDone:
			k.Jobs++
		case scheduler.EndNothing:
			k.Nothing++
		case scheduler.EndPreempted:
			k.Preempted++
			p.Idle.Preempted++
		case scheduler.EndFailed, scheduler.EndParked:
			k.Failed++
			p.Idle.Failed++
		}
	})
}

// wait counts time without work, for each of its reasons.
func (c *counting) wait(reasons []scheduler.Reason, d time.Duration) {
	seen := map[string]bool{}
	c.each(func(p *period) { p.Idle.HoursWaited += d.Hours() })
	for _, r := range reasons {
		if !seen[r.Code] {
			seen[r.Code] = true
			c.each(func(p *period) { p.Idle.NotWorked[r.Code] += d.Hours() })
		}
	}
}

// night counts a night by whether all work was done, and why not.
func (c *counting) night(left bool, reasons []scheduler.Reason) {
	c.each(func(p *period) {
		if !left {
			p.Nights.Drained++
			return
		}
		for _, r := range reasons {
			p.Nights.Left[r.Code]++
		}
	})
}

// question counts an answered question.
func (c *counting) question(q outcome) {
	c.each(func(p *period) {
		p.question(q)
		p.relation(q.relation).question(q)
	})
}

// question counts an answered question of a period or a relation.
func (l *questionsLine) question(q outcome) {
	l.Asked++
	l.Outcomes[q.answer.Outcome]++
	l.Answers[q.right]++
	if q.answer.Outcome != answer.AnswerHit {
		l.chunks += q.answer.Chunks.All
		l.stored += q.answer.Chunks.Stored
		l.tokens += q.answer.Tokens.Prompt
		l.reused += q.answer.Tokens.Reused
	}
	l.took, l.cold = append(l.took, q.took), append(l.cold, q.cold)
	if q.wait > 0 {
		l.Waited++
	}
	l.MaxWaitMs = max(l.MaxWaitMs, ms(q.wait))
}

// weekEnds closes the current week.
func (c *counting) weekEnds(name string, last bool, now standing) {
	c.weeks[len(c.weeks)-1].Name = name
	c.weeks[len(c.weeks)-1].since(c.last, now)
	c.last = now
	if !last {
		c.begin()
		return
	}
	c.all.since(standing{}, now)
}

// since adds the difference of two standings.
func (p *period) since(before, now standing) {
	p.Tensors = tensorsLine{
		Written: now.tree.Written - before.tree.Written, Stored: now.tree.Stored - before.tree.Stored,
		Refused: now.tree.Refused - before.tree.Refused, Evicted: now.tree.Evicted - before.tree.Evicted,
		Bytes: now.tree.Bytes, Limit: now.tree.Limit, Slices: now.tree.Nodes,
	}
	p.Bank = bankLine{now.bank.Entries, now.bank.Answered, now.bank.Stale, now.bank.Bytes}
	p.Predictions = predictionsLine{now.guesses.Predictions, now.guesses.Populated, now.guesses.Hit, now.guesses.Dropped}
	earned := map[scheduler.Kind]float64{}
	for _, a := range before.accounts {
		earned[a.Kind] = a.Earned
	}
	for _, a := range now.accounts {
		k := p.kind(a.Kind)
		k.Earned = a.Earned - earned[a.Kind]
		p.Idle.Earned += k.Earned
	}
}
