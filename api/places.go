package api

import (
	"context"
	"sync"
)

// places bounds what goes on at the same time. A request that gets no place is
// refused at once. A token gets as many places as are still free: alone half of
// them, beside one other token a third, and so on. So a token that has none finds
// one, whatever others do, and nobody needs to know how many tokens there are.
type places struct {
	mu    sync.Mutex
	free  int
	kept  int            // of those free: for the owner alone
	taken map[string]int // by token
}

func newPlaces(all int) *places {
	return &places{free: all, kept: min(1, all/2), taken: map[string]int{}}
}

// take takes a place for a token, if there is one for it.
func (p *places) take(g Grant) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	free := p.free
	if !g.owner() {
		free -= p.kept
	}
	if p.taken[g.Token] >= free {
		return false
	}
	p.free--
	p.taken[g.Token]++
	return true
}

func (p *places) give(g Grant) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free++
	if p.taken[g.Token]--; p.taken[g.Token] == 0 {
		delete(p.taken, g.Token)
	}
}

// takePlace takes the place that a request needs. Listening to events and sending
// files take long, so each has places of its own: neither keeps a token from its
// other requests. A request without a token needs none, so that it takes none from
// those that have one.
func (s *Server) takePlace(ctx context.Context, rt route, g Grant) (give func(), err error) {
	from, problem := s.requests, problemTooManyRequests
	switch {
	case rt.need.reach == toAll:
		return func() {}, nil
	case rt.op == "events":
		from, problem = s.streams, problemTooManyStreams
	case rt.op == "upload", rt.op == "importEntries", rt.op == "backup", rt.op == "restore":
		from = s.uploads
	}
	if !from.take(g) {
		return nil, refuse(problem, "no place is free for this token")
	}
	done := func() {}
	if s.Observer.Working != nil {
		done = s.Observer.Working(ctx, g.Token)
	}
	return func() {
		done()
		from.give(g)
	}, nil
}
