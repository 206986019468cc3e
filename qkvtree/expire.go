package qkvtree

import "time"

// The slices of a conversation expire, because it usually ends for good. Those of documents
// stay until they are evicted.
const (
	// TurnLife is how long the slice of a turn stays after its last use.
	TurnLife = 30 * time.Minute
	// PromotedLife is how long it stays after PromotedUses uses.
	PromotedLife = 7 * 24 * time.Hour
	PromotedUses = 5
)

// expired reports whether a node is a turn's and was not used for as long as it lives.
func (n *node) expired(now time.Time) bool {
	if !n.turn {
		return false
	}
	life := TurnLife
	if n.hits >= PromotedUses {
		life = PromotedLife
	}
	return now.Sub(time.Unix(max(n.made, n.used), 0)) > life
}

// Expire deletes the slices of turns whose life has ended, with those that depend on them,
// and returns their number and bytes.
func (t *Tree) Expire() (n int, bytes int64, err error) {
	now := t.o.Now()
	n, bytes, err = t.clear("qkvtree.Expire", func(o *node) bool { return o.expired(now) })
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stats.expired += uint64(n)
	return n, bytes, err
}
