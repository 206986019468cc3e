package selftest

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/qkvtree"
)

const (
	// TestContext is the context of a model under test, in tokens.
	TestContext = 2048
	testAnswer  = 16 // tokens
)

// TypeTest is the result for one type of keys and values.
type TypeTest struct {
	Type        string `json:"type"`
	OK          bool   `json:"ok"`
	Tokens      int    `json:"tokens"` // number of compared tokens of prompts and answers
	Reason      string `json:"reason,omitempty"`
	Unsupported bool   `json:"unsupported,omitempty"` // the model or this build does not support the type
	Unstored    string `json:"unstored,omitempty"`    // why no slices can be tested
	NoParallel  string `json:"no_parallel,omitempty"` // why there is no parallel placement
}

// Run compares runs without stored tensors and with tensors from disk, in the placements that
// the model supports. A full run has longer prompts, repeats the run without tensors and also
// compares tensors from memory.
func (t *TypeTest) Run(ctx context.Context, e Engine, full bool) error {
	for _, pl := range []percached.Placement{percached.Sequential, percached.Parallel} {
		if t.NoParallel = e.Info().NoParallel; pl == percached.Parallel && t.NoParallel != "" {
			continue
		}
		if err := t.runPlacement(ctx, e, pl, full); err != nil {
			return err
		}
	}
	t.OK = true
	return nil
}

func (t *TypeTest) runPlacement(ctx context.Context, e Engine, pl percached.Placement, full bool) error {
	name := map[percached.Placement]string{percached.Sequential: "sequential", percached.Parallel: "parallel"}[pl]
	// Random words, with lengths that are not round. If layers have a sliding window, the
	// prompt is longer than the window.
	lengths := []int{11, 17, 5}
	if full {
		lengths = []int{23, 41, 5}
	}
	if window := e.Info().Window; window > 0 {
		n := min(window, e.Info().Context/2) // a word has about three tokens
		lengths = []int{n/4 + 3, n/3 + 1, n / 5}
	}
	r := rand.New(rand.NewPCG(5, 0))
	var chunks []string
	for _, n := range lengths {
		chunks = append(chunks, randomWords(r, n))
	}
	p := percached.Prompt{
		Segments:  e.Info().Chat.Ask(randomWords(r, 7), chunks, randomWords(r, 11)),
		Placement: pl, MaxTokens: testAnswer, Logits: true,
	}
	captured, err := e.Generate(ctx, WithCapture(p), nil)
	if err != nil {
		return err
	}
	cold := captured
	t.Tokens += cold.Usage.Prompt + cold.Usage.Generated
	if full {
		if cold, err = e.Generate(ctx, p, nil); err != nil {
			return err
		}
		if err := compare(cold, captured); err != nil {
			return testError(name, "cold twice", err)
		}
	}
	slices := captured.Slices[:len(captured.Slices)-1]
	for i, s := range slices {
		if s == nil {
			return fault.New(fault.Unsupported, "percached: doctor", "the engine returned no slice of segment %d", i)
		}
	}
	if full {
		warm, err := e.Generate(ctx, WithSlices(p, slices), nil)
		if err != nil {
			return err
		}
		if err := compareReused(cold, warm); err != nil {
			return testError(name, "warm from memory", err)
		}
	}
	d, err := StoreOnDisk(e.Info().Fingerprint, pl, slices, false)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.View(func(lent []*percached.Slice) error {
		warm, err := e.Generate(ctx, WithSlices(p, lent), nil)
		if err != nil {
			return err
		}
		if err := compareReused(cold, warm); err != nil {
			return testError(name, "warm from disk", err)
		}
		return nil
	})
}

func testError(placement, what string, err error) error {
	return fault.New(fault.Internal, "percached: doctor", "%s, %s: %w", placement, what, err)
}

// compareReused checks that slices were reused with the same result.
func compareReused(cold, warm percached.Result) error {
	if warm.Usage.Reused == 0 || warm.Usage.Prompt != cold.Usage.Prompt {
		return fmt.Errorf("%d of %d tokens were reused", warm.Usage.Reused, cold.Usage.Prompt)
	}
	return compare(cold, warm)
}

func compare(a, b percached.Result) error {
	switch {
	case len(a.Logits) == 0:
		return fmt.Errorf("the engine returned no logits")
	case !SameBits(a.Logits, b.Logits):
		return fmt.Errorf("the logits differ")
	case a.Text != b.Text || a.Usage.Generated != b.Usage.Generated || a.Finish != b.Finish:
		return fmt.Errorf("the answers differ")
	}
	return nil
}

// randomWords returns n random words in lower case.
func randomWords(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		for range 2 + r.IntN(6) {
			b.WriteByte(byte('a' + r.IntN(26)))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// ExactPrompt makes segments of random text with exactly these numbers of tokens. The first
// is the system's, the last the question's, the others are chunks.
func ExactPrompt(e llm.Engine, seed uint64, sizes ...int) ([]percached.Segment, error) {
	r := rand.New(rand.NewPCG(seed, 0))
	segs := make([]percached.Segment, len(sizes))
	for i, n := range sizes {
		kind := percached.KindChunk
		switch i {
		case 0:
			kind = percached.KindSystem
		case len(sizes) - 1:
			kind = percached.KindQuestion
		}
		segs[i] = percached.Segment{Kind: kind, Texts: []percached.Text{{Text: randomWords(r, n)}}}
	}
	tokens, err := e.Tokenize(segs)
	if err != nil {
		return nil, err
	}
	for i, n := range sizes {
		if len(tokens[i]) < n {
			return nil, fault.New(fault.Unsupported, "percached: prompt", "%d words have only %d tokens in this model", n, len(tokens[i]))
		}
		segs[i].Tokens, segs[i].Texts = tokens[i][:n:n], nil
	}
	return segs, nil
}

// WithCapture asks for the slices of all segments except the last.
func WithCapture(p percached.Prompt) percached.Prompt {
	p.Segments = append([]percached.Segment(nil), p.Segments...)
	for i := range p.Segments[:len(p.Segments)-1] {
		p.Segments[i].Capture = true
	}
	return p
}

// WithSlices sets the slices of all segments except the last.
func WithSlices(p percached.Prompt, slices []*percached.Slice) percached.Prompt {
	p.Segments = append([]percached.Segment(nil), p.Segments...)
	for i := range p.Segments[:len(p.Segments)-1] {
		p.Segments[i].Slice = slices[i]
	}
	return p
}

// SameBits compares floats bit by bit.
func SameBits(a, b []float32) bool {
	return slices.EqualFunc(a, b, func(x, y float32) bool { return math.Float32bits(x) == math.Float32bits(y) })
}

// Disk holds the slices of one prompt in a database of its own.
type Disk struct {
	dir  string
	lock []byte // encrypts the database; nil: it is plain
	db   *kv.DB
	tree *qkvtree.Tree
	req  qkvtree.Request
}

// StoreOnDisk writes slices to a new database in a temporary folder and reopens it, so that
// reads come from files. The database may be encrypted.
func StoreOnDisk(model string, pl percached.Placement, slices []*percached.Slice, encrypted bool) (*Disk, error) {
	dir, err := os.MkdirTemp("", "percached-")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: disk", "%w", err)
	}
	d := &Disk{dir: dir, req: qkvtree.Request{Space: "bench", Model: model, Placement: pl, Form: percached.Q4}}
	for i, s := range slices {
		n := qkvtree.Node{Tokens: s.Tokens}
		if i > 0 {
			n.Chunk = percached.NewChunkID(s.Path.String())
		}
		d.req.Segments = append(d.req.Segments, n)
	}
	key := make([]byte, 32)
	crand.Read(key)
	if encrypted {
		d.lock = make([]byte, 32)
		crand.Read(d.lock)
	}
	if err := d.write(key, slices); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Disk) write(key []byte, slices []*percached.Slice) error {
	if err := d.open(key); err != nil {
		return err
	}
	if err := d.tree.Insert(d.req, slices); err != nil {
		return err
	}
	if err := errors.Join(d.tree.Close(), d.db.Close()); err != nil {
		return err
	}
	return d.open(key)
}

func (d *Disk) open(key []byte) (err error) {
	of := kv.Default()
	of.Key = d.lock
	if d.db, err = kv.Open(d.dir, of); err != nil {
		return err
	}
	o := qkvtree.Default()
	o.Key, o.Limit = key, math.MaxInt64
	d.tree, err = qkvtree.Open(d.db, o)
	return err
}

// View calls fn with the slices from disk.
func (d *Disk) View(fn func([]*percached.Slice) error) error {
	return d.tree.View(d.req, func(lent []*percached.Slice, _ qkvtree.Match) error {
		if slices.Contains(lent, nil) {
			return fault.New(fault.Internal, "percached: disk", "a stored slice is missing")
		}
		return fn(lent)
	})
}

func (d *Disk) Close() {
	if d.tree != nil {
		d.tree.Close()
	}
	if d.db != nil {
		d.db.Close()
	}
	os.RemoveAll(d.dir)
}
