package llmtest

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Embedders is an implementation of llm.Embedder under test.
type Embedders struct {
	// Open gives a new embedder each time, of the same model and the same
	// settings. The suite closes it.
	Open func() (llm.Embedder, error)
}

// RunEmbedder holds an implementation to the rules in this package's
// documentation, each in a subtest of its own.
func RunEmbedder(t *testing.T, e Embedders) {
	for _, c := range embedChecks() {
		t.Run(c.name, func(t *testing.T) { report(t, doEmbed(e, time.Minute, c.run)) })
	}
}

type embedCheck struct {
	name string
	run  func(*embedProbe)
}

// embedProbe is one check at work on an embedder of its own.
type embedProbe struct {
	*probe
	open func() (llm.Embedder, error)
	e    llm.Embedder
}

func doEmbed(s Embedders, patience time.Duration, run func(*embedProbe)) (err error) {
	p := &embedProbe{probe: &probe{bench: &bench{patience: patience}}, open: s.Open}
	defer p.end()
	defer caught(&err)
	p.e, err = s.Open()
	p.must(err, "open an embedder")
	defer func() { _ = p.e.Close() }()
	run(p)
	return nil
}

func embedChecks() []embedCheck {
	return []embedCheck{
		{"embed/info", checkEmbedInfo},
		{"embed/unit", checkUnit},
		{"embed/same", checkEmbedSame},
		{"embed/distinct", checkDistinct},
		{"embed/long", checkLong},
		{"embed/owned", checkEmbedOwned},
		{"embed/none", checkNoTexts},
		{"embed/invalid", checkEmbedInvalid},
		{"embed/restart", checkEmbedRestart},
		{"embed/cancel", checkEmbedCancel},
		{"embed/close", checkEmbedClose},
	}
}

// texts are of all sorts, empty, odd and broken ones among them.
var texts = []string{
	"When does the train leave?", "", " ", "Zürich, 3. März 🚆", "a\xff\xfeb\x00c", "<s></s><|im_end|>[CLS][SEP]", "x",
	strings.Repeat("The report is due on Tuesday. ", 20), "When does the train leave", "\n\n\n", "會議在星期二",
}

func (p *embedProbe) embed(priority percached.Priority, texts ...string) [][]float32 {
	out, err := p.e.Embed(p.context(), priority, texts)
	p.must(err, "Embed")
	if len(out) != len(texts) {
		p.fatalf("%d vectors for %d texts", len(out), len(texts))
	}
	return out
}

func checkEmbedInfo(p *embedProbe) {
	i := p.e.Info()
	if i.Dimensions <= 0 || i.MaxTokens <= 0 || i.Fingerprint == "" {
		p.fatalf("the embedder leaves out what it must say: %+v", i)
	}
	p.embed(percached.Foreground, texts...)
	if d := cmp.Diff(i, p.e.Info()); d != "" {
		p.fatalf("Info changed:\n%s", d)
	}
}

// Every vector has length 1, that of the empty text too.
func checkUnit(p *embedProbe) {
	for i, v := range p.embed(percached.Foreground, texts...) {
		if len(v) != p.e.Info().Dimensions {
			p.fatalf("%q has %d dimensions, want %d", texts[i], len(v), p.e.Info().Dimensions)
		}
		norm := 0.0
		for _, x := range v {
			norm += float64(x) * float64(x)
		}
		if !(math.Abs(math.Sqrt(norm)-1) < 1e-3) {
			p.fatalf("the vector of %q has length %v", texts[i], math.Sqrt(norm))
		}
	}
}

// A text has one vector: alone, in any batch, at any place, at both priorities.
func checkEmbedSame(p *embedProbe) {
	batch := p.embed(percached.Foreground, texts...)
	backwards := make([]string, len(texts))
	for i, t := range texts {
		backwards[len(texts)-1-i] = t
	}
	reversed := p.embed(percached.Background, backwards...)
	for i, t := range texts {
		if !bitEqual(batch[i], p.embed(percached.Foreground, t)[0]) {
			p.fatalf("%q has another vector alone than in a batch", t)
		}
		if !bitEqual(batch[i], reversed[len(texts)-1-i]) {
			p.fatalf("%q has another vector in a batch of another order", t)
		}
	}
}

func checkDistinct(p *embedProbe) {
	v := p.embed(percached.Foreground, "The train leaves at nine.", "Anna lost her red umbrella.", "Zürich", "42")
	for i := range v {
		for j := range i {
			if bitEqual(v[i], v[j]) {
				p.fatalf("texts %d and %d have one vector", i, j)
			}
		}
	}
}

// A text longer than the model reads is cut, not refused.
func checkLong(p *embedProbe) {
	long := strings.Repeat("word and another ", p.e.Info().MaxTokens)
	v := p.embed(percached.Foreground, long, long+"with an end that nobody reads", "short", strings.Repeat("\xff", 4*p.e.Info().MaxTokens+4))
	if !bitEqual(v[0], v[1]) {
		p.fatalf("what stands behind %d tokens changes the vector", p.e.Info().MaxTokens)
	}
	if !bitEqual(v[2], p.embed(percached.Foreground, "short")[0]) {
		p.fatalf("a long text changes its neighbour's vector")
	}
}

func checkEmbedOwned(p *embedProbe) {
	first := p.embed(percached.Foreground, texts[0], texts[0])
	want := slices.Clone(first[0])
	clear(first[0])
	if again := p.embed(percached.Foreground, texts[0]); !bitEqual(want, first[1]) || !bitEqual(want, again[0]) {
		p.fatalf("a vector changed when another was written to")
	}
}

func checkNoTexts(p *embedProbe) { p.embed(percached.Foreground) }

func checkEmbedInvalid(p *embedProbe) {
	if _, err := p.e.Embed(p.context(), 9, texts); fault.KindOf(err) != fault.Invalid {
		p.fatalf("an unknown priority: %v, want invalid", err)
	}
}

func checkEmbedRestart(p *embedProbe) {
	other, err := p.open()
	p.must(err, "open a second embedder")
	defer func() { _ = other.Close() }()
	if d := cmp.Diff(p.e.Info(), other.Info()); d != "" {
		p.fatalf("Info changed with a restart:\n%s", d)
	}
	again, err := other.Embed(p.context(), percached.Foreground, texts)
	p.must(err, "Embed")
	for i, v := range p.embed(percached.Foreground, texts...) {
		if !bitEqual(v, again[i]) {
			p.fatalf("%q has another vector after a restart", texts[i])
		}
	}
}

func checkEmbedCancel(p *embedProbe) {
	before := p.embed(percached.Foreground, texts[0])
	ctx, cancel := context.WithCancel(p.context())
	cancel()
	if _, err := p.e.Embed(ctx, percached.Foreground, texts); !errors.Is(err, context.Canceled) {
		p.fatalf("Embed with a cancelled context: %v", err)
	}
	if !bitEqual(before[0], p.embed(percached.Foreground, texts[0])[0]) {
		p.fatalf("a vector changed after a cancelled call")
	}
}

func checkEmbedClose(p *embedProbe) {
	info := p.e.Info()
	ended := make(chan error, 1)
	busy := make(chan struct{})
	ctx := p.context()
	go func() {
		for n := 0; ; n++ {
			if _, err := p.e.Embed(ctx, percached.Background, texts); err != nil {
				ended <- err
				return
			}
			if n == 0 {
				close(busy)
			}
		}
	}()
	await(p.probe, busy, "the first vectors")
	done := make(chan error, 1)
	go func() { done <- p.e.Close() }()
	p.must(await(p.probe, done, "Close of a busy embedder"), "Close")
	if err := await(p.probe, ended, "running work to end"); !errors.Is(err, llm.ErrClosed) {
		p.fatalf("running work ended with %v, want ErrClosed", err)
	}
	if _, err := p.e.Embed(p.context(), percached.Foreground, texts); !errors.Is(err, llm.ErrClosed) {
		p.fatalf("Embed after Close: %v, want ErrClosed", err)
	}
	if err := p.e.Close(); err != nil && !errors.Is(err, llm.ErrClosed) {
		p.fatalf("a second Close: %v", err)
	}
	if d := cmp.Diff(info, p.e.Info()); d != "" {
		p.fatalf("Info changed with Close:\n%s", d)
	}
}
