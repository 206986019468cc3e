package selftesting

import (
	"context"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/llm/llmtest"
)

// measurable is a fake engine that can give wrong logits.
type measurable struct {
	*llmtest.Fake
	wrong bool // warm runs return other logits
}

func (m measurable) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	r, err := m.Fake.Prefill(ctx, p)
	return m.spoil(p, r), err
}

func (m measurable) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	r, err := m.Fake.Generate(ctx, p, emit)
	return m.spoil(p, r), err
}

func (m measurable) spoil(p percached.Prompt, r percached.Result) percached.Result {
	if m.wrong && p.Segments[0].Slice != nil && len(r.Logits) > 0 {
		r.Logits[0]++
	}
	return r
}

func (m measurable) SuffixOnly(context.Context, percached.Prompt, int) ([]time.Duration, error) {
	return []time.Duration{time.Millisecond}, nil
}

func (m measurable) BareLoop(context.Context, []int32, int) (prefill, decode time.Duration, err error) {
	return time.Second, time.Second, nil
}

// Opener opens fakes. With the K/V type wrong, warm runs give other logits; the type
// refused does not open.
func Opener(wrong, refused string) selftest.Opener {
	return func(_ context.Context, c llamacpp.Config) (selftest.Engine, error) {
		if c.KeyType == refused {
			return nil, fault.New(fault.Unsupported, "fake", "heads of 10 numbers")
		}
		o := llmtest.DefaultOptions()
		o.Name = "fake " + c.KeyType
		return measurable{llmtest.NewFake(o), c.KeyType == wrong}, nil
	}
}
