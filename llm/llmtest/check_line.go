package llmtest

import (
	"errors"
	"runtime"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

func lineChecks() []check {
	return []check{
		{name: "line/bounded", run: checkBounded},
		{name: "line/preempt", run: checkPreempt},
		{name: "line/preempt prefill", run: checkPreemptPrefill},
		{name: "line/foreground first", run: checkForegroundFirst},
		{name: "line/fair", run: checkFair},
		{name: "line/concurrent", run: checkConcurrent},
	}
}

// Only so many wait; who is refused leaves no trace, who waits is answered.
func checkBounded(p *probe) {
	p.fresh(func(e llm.Engine) {
		pr := p.talkative()
		whole := p.generate(pr)
		held := p.hold(e, pr)
		defer held.letGo()
		waiting := p.fill(e, pr, nil)
		held.letGo()
		p.finish("a request that waited", append(waiting, held.call))
		for _, c := range append(waiting, held.call) {
			p.same("a request that waited", whole.Result, c.res)
		}
		p.same("after an overload", whole.Result, p.generateOn(e, pr).Result)
	})
}

// Background work gives way to a foreground request before its next token, and
// gives what it captured.
func checkPreempt(p *probe) {
	p.fresh(func(e llm.Engine) {
		pr := p.talkative()
		whole := p.generate(pr)
		idle := clonePrompt(pr)
		idle.Priority = percached.Background
		held := p.hold(e, idle)
		defer held.letGo()
		waiting := p.fill(e, pr, nil)
		held.letGo()
		await(p, held.done, "background work to give way")
		if !errors.Is(held.err, llm.ErrPreempted) {
			p.fatalf("background work ended with %v while foreground requests waited", held.err)
		}
		if n := held.after.Load(); n > 0 {
			p.fatalf("background work answered %d pieces more while foreground requests waited", n)
		}
		p.finish("a foreground request", waiting)
		for _, c := range waiting {
			p.same("a foreground request", whole.Result, c.res)
		}
		p.keptSlices("preempted work", pr, whole, held.res)
		if p.info.NoSlices == "" {
			mask := 1<<(len(pr.Segments)-1) - 1
			p.same("taken up again", whole.Result, p.generateOn(e, stored(idle, held.res.Slices, mask)).Result)
		}
	})
}

// Whenever a foreground request comes upon a background Prefill, that ends with
// ErrPreempted or whole, and what it gives is sound. When it comes is chance.
func checkPreemptPrefill(p *probe) {
	for _, placement := range p.placements() {
		pr := p.ask(placement)
		whole := p.generate(pr)
		idle := clonePrompt(pr)
		idle.Priority, idle.Logits = percached.Background, false
		for range 10 {
			var idleRes percached.Result
			var idleErr error
			var both sync.WaitGroup
			ctx := p.context()
			both.Go(func() { idleRes, idleErr = p.e.Prefill(ctx, idle) })
			runtime.Gosched()
			answer := p.start(p.e, pr, nil)
			both.Wait()
			p.finish("a foreground request", []*call{answer})
			p.same("upon a background Prefill", whole.Result, answer.res)
			if idleErr != nil && !errors.Is(idleErr, llm.ErrPreempted) {
				p.fatalf("a background Prefill ended with %v", idleErr)
			}
			p.sameSlices("of a background Prefill", whole.Slices, idleRes.Slices)
			if p.info.NoSlices == "" {
				mask := 0
				for i, s := range idleRes.Slices {
					if s != nil && i < len(pr.Segments)-1 {
						mask |= 1 << i
					}
				}
				p.same("taken up again", whole.Result, p.generate(stored(pr, idleRes.Slices, mask)).Result)
			}
		}
	}
}

// All who wait in the foreground go before all who wait in the background,
// though those came first; and a line full of the one does not close the other.
func checkForegroundFirst(p *probe) {
	p.fresh(func(e llm.Engine) {
		pr := p.talkative()
		held := p.hold(e, pr)
		defer held.letGo()
		idle := clonePrompt(pr)
		idle.Priority = percached.Background
		var l log
		background := p.fill(e, idle, &l)
		foreground := p.fill(e, pr, &l)
		held.letGo()
		p.finish("a foreground request", append(foreground, held.call))
		p.finish("background work", background)
		for _, f := range foreground {
			for _, b := range background {
				if f.order.Load() > b.order.Load() {
					p.fatalf("background work was answered before a foreground request that waited")
				}
			}
		}
	})
}

// First come, first served. How is it known who came first? The line is full;
// one leaves it; of two who then come, one is refused: so the other has the
// free place, at the end.
func checkFair(p *probe) {
	p.fresh(func(e llm.Engine) {
		pr := p.talkative()
		held := p.hold(e, pr)
		defer held.letGo()
		var l log
		line := p.fill(e, pr, &l)
		came := make([]*call, 0, len(line))
		for _, leaves := range line {
			leaves.cancel()
			await(p, leaves.done, "a cancelled request in line to return")
			came = append(came, p.joins(e, pr, &l))
		}
		held.letGo()
		p.finish("a request in the place of one who left", append(came, held.call))
		for i := 1; i < len(came); i++ {
			if came[i-1].order.Load() > came[i].order.Load() {
				p.fatalf("the request that came as number %d was answered before number %d", i+1, i)
			}
		}
	})
}

// joins is the call that takes the one free place in line: of two, the one that
// is not refused.
func (p *probe) joins(e llm.Engine, pr percached.Prompt, l *log) *call {
	a, b := p.start(e, pr, l), p.start(e, pr, l)
	first := make(chan *call, 2)
	for _, c := range []*call{a, b} {
		go func() { <-c.done; first <- c }()
	}
	refused := await(p, first, "one of two requests for one place to be refused")
	if fault.KindOf(refused.err) != fault.Overloaded {
		p.fatalf("one of two requests for one place: %v, want overloaded", refused.err)
	}
	if refused == a {
		return b
	}
	return a
}

// Many at once get what each gets alone.
func checkConcurrent(p *probe) {
	p.fresh(func(e llm.Engine) {
		prompts := []percached.Prompt{p.talkative()}
		for _, placement := range p.placements() {
			prompts = append(prompts, p.ask(placement))
		}
		want := make([]outcome, len(prompts))
		for i, pr := range prompts {
			want[i] = p.generate(pr)
		}
		errs := make(chan error, p.Queue+1)
		for g := range p.Queue + 1 { // one runs, the others wait: none is too many
			go func() { errs <- p.hammer(e, g, prompts, want) }()
		}
		for range p.Queue + 1 {
			p.must(await(p, errs, "concurrent requests to end"), "concurrent requests")
		}
	})
}

func (p *probe) hammer(e llm.Engine, g int, prompts []percached.Prompt, want []outcome) error {
	return p.do(false, func(mine *probe) {
		for round := range 4 {
			i := (g + round) % len(prompts)
			got := mine.generateOn(e, prompts[i])
			mine.same("among others", want[i].Result, got.Result)
			mine.sameSlices("among others", want[i].Slices, got.Slices)
			if mine.info.NoSlices == "" {
				mask := 1<<(len(prompts[i].Segments)-1) - 1
				got = mine.generateOn(e, stored(prompts[i], want[i].Slices, mask))
				mine.same("among others, from slices", want[i].Result, got.Result)
			}
		}
	})
}
