package trial

import (
	"context"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// idleBefore does a system's idle work before the questions.
func (u *unit) idleBefore(ctx context.Context, s *system) (w eval.Work, err error) {
	switch s.Idle {
	case eval.IdlePredict:
		for range u.Run.Plan.Rounds {
			for _, p := range []client.DrainIdleParams{
				{Kind: []client.JobKind{client.JobKindAbstract}},
				{Kind: []client.JobKind{client.JobKindPredict}, Jobs: new(1)},
				{Kind: []client.JobKind{client.JobKindPopulate, client.JobKindDecode}},
			} {
				if err := u.drain(ctx, s, p, &w); err != nil {
					return w, err
				}
			}
		}
	case eval.IdleAll:
		err = u.drainWithin(ctx, s, u.Run.Plan.IdleTokensBefore, &w)
	}
	return w, err
}

// idleAfter does a system's idle work after a question.
func (u *unit) idleAfter(ctx context.Context, s *system) (w eval.Work, err error) {
	switch s.Idle {
	case eval.IdlePredict:
		err = u.drain(ctx, s, client.DrainIdleParams{Kind: []client.JobKind{
			client.JobKindHistory, client.JobKindPopulate, client.JobKindDecode, client.JobKindRestore,
		}}, &w)
	case eval.IdleAll:
		err = u.drainWithin(ctx, s, u.Run.Plan.IdleTokensAfter, &w)
	}
	return w, err
}

// drainWithin does any idle work within the system's remaining tokens: those of the plan,
// or all that PerCache has spent.
func (u *unit) drainWithin(ctx context.Context, s *system, more int, w *eval.Work) error {
	s.granted += more
	left := s.granted - s.spent
	if u.Run.Plan.IdleTokensBefore+u.Run.Plan.IdleTokensAfter == 0 && u.percache != nil {
		left = u.percache.spent - s.spent
	}
	if left <= 0 {
		return nil
	}
	return u.drain(ctx, s, client.DrainIdleParams{Tokens: &left}, w)
}

// drain does idle work in a system's space and adds it to sum.
func (u *unit) drain(ctx context.Context, s *system, p client.DrainIdleParams, sum *eval.Work) error {
	p.Space = &s.space
	got, err := call[client.Drained](u.api.DrainIdle(ctx, &p))
	if err != nil {
		return err
	}
	s.spent += got.ComputedTokens + got.GeneratedTokens
	sum.Seconds += got.Seconds
	sum.Computed += got.ComputedTokens
	sum.Generated += got.GeneratedTokens
	sum.BytesWritten += got.BytesWritten
	sum.Failed += got.Failed
	sum.Reasons = got.Reasons // why it ended
	for _, k := range got.Kinds {
		addKind(&sum.Kinds, k)
	}
	return u.observe(ctx, s)
}

// addKind adds the work of a kind to the list.
func addKind(to *[]client.KindWork, k client.KindWork) {
	for i := range *to {
		if t := &(*to)[i]; t.Kind == k.Kind {
			t.Done, t.Nothing, t.Preempted, t.Failed, t.Parked = t.Done+k.Done, t.Nothing+k.Nothing, t.Preempted+k.Preempted, t.Failed+k.Failed, t.Parked+k.Parked
			t.ComputedTokens, t.GeneratedTokens, t.BytesWritten = t.ComputedTokens+k.ComputedTokens, t.GeneratedTokens+k.GeneratedTokens, t.BytesWritten+k.BytesWritten
			t.Questions, t.Seconds = t.Questions+k.Questions, t.Seconds+k.Seconds
			return
		}
	}
	*to = append(*to, k)
}
