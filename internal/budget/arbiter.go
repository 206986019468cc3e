package budget

import (
	"cmp"
	"time"
)

const (
	// MaxHot bounds the stored slices that are kept in memory.
	MaxHot   = 256 << 20
	shareHot = 4        // they may take one in so many bytes of what is left beside all else
	hotStep  = 16 << 20 // of their limit

	// calm is how long memory must not be scarce before idle work goes on.
	calm = time.Minute
)

// Use is the memory that can be given back.
type Use struct {
	Context Context // of the engine
	Hot     int64   // bytes of stored slices kept in memory
	Typed   int64   // bytes of texts that are being typed
	// Fixed says that the context keeps its length: the user set it, or it is on a GPU.
	Fixed bool
}

// Shares are what each use of memory may have. Weights are page cache; they keep all that they
// need, because what is left is what the others share.
type Shares struct {
	Context Context
	Hot     int64 // limit in bytes
	Typed   bool  // texts that are being typed may stay
	Idle    bool  // idle work may run
	Scarce  bool  // memory is scarce now
	Waits   bool  // the context is to become longer, and slices in memory wait for it
}

// Arbiter divides memory. If it is scarce, each gives back as much as is missing, and who is
// cheapest to restore gives first: stored slices in memory, which are read from disk again;
// typed texts, which are computed again in a moment; idle work, which pauses as soon as memory
// is scarce; and the context, because the model must be opened again. If all is given and memory
// is still scarce, but not urgently, idle work and typing go on: a small machine is always like
// that. When memory is free again, idle work goes on after a moment, the context becomes longer
// after a while, and then slices come back. The zero value is ready.
type Arbiter struct {
	context ContextFollower
	hot     Follower
	begun   bool
	limit   int64     // of slices in memory
	scarce  time.Time // when it last had to be given back
	// given says that all that can be given back was, and memory was never ample since. What is
	// left then is what the machine has, and work goes on with it.
	given bool
}

// Next returns what each may have. Memory and stalled are a reading of the machine, with all
// that is in use.
func (a *Arbiter) Next(m Memory, stalled float64, model Model, in Use, now time.Time) Shares {
	p := Pressure{Available: m.Available, Stalled: stalled}
	missing := p.missing(model)
	s := Shares{Context: in.Context, Scarce: missing > 0}
	if m.Available >= 0 { // as if nothing of it were in use
		m.Available += in.Hot + in.Typed
		if !in.Fixed {
			m.Available += in.Context.Bytes
		}
	}
	if !in.Fixed && m.Available >= 0 {
		// The context gives only what slices and texts cannot.
		s.Context = a.nextContext(m, model, in.Context, missing > in.Hot+in.Typed, now)
		s.Waits = a.context.grows() || s.Context.Tokens > in.Context.Tokens
	}
	a.given = a.given && !p.ample(model)
	presses := s.Scarce && (!a.given || in.Hot > 0 || in.shrinks() || p.urgent(model))
	if s.Scarce {
		a.given = true
	}
	if presses {
		a.scarce = now
	}
	s.Typed = !presses || missing <= in.Hot
	s.Idle = a.scarce.IsZero() || now.Sub(a.scarce) >= calm
	s.Hot = a.nextHot(hotRoom(m, model, in, s.Context), missing, in.Hot, s.Waits, now)
	return s
}

// shrinks says that the context can become shorter.
func (u Use) shrinks() bool { return !u.Fixed && Shorter(u.Context.Tokens) < u.Context.Tokens }

// nextContext is the context to use now.
func (a *Arbiter) nextContext(m Memory, model Model, used Context, scarce bool, now time.Time) Context {
	next := ChooseContext(m, model, 0)
	tokens := a.context.Next(used.Tokens, next.Tokens, scarce, now)
	if tokens == used.Tokens {
		return used
	}
	if tokens < used.Tokens {
		next.Bound = ByMemory
	}
	next.Tokens, next.Bytes = tokens, int64(tokens)*model.TokenBytes
	return next
}

// hotRoom is the limit of slices in memory that a machine with so much memory allows.
func hotRoom(m Memory, model Model, in Use, next Context) int64 {
	if m.Available < 0 {
		return 0
	}
	rest := m.Available - model.cached() - Margin
	if !in.Fixed {
		rest -= max(in.Context.Bytes, next.Bytes)
	}
	n := max(0, min(rest/shareHot, MaxHot))
	return n - n%hotStep
}

// nextHot is the limit of slices in memory to use now. It never grows while the context waits.
func (a *Arbiter) nextHot(room, missing, used int64, waits bool, now time.Time) int64 {
	switch {
	case missing > 0:
		a.hot, a.limit = Follower{}, min(a.limit, max(0, used-missing))
	case waits:
		a.hot, a.limit = Follower{}, min(a.limit, room)
	case !a.begun:
		a.limit = room
	default:
		a.limit = a.hot.Next(a.limit, room, now)
	}
	a.begun = true
	return a.limit
}

// Why says in a sentence whether memory is scarce, and what waits.
func (s Shares) Why() string {
	scarce := ""
	switch {
	case s.Scarce && s.Typed && s.Idle:
		scarce = "memory is scarce, and nothing more can be given back"
	case s.Scarce:
		scarce = "memory is scarce: idle work pauses"
	case !s.Idle:
		scarce = "memory was scarce a moment ago: idle work still pauses"
	case s.Waits:
		scarce = "memory is free again: when it stays free, first the context becomes longer"
	}
	return cmp.Or(scarce, "memory is not scarce")
}
