package llmtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

// Op is what a fake does next.
type Op string

// The operations, in the order in which one request goes through them.
const (
	OpQueue   Op = "queue" // the request has its place in line, or its turn
	OpRestore Op = "restore"
	OpPrefill Op = "prefill"
	OpCapture Op = "capture"
	OpDecode  Op = "decode"
	OpEmbed   Op = "embed"
)

// Step is one thing that a fake is about to do.
type Step struct {
	Op       Op
	Priority percached.Priority
	Segment  int // index in the prompt: restore, prefill, capture
	Tokens   int // how many, or texts under OpEmbed
}

// Script answers a question with words of its own; ok is false when it leaves
// the question to the tensors.
type Script func(p percached.Prompt, question string) (answer string, ok bool)

// Answers is a Script of questions and their answers.
func Answers(m map[string]string) Script {
	return func(_ percached.Prompt, question string) (string, bool) {
		a, ok := m[question]
		return a, ok
	}
}

// Options say what kind of engine a Fake is.
type Options struct {
	Name          string // another name is another model
	Context       int
	Split         int    // tokens computed at a time: background work can stop between two
	BytesPerToken int    // of keys and values; a multiple of 16
	PieceTokens   int    // tokens in one piece of a slice
	Queue         int    // requests of one priority that may wait
	Begin         bool   // a begin token at the head of the first segment
	NoSlices      string // why slices cannot be stored; empty when they can
	NoPack        string // why slices cannot be packed; empty when they can
	NoParallel    string // why chunks are not to be computed apart; it would do so all the same
	Script        Script // nil leaves every answer to the tensors
	// Step, when not nil, is told of each thing before it is done, on the
	// goroutine of the request and without any lock held: it may wait, and it
	// may start requests (but not wait for their end).
	Step  func(Step)
	Costs Costs
	Clock Clock
	Gate  *Gate // shared with what runs on the same device

	drift uint64 // for broken engines: other tensors under the same fingerprint
}

// DefaultOptions are a small model that costs no time.
func DefaultOptions() Options {
	return Options{
		Name: "fake", Context: 4096, Split: 16, BytesPerToken: 32, PieceTokens: 16,
		Queue: 16, Begin: true, Clock: Wall{}, Gate: &Gate{},
	}
}

// Fake is an engine without a model. Its tensors are hashes of the token and of
// everything that stands before it, and its answers are made from the tensors
// in the context, so that a slice reused in the wrong place changes the answer.
// It runs on the goroutine of its caller.
type Fake struct {
	*lifetime
	opts Options
	info percached.ModelInfo

	typedMu sync.Mutex
	typed   map[string][]int32 // texts by owner
}

var _ llm.Engine = (*Fake)(nil)

// NewFake makes an engine; it panics if the options cannot be.
func NewFake(o Options) *Fake {
	if o.Context <= 0 || o.Split <= 0 || o.BytesPerToken <= 0 || o.BytesPerToken%16 != 0 || o.PieceTokens <= 0 || o.Clock == nil || o.Gate == nil {
		panic(fmt.Sprintf("llmtest: options cannot be: %+v", o))
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %d", o.Name, o.Split, o.BytesPerToken))
	f := &Fake{lifetime: newLifetime(), opts: o, info: percached.ModelInfo{
		Name: o.Name, Architecture: "fake", Parameters: 1, WeightBytes: 1, Layers: 1, Width: 8, Heads: 1, HeadsKV: 1, HeadSize: 8, FeedForward: 16,
		Vocabulary: vocabulary, TrainContext: o.Context, Context: o.Context, Split: o.Split, Threads: 1,
		KeyType: "f16", ValueType: "f16", FlashAttn: true,
		Fingerprint: hex.EncodeToString(sum[:]), BytesPerToken: o.BytesPerToken, NoSlices: o.NoSlices, NoParallel: o.NoParallel, Chat: chat,
	}}
	if o.NoSlices != "" {
		f.info.BytesPerToken = 0
	}
	return f
}

// Info implements llm.Engine.
func (f *Fake) Info() percached.ModelInfo { return f.info }

// Tokenize implements llm.Engine.
func (f *Fake) Tokenize(segments []percached.Segment) ([][]int32, error) {
	if err := f.begin(); err != nil {
		return nil, fault.Wrap("llmtest.Tokenize", err)
	}
	defer f.calls.Done()
	return tokenize(segments, f.opts.Begin), nil
}

// Generate implements llm.Engine.
func (f *Fake) Generate(ctx context.Context, p percached.Prompt, emit func(string) error) (percached.Result, error) {
	return f.run(ctx, "llmtest.Generate", p, true, emit)
}

// Prefill implements llm.Engine.
func (f *Fake) Prefill(ctx context.Context, p percached.Prompt) (percached.Result, error) {
	return f.run(ctx, "llmtest.Prefill", p, false, nil)
}

// Close implements llm.Engine.
func (f *Fake) Close() error { return f.lifetime.close() }
