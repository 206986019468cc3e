package llmtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// EmbedOptions say what kind of embedder a FakeEmbedder is.
type EmbedOptions struct {
	Name       string // another name is another model
	Dimensions int
	MaxTokens  int // words of a text that are read
	Queue      int
	Step       func(Step) // as in Options
	Costs      Costs
	Clock      Clock
	Gate       *Gate // shared with a Fake: a foreground Embed preempts its background work
}

// DefaultEmbedOptions are a small model that costs no time.
func DefaultEmbedOptions() EmbedOptions {
	return EmbedOptions{Name: "fake-embedder", Dimensions: 64, MaxTokens: 512, Queue: 16, Clock: Wall{}, Gate: &Gate{}}
}

// FakeEmbedder is an embedder without a model: the vector of a text is the sum
// of its words' vectors, so that texts with common words are similar, whatever
// the words' order, case and punctuation.
type FakeEmbedder struct {
	*lifetime
	opts EmbedOptions
	info percached.EmbedderInfo
}

var _ llm.Embedder = (*FakeEmbedder)(nil)

// NewFakeEmbedder makes an embedder; it panics if the options cannot be.
func NewFakeEmbedder(o EmbedOptions) *FakeEmbedder {
	if o.Dimensions <= 0 || o.MaxTokens <= 0 || o.Clock == nil || o.Gate == nil {
		panic(fmt.Sprintf("llmtest: options cannot be: %+v", o))
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "embed %q %d %d", o.Name, o.Dimensions, o.MaxTokens))
	return &FakeEmbedder{lifetime: newLifetime(), opts: o, info: percached.EmbedderInfo{
		Name: o.Name, Architecture: "fake", Dimensions: o.Dimensions, MaxTokens: o.MaxTokens,
		Pooling: "mean", Fingerprint: hex.EncodeToString(sum[:]),
	}}
}

// Info implements llm.Embedder.
func (f *FakeEmbedder) Info() percached.EmbedderInfo { return f.info }

// Close implements llm.Embedder.
func (f *FakeEmbedder) Close() error { return f.lifetime.close() }

// Embed implements llm.Embedder.
func (f *FakeEmbedder) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	const op = "llmtest.Embed"
	if err := f.begin(); err != nil {
		return nil, fault.Wrap(op, err)
	}
	defer f.calls.Done()
	if err := ctx.Err(); err != nil {
		return nil, fault.Wrap(op, err)
	}
	if p > percached.Background {
		return nil, fault.New(fault.Invalid, op, "unknown priority %d", p)
	}
	t, err := f.opts.Gate.enter(ctx, f.closed, p, f.opts.Queue, func() { f.tell(Step{Op: OpQueue, Priority: p}) })
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	defer f.opts.Gate.leave()
	out := make([][]float32, len(texts))
	for i, text := range texts {
		f.tell(Step{Op: OpEmbed, Priority: p, Tokens: 1})
		if err := f.stop(ctx, t); err != nil {
			return nil, fault.Wrap(op, err)
		}
		f.opts.Clock.Sleep(f.opts.Costs.Embed)
		out[i] = f.vector(text)
	}
	return out, nil
}

func (f *FakeEmbedder) tell(s Step) {
	if f.opts.Step != nil {
		f.opts.Step(s)
	}
}

func (f *FakeEmbedder) vector(text string) []float32 {
	sum := make([]float64, f.opts.Dimensions)
	read := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	f.add(sum, "", 0.01) // a text without words has a direction too
	for _, w := range read[:min(len(read), f.opts.MaxTokens)] {
		f.add(sum, w, 1)
	}
	norm := 0.0
	for _, x := range sum {
		norm += x * x
	}
	out := make([]float32, len(sum))
	for i, x := range sum {
		out[i] = float32(x / math.Sqrt(norm))
	}
	return out
}

// add adds the direction of a word: each dimension between -1 and 1.
func (f *FakeEmbedder) add(sum []float64, word string, weight float64) {
	h := uint64(len(word))
	for i := range len(word) {
		h = mix(h, uint64(word[i]))
	}
	for _, c := range []byte(f.info.Fingerprint[:8]) {
		h = mix(h, uint64(c))
	}
	for i := range sum {
		sum[i] += weight * (float64(mix(h, uint64(i))>>11)/(1<<52) - 1)
	}
}
