package budget

import (
	"math"
	"time"
)

// patience is how long a resource must be plentiful before more of it is taken.
const patience = 10 * time.Minute

// Follower follows a number that the machine allows: down at once, up after patience. So a
// resource that comes and goes does not make percached throw away and compute again.
type Follower struct {
	since  time.Time // when more was allowed; zero: it is not
	lowest int64     // of what was allowed since then
}

// Next returns what to use now, given what is used and what is allowed. It ignores differences
// below a tenth downwards and below a quarter upwards.
func (f *Follower) Next(used, allowed int64, now time.Time) int64 {
	switch {
	case allowed < used-used/10:
		f.since = time.Time{}
		return allowed
	case allowed < used+used/4 || allowed <= used:
		f.since = time.Time{}
		return used
	case f.since.IsZero():
		f.since, f.lowest = now, allowed
	}
	f.lowest = min(f.lowest, allowed)
	if now.Sub(f.since) < patience {
		return used
	}
	f.since = time.Time{}
	return f.lowest
}

// Pressure is how scarce memory is for a running process.
type Pressure struct {
	Available int64   // bytes; negative: unknown
	Stalled   float64 // share (0-1) of the last 10 seconds in which everything waited for memory; negative: unknown
}

// stalledTooLong is the share of waiting from which memory is scarce.
const stalledTooLong = 0.05

// Scarce says that a running engine should take less. Available counts the weights as free,
// because they are page cache; but without them in memory each token would read the disk. A model
// with mapped experts does so, and waits for them: that says nothing about other memory.
func (p Pressure) Scarce(model Model) bool {
	return p.Available >= 0 && p.Available-model.cached() < Margin/2 || p.Stalled > stalledTooLong && model.Mapped == 0
}

// missing is how many bytes must become free until memory is no longer scarce, and a little
// more, so that it is not scarce again at once; 0: it is not scarce.
func (p Pressure) missing(model Model) int64 {
	switch {
	case !p.Scarce(model):
		return 0
	case p.Stalled > stalledTooLong && model.Mapped == 0 || p.Available < 0:
		return math.MaxInt64 // nobody knows
	}
	return Margin - (p.Available - model.cached())
}

// urgent says that memory is so scarce that percached itself may lack it.
func (p Pressure) urgent(model Model) bool {
	return p.Available >= 0 && p.Available-model.cached() < own || p.Stalled > stalledTooLong && model.Mapped == 0
}

// ample says that memory is not scarce, nor nearly so.
func (p Pressure) ample(model Model) bool {
	return !p.Scarce(model) && (p.Available < 0 || p.Available-model.cached() >= Margin)
}

// Shorter is the step below a length, at least MinContext.
func Shorter(tokens int) int { return max(MinContext, stepBelow(int64(tokens)*2/3)) }

// ContextFollower follows the memory with the length of the context.
type ContextFollower struct {
	longer Follower
	scarce int // consecutive readings
}

// grows says that a longer context waits until memory was free for long.
func (f *ContextFollower) grows() bool { return !f.longer.since.IsZero() }

// scarceReadings is how many readings in a row must find memory scarce.
const scarceReadings = 2

// Next returns the length to use now. allowed is what ChooseContext would give if nothing were
// loaded.
func (f *ContextFollower) Next(used, allowed int, scarce bool, now time.Time) int {
	if !scarce {
		f.scarce = 0
		// Never shorter: a context that fits already stays.
		return int(f.longer.Next(int64(used), int64(max(used, allowed)), now))
	}
	f.longer = Follower{}
	if f.scarce++; f.scarce < scarceReadings {
		return used
	}
	f.scarce = 0
	return min(used, Shorter(used))
}
