package llmtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

// Engines is an implementation of llm.Engine under test.
type Engines struct {
	// Open gives a new engine each time, of the same model and the same
	// settings: what a restart gives. The suite closes it. A context of 1024
	// tokens, a split of 8 to 32, and pieces smaller than 64 tokens let the
	// suite see most.
	Open func() (llm.Engine, error)
	// Special is a text that is one control token where Text.Special is set.
	Special string
	// Queue is how many requests of each priority may wait in line while one
	// runs; a small number keeps the suite fast.
	Queue int
}

// RunEngine holds an implementation to the rules in this package's
// documentation, each in a subtest of its own.
func RunEngine(t *testing.T, e Engines) {
	b := &bench{Engines: e, patience: time.Minute}
	t.Cleanup(b.close)
	for _, c := range engineChecks() {
		t.Run(c.name, func(t *testing.T) { report(t, b.do(c.needSlices, c.run)) })
	}
}

// check is one rule, and how it is tried. It fails by probe.fatalf.
type check struct {
	name       string
	needSlices bool // the rule says nothing of engines that cannot store slices
	run        func(*probe)
}

var errSkip = errors.New("slices cannot be stored")

func report(t *testing.T, err error) {
	t.Helper()
	switch {
	case errors.Is(err, errSkip):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// bench holds what the checks of one run share.
type bench struct {
	Engines
	patience time.Duration // for what must come; never how long something may take
	shared   llm.Engine
	talk     *percached.Prompt
}

func (b *bench) close() {
	if b.shared != nil {
		_ = b.shared.Close() // the checks of Close have their own engines
	}
}

// probe is one check at work.
type probe struct {
	*bench
	e    llm.Engine
	info percached.ModelInfo
	ends []context.CancelFunc
}

// context is for one call, or for what runs until the check ends. Only the
// check's own goroutine may call it.
func (p *probe) context() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	p.ends = append(p.ends, cancel)
	return ctx
}

func (p *probe) end() {
	for _, cancel := range p.ends {
		cancel()
	}
}

type failure struct{ error }

// caught is deferred: it makes an error of a check's failure.
func caught(err *error) {
	switch r := recover().(type) {
	case nil:
	case failure:
		*err = r.error
	default:
		panic(r)
	}
}

// do runs a check and gives its failure.
func (b *bench) do(needSlices bool, run func(*probe)) (err error) {
	p := &probe{bench: b}
	defer p.end()
	defer caught(&err)
	if b.shared == nil {
		b.shared = p.open()
	}
	p.e, p.info = b.shared, b.shared.Info()
	if needSlices && p.info.NoSlices != "" {
		return fmt.Errorf("%w: %s", errSkip, p.info.NoSlices)
	}
	run(p)
	return nil
}

// fatalf ends the check. Only the check's own goroutine may call it.
func (p *probe) fatalf(format string, args ...any) {
	panic(failure{fmt.Errorf(format, args...)})
}

func (p *probe) must(err error, format string, args ...any) {
	if err != nil {
		p.fatalf("%s: %w", fmt.Sprintf(format, args...), err)
	}
}

func (p *probe) open() llm.Engine {
	e, err := p.Open()
	p.must(err, "open an engine")
	return e
}

// fresh runs f with an engine of its own.
func (p *probe) fresh(f func(e llm.Engine)) {
	e := p.open()
	defer func() { _ = e.Close() }()
	f(e)
}

// await waits for what must come, whatever time it takes; the patience only
// turns a hanging test into one that says what it waited for.
func await[T any](p *probe, ch <-chan T, format string, args ...any) T {
	lost := time.NewTimer(p.patience)
	defer lost.Stop()
	select {
	case v := <-ch:
		return v
	case <-lost.C:
		p.fatalf("waited in vain: "+format, args...)
		panic("unreachable")
	}
}

func engineChecks() []check {
	var all []check
	for _, group := range [][]check{
		infoChecks(), tokenChecks(), equalChecks(), lengthChecks(), sliceChecks(), refuseChecks(), streamChecks(),
		samplingChecks(), grammarChecks(), promptChecks(), cancelChecks(), lineChecks(), closeChecks(), typingChecks(),
	} {
		all = append(all, group...)
	}
	return all
}
