package main

import (
	"context"
	"io"
	"slices"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/knowledgebank"
)

const (
	scheduleSpace     = "bench"
	scheduleQuestions = 8
	thresholdRises    = 2 // after this question
	thresholdFalls    = 5
	limitRises        = 6
	lowThreshold      = 0.85
	highThreshold     = 0.90
	betweenThresholds = 0.88
	unlimited         = 1 << 40 // bytes
)

// both has a value with the scheduler and one without.
type both[T any] struct {
	With    T `json:"with"`
	Without T `json:"without"`
}

// scheduleSide is one of the two nodes.
type scheduleSide struct {
	*node.Node
	total tally // all idle work so far
}

// course asks the same questions of two nodes.
type course struct {
	*schedule
	stderr io.Writer
	docs   []*knowledgebank.Source
	given  []string
	sides  both[*scheduleSide]
	asked  map[string]bool

	in        int // documents added so far
	threshold float64
	limit     int64
	report    scheduleReport
}

// each calls fn for both nodes, which take turns at being first.
func (c *course) each(n int, do func(*scheduleSide) error) error {
	order := []*scheduleSide{c.sides.With, c.sides.Without}
	if n%2 == 0 {
		slices.Reverse(order)
	}
	for _, s := range order {
		if err := do(s); err != nil {
			return err
		}
	}
	return nil
}

func (c *course) run(ctx context.Context) (*scheduleReport, error) {
	c.limit = unlimited
	for n := 1; n <= scheduleQuestions; n++ {
		if err := c.change(n); err != nil {
			return nil, err
		}
		if err := c.idle(ctx, n); err != nil {
			return nil, err
		}
		if n == 1 {
			if err := c.confine(); err != nil {
				return nil, err
			}
		}
		if err := c.ask(ctx, n); err != nil {
			return nil, err
		}
	}
	return c.conclude()
}

// change applies what changes between two questions.
func (c *course) change(n int) error {
	switch n {
	case 1:
		return c.setThreshold(lowThreshold)
	case thresholdRises + 1:
		return c.setThreshold(highThreshold)
	case thresholdFalls + 1:
		return c.setThreshold(lowThreshold)
	case limitRises + 1:
		return c.setLimit(unlimited)
	}
	return nil
}

func (c *course) setThreshold(t float64) error {
	c.threshold = t
	return c.each(0, func(s *scheduleSide) error {
		sp, err := s.Knowledge.Space(scheduleSpace)
		if err != nil {
			return err
		}
		sp.Settings.Threshold = &t
		defer s.Scheduler.Changed(scheduleSpace)
		return s.Knowledge.Configure(scheduleSpace, sp.Settings)
	})
}

func (c *course) setLimit(n int64) error {
	c.limit = n
	return c.each(0, func(s *scheduleSide) error {
		defer s.Scheduler.Changed(scheduleSpace)
		return s.Tree.SetLimit(n)
	})
}

// confine limits tensors to a share of what the first idle work stored.
func (c *course) confine() error {
	st, err := c.sides.With.Tree.Stats()
	if err != nil {
		return err
	}
	if st.Bytes == 0 {
		return fault.New(fault.Invalid, "percached: schedule", "nothing was predicted from the first %d documents; add more documents", c.in)
	}
	c.report.Stored, c.report.Limit = st.Bytes, int64(float64(st.Bytes)*c.share)
	return c.setLimit(c.report.Limit)
}

// ask asks the next question of both nodes.
func (c *course) ask(ctx context.Context, n int) error {
	q, err := c.question(n)
	if err != nil {
		return err
	}
	c.asked[q.text] = true
	a := scheduleAsked{Question: q.text, Kind: q.kind, Threshold: c.threshold, Limit: c.limit}
	var texts both[string]
	err = c.each(n, func(s *scheduleSide) error {
		got, err := s.Asker.Ask(ctx, answer.Question{Space: scheduleSpace, Text: q.text}, answer.Listener{})
		if err != nil {
			return err
		}
		to, text := &a.With, &texts.With
		if s == c.sides.Without {
			to, text = &a.Without, &texts.Without
		}
		*to, *text = scheduleAnswer{got.Outcome, ms(got.Times.Total), got.Tokens.Prompt, got.Tokens.Reused, got.Tokens.Generated}, got.Text
		return nil
	})
	a.Compared = a.With.Outcome != answer.AnswerHit && a.Without.Outcome != answer.AnswerHit
	a.Equal = a.Compared && texts.With == texts.Without
	c.report.Asked = append(c.report.Asked, a)
	return err
}

// conclude fills in the totals of the report.
func (c *course) conclude() (*scheduleReport, error) {
	st, err := c.sides.With.Knowledge.Stats(scheduleSpace)
	if err != nil {
		return nil, err
	}
	r, info := &c.report, c.sides.With.Engine.Info()
	r.Model, r.Placement, r.Threads, r.Seed = info.Name, c.Placement, c.Threads, c.seed
	r.Documents, r.Chunks, r.Share, r.Cutoff = len(c.docs), st.Chunks, c.share, c.Idle.Cutoff
	r.conclude()
	return r, nil
}
