package node

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/budget"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/supervise"
	"github.com/percached/percached/llm"
)

// FollowInterval is the time between two readings of the machine.
const FollowInterval = 10 * time.Second

// shrinkPatience is how long answers in progress may delay a shorter context. Those that take
// longer are repeated.
const shrinkPatience = 10 * time.Second

// diskReadings is how many readings of the machine pass between two of the tensors' files.
const diskReadings = 6

// follower follows what the machine has.
type follower struct {
	n       *Node
	arbiter budget.Arbiter
	tensors budget.Follower
	reads   int
	freed   bool // unused memory was returned since memory became scarce
}

// FollowMachine takes less memory and disk space when they become scarce, and more when they are
// free for long, at every tick until ctx ends. It changes nothing that the user set.
func (n *Node) FollowMachine(ctx context.Context, when <-chan time.Time) {
	f := &follower{n: n}
	for {
		select {
		case <-ctx.Done():
			return
		case <-when:
		}
		r := n.read()
		if err := f.followMemory(ctx, r); err != nil && ctx.Err() == nil {
			n.Log.Warn("cannot change the length of the context", "kind", fault.KindOf(err), "error", err)
		}
		if f.reads++; f.reads%diskReadings == 0 {
			if err := f.followDisk(r); err != nil && ctx.Err() == nil {
				n.Log.Warn("cannot change the limit of stored tensors", "kind", fault.KindOf(err), "error", err)
			}
		}
	}
}

// followMemory divides the memory as the arbiter says, and changes the length of the context
// last.
func (f *follower) followMemory(ctx context.Context, r Reading) error {
	n := f.n
	n.budget.mu.Lock()
	c, model, now := n.budget.set, n.budget.model, n.budget.context
	n.budget.mu.Unlock()
	engine, ok := n.Engine.(*supervise.Engine)
	hot, _ := n.Tree.Hot()
	in := budget.Use{Context: now, Hot: hot, Typed: n.typedBytes(), Fixed: !ok || c.Context != config.Auto || model.GPU}
	r.Memory.Threads = c.Threads
	before := f.arbiter
	shares := f.arbiter.Next(r.Memory, r.Stalled, model, in, n.Now())
	f.divide(shares, in)
	allowed, next := shares.Context, shares.Context.Tokens
	if next == now.Tokens {
		return nil
	}
	why := "memory became free"
	if next < now.Tokens {
		why = "memory became scarce"
	}
	next, tried, err := n.remake(ctx, engine, now, allowed)
	if !tried { // the next reading tries again
		f.arbiter = before
		return nil
	}
	if next == now.Tokens {
		return errors.Join(err, n.fitSettings())
	}
	n.budget.mu.Lock()
	n.budget.changed = fmt.Sprintf("%s at %s: the context has %d tokens instead of %d", why, n.Now().Format(time.DateTime), next, now.Tokens)
	n.budget.mu.Unlock()
	n.Log.Info("changed the length of the context", "why", why, "tokens", next, "before", now.Tokens)
	return errors.Join(err, n.fitSettings())
}

// remake opens the engine with another context and returns its length. Nothing is cut for a longer
// one: if an answer is in progress, nothing is tried. If the engine cannot be opened with the
// context, perhaps because the memory does not hold it, shorter ones are tried; the error says why.
// If it cannot be opened with any, the next request tries the shortest.
func (n *Node) remake(ctx context.Context, engine *supervise.Engine, now, next budget.Context) (tokens int, tried bool, err error) {
	n.setContext(next)
	if next.Tokens < now.Tokens {
		err = engine.Remake(ctx, shrinkPatience)
	} else if tried, err = engine.RemakeIfIdle(ctx); !tried {
		n.setContext(now)
		return now.Tokens, false, nil
	}
	for failed := err; failed != nil && ctx.Err() == nil; failed = engine.Remake(ctx, 0) {
		shorter := budget.Shorter(next.Tokens)
		if now.Tokens < next.Tokens {
			shorter = now.Tokens
		}
		if shorter >= next.Tokens {
			break
		}
		next.Bytes = next.Bytes / int64(next.Tokens) * int64(shorter)
		next.Tokens, next.Bound = shorter, budget.ByMemory
		n.setContext(next)
	}
	return next.Tokens, true, err
}

// divide gives each use of memory its share, except the context.
func (f *follower) divide(s budget.Shares, in budget.Use) {
	n := f.n
	if !n.keepsHot() {
		s.Hot = 0
	}
	n.Tree.SetHotLimit(s.Hot)
	if !s.Typed {
		if typist, ok := n.Engine.(llm.Typist); ok {
			typist.ForgetTyped()
		}
	}
	n.Scheduler.SetScarce(!s.Idle)
	if s.Scarce && (!f.freed || in.Hot > s.Hot || in.Typed > 0) {
		debug.FreeOSMemory()
	}
	f.freed = s.Scarce
	n.budget.mu.Lock()
	defer n.budget.mu.Unlock()
	n.budget.shares = &s
}

// keepsHot reports whether stored slices are kept in memory. Those of a plain folder already are:
// in the page cache, which the kernel takes back by itself.
func (n *Node) keepsHot() bool { return n.Home.Encryption != nil }

// typedBytes is the memory of the texts that are being typed.
func (n *Node) typedBytes() int64 {
	if typist, ok := n.Engine.(llm.Typist); ok {
		return typist.TypedBytes()
	}
	return 0
}

// fitSettings fits the settings to a new length of the context.
func (n *Node) fitSettings() error {
	n.configuring.Lock()
	defer n.configuring.Unlock()
	n.budget.mu.Lock()
	c := n.budget.set
	n.budget.mu.Unlock()
	set, err := n.Settings(c)
	if err != nil {
		return err
	}
	return n.Asker.Configure(set)
}

// followDisk changes the limit of stored tensors.
func (f *follower) followDisk(r Reading) error {
	n := f.n
	n.configuring.Lock() // a limit that the user sets meanwhile would be replaced
	defer n.configuring.Unlock()
	n.budget.mu.Lock()
	c, now := n.budget.set, n.budget.tensors
	n.budget.mu.Unlock()
	held, err := n.Tensors.Size()
	if err != nil || c.TensorLimit != config.Auto || r.Free < 0 {
		return err
	}
	allowed := budget.ChooseTensors(budget.Disk{Free: r.Free, Held: held})
	next := f.tensors.Next(now.Limit, allowed.Limit, n.Now())
	if next == now.Limit {
		return nil
	}
	why := "disk space became free"
	if next < now.Limit {
		why = "disk space became scarce"
	}
	allowed.Limit = next
	n.budget.mu.Lock()
	n.budget.tensors = allowed
	n.budget.changed = fmt.Sprintf("%s at %s: stored tensors take at most %s instead of %s", why, n.Now().Format(time.DateTime), cmdline.Size(next), cmdline.Size(now.Limit))
	n.budget.mu.Unlock()
	n.Log.Info("changed the limit of stored tensors", "why", why, "bytes", next, "before", now.Limit)
	return n.Tree.SetLimit(next)
}
