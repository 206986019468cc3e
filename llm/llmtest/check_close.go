package llmtest

import (
	"errors"
	"sync/atomic"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

func closeChecks() []check {
	return []check{
		{name: "close/idle", run: checkCloseIdle},
		{name: "close/busy", run: checkCloseBusy},
		{name: "close/waiting", run: checkCloseWaiting},
		{name: "close/leaks", run: checkLeaks},
	}
}

func (p *probe) closed(e llm.Engine) {
	pr := p.ask(percached.Sequential)
	_, err1 := e.Generate(p.context(), pr, nil)
	_, err2 := e.Prefill(p.context(), pr)
	_, err3 := e.Tokenize(pr.Segments)
	for i, err := range []error{err1, err2, err3} {
		if !errors.Is(err, llm.ErrClosed) {
			p.fatalf("%s after Close: %v, want ErrClosed", []string{"Generate", "Prefill", "Tokenize"}[i], err)
		}
	}
	if e.Info().Fingerprint != p.info.Fingerprint {
		p.fatalf("Info changed with Close")
	}
	if err := e.Close(); err != nil && !errors.Is(err, llm.ErrClosed) {
		p.fatalf("a second Close: %v", err)
	}
}

func (p *probe) closing(e llm.Engine) <-chan error {
	done := make(chan error, 1)
	go func() { done <- e.Close() }()
	return done
}

func checkCloseIdle(p *probe) {
	unused := p.open()
	p.must(unused.Close(), "Close of an unused engine")
	p.closed(unused)
	used := p.open()
	p.generateOn(used, p.ask(percached.Sequential))
	p.must(used.Close(), "Close")
	p.closed(used)
}

// Close ends what runs, and waits for it: nothing is emitted once it returned.
func checkCloseBusy(p *probe) {
	e := p.open()
	pr := p.talkative()
	running, ended := make(chan struct{}), make(chan error, 1)
	var over, late atomic.Bool
	ctx := p.context()
	go func() {
		said := false
		for {
			_, err := e.Generate(ctx, pr, func(string) error {
				if over.Load() {
					late.Store(true)
				}
				if !said {
					said = true
					close(running)
				}
				return nil
			})
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	await(p, running, "the first piece")
	err := await(p, p.closing(e), "Close of a busy engine")
	over.Store(true)
	p.must(err, "Close of a busy engine")
	if err := await(p, ended, "running work to end"); !errors.Is(err, llm.ErrClosed) {
		p.fatalf("running work ended with %v, want ErrClosed", err)
	}
	if late.Load() {
		p.fatalf("a piece was emitted after Close had returned")
	}
	p.closed(e)
}

// Who waits in line while the engine closes is answered or told.
func checkCloseWaiting(p *probe) {
	e := p.open()
	pr := p.talkative()
	held := p.hold(e, pr)
	defer held.letGo()
	waiting := p.fill(e, pr, nil)
	done := p.closing(e)
	held.letGo()
	p.must(await(p, done, "Close with requests in line"), "Close")
	for _, c := range append(waiting, held.call) {
		await(p, c.done, "a request in line to end")
		if c.err != nil && !errors.Is(c.err, llm.ErrClosed) {
			p.fatalf("a request in line ended with %v, want ErrClosed", c.err)
		}
	}
	p.closed(e)
}

// A closed engine leaves no goroutine.
func checkLeaks(p *probe) {
	pr := p.talkative()
	before := goleak.IgnoreCurrent()
	for range 3 {
		e := p.open()
		p.generateOn(e, pr)
		idle := p.start(e, pr, nil)
		idle.cancel()
		await(p, idle.done, "a cancelled request")
		p.must(e.Close(), "Close")
	}
	p.must(goleak.Find(before), "goroutines of closed engines")
}
