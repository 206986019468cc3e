package llmtest

import (
	"errors"
	"strings"

	"github.com/percached/percached"
)

func streamChecks() []check {
	return []check{
		{name: "stream/stop", run: checkStop},
		{name: "stream/stop never comes", run: checkStopHeld},
		{name: "stream/max tokens", run: checkMaxTokens},
		{name: "stream/emit error", run: checkEmitError},
	}
}

// The answer ends before a stop string, even one that comes in two pieces, and
// before the first of several.
func checkStop(p *probe) {
	pr := p.talkative()
	whole := p.generate(pr)
	stop := stopIn(whole.pieces)
	at := strings.Index(whole.Text, stop)
	for _, stops := range [][]string{{stop}, {"\x01never", stop}, {stop, whole.Text[at:]}, {stop + "\x01never", stop}} {
		pr.Stop = stops
		got := p.generate(pr)
		if got.Text != whole.Text[:at] || got.Finish != percached.FinishStop {
			p.fatalf("stop %q in %q: got %q (%s)", stops, whole.Text, got.Text, got.Finish)
		}
		p.sameLogits("with a stop string", whole.Logits, got.Logits)
	}
}

// What was held back as the possible beginning of a stop string comes after
// all.
func checkStopHeld(p *probe) {
	pr := p.talkative()
	whole := p.generate(pr)
	pr.Stop = []string{stopIn(whole.pieces) + "\x01", whole.Text + "\x01", strings.Join(whole.pieces[len(whole.pieces)/2:], "") + "\x01"}
	p.same("a stop string that never comes", whole.Result, p.generate(pr).Result)
}

func checkMaxTokens(p *probe) {
	pr := p.talkative()
	whole := p.generate(pr)
	for n := 1; n < whole.Usage.Generated; n++ {
		pr.MaxTokens = n
		got := p.generate(pr)
		if got.Usage.Generated != n || got.Finish != percached.FinishLength {
			p.fatalf("MaxTokens %d: %d tokens (%s)", n, got.Usage.Generated, got.Finish)
		}
		// A character cut in two may stand as a replacement at the end.
		if !strings.HasPrefix(whole.Text, strings.TrimRight(got.Text, "\uFFFD")) {
			p.fatalf("MaxTokens %d: %q is not the beginning of %q", n, got.Text, whole.Text)
		}
		p.sameLogits("with fewer tokens", whole.Logits, got.Logits)
	}
}

func checkEmitError(p *probe) {
	pr := p.talkative()
	whole := p.generate(pr)
	gone := errors.New("the listener is gone")
	for last := 1; last <= 3; last++ {
		calls := 0
		res, err := p.e.Generate(p.context(), pr, func(string) error {
			if calls++; calls == last {
				return gone
			}
			return nil
		})
		if !errors.Is(err, gone) {
			p.fatalf("emit failed at piece %d, Generate says %v", last, err)
		}
		if calls != last {
			p.fatalf("emit was called %d times, though it failed at %d", calls, last)
		}
		p.keptSlices("an error of emit", pr, whole, res)
	}
	p.same("after an error of emit", whole.Result, p.generate(pr).Result)
}

// keptSlices holds that a run that was ended while it answered gives what it
// captured, and that it is sound.
func (p *probe) keptSlices(what string, pr percached.Prompt, whole outcome, res percached.Result) {
	if p.info.NoSlices != "" {
		return
	}
	for i := range whole.Slices {
		if whole.Slices[i] == nil {
			continue
		}
		if i >= len(res.Slices) || res.Slices[i] == nil {
			p.fatalf("%s: the slice of segment %d is lost", what, i)
		}
		p.sameSlice(what, whole.Slices[i], res.Slices[i])
	}
}
