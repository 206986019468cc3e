package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/kv"
)

// usage is what was spent of one window's budget. Between windows, where only
// Drain works, it belongs to no window and has no start.
type usage struct {
	start     time.Time
	compute   time.Duration
	questions int
	written   int64
	asked     map[kv.SpaceID][2]int // times questions were predicted, from knowledge and from history
}

// usageIn is what was spent of the budget of this window. What is known of another
// stays, as that may be the one again, until something is spent in this one. It wants
// mu.
func (s *Scheduler) usageIn(w span) *usage {
	if !s.usage.start.Equal(w.Start) {
		return &usage{start: w.Start}
	}
	return &s.usage
}

func asking(k Kind) int {
	if k == History {
		return 1
	}
	return 0
}

// spend books a job on its window. It wants mu.
func (s *Scheduler) spend(w span, b *book, k Kind, c cost) {
	s.usage = *s.usageIn(w)
	u := &s.usage
	u.compute += c.took
	u.questions += max(0, c.done.Questions)
	u.written += max(0, c.done.Written)
	if k.asks() && c.end == EndDone {
		if u.asked == nil {
			u.asked = map[kv.SpaceID][2]int{}
		}
		n := u.asked[b.hash]
		n[asking(k)]++
		u.asked[b.hash] = n
	}
	s.mark([]byte{ownByte, budgetByte}, func(key []byte) []byte { return encodeUsage(key, &s.usage) })
}

// left is what may still be spent, and spent says of what nothing is left.
func (u *usage) left(b Budget) (left Budget, spent []string) {
	left = Budget{
		Compute:   max(0, b.Compute-u.compute),
		Questions: max(0, b.Questions-u.questions),
		Written:   max(0, b.Written-u.written),
	}
	if left.Compute == 0 {
		spent = append(spent, fmt.Sprintf("%v of compute", b.Compute))
	}
	if left.Questions == 0 {
		spent = append(spent, fmt.Sprintf("%d questions", b.Questions))
	}
	if left.Written == 0 {
		spent = append(spent, fmt.Sprintf("%d bytes written", b.Written))
	}
	return left, spent
}

// spentReason tells of a spent budget; again is when the next window opens.
func spentReason(spent []string, again time.Time) Reason {
	return Reason{Code: ReasonBudget, Text: "this window's budget is spent: " + strings.Join(spent, ", "), Until: again}
}
