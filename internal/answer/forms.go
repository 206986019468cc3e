package answer

import (
	"context"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// packer makes slices smaller.
type packer interface {
	Pack(s *percached.Slice, to percached.Form) (*percached.Slice, error)
}

// FormLoss is how an answer from packed tensors differs from the exact one.
type FormLoss struct {
	Same bool // the two are equal to the letter
	// Nats is by how much the model's prediction of the next token is worse, on average
	// behind the prompt and behind half of the exact answer.
	Nats float64
}

// CompareForms answers a question over chunks from exact tensors, and from the chunks'
// tensors in each packed form. It stores nothing, and gives way like Work. It is
// Unsupported if the model's tensors cannot be packed.
func (a *Asker) CompareForms(ctx context.Context, w Work, chunks ...percached.ChunkID) (Answer, map[percached.Form]FormLoss, error) {
	const op = "answer.CompareForms"
	p, ok := a.Engine.(packer)
	if !ok {
		return Answer{}, nil, fault.New(fault.Unsupported, op, "this engine does not pack slices")
	}
	ctx, f, err := a.beginWork(ctx)
	if err != nil {
		return Answer{}, nil, fault.Wrap(op, err)
	}
	defer a.endWork(f)
	r, found, err := a.fillRequest(w.Space, chunks)
	if err != nil {
		return Answer{}, nil, fault.Wrap(op, err)
	}
	r.Question.Text = w.Question
	plan, err := planPrompt(a.Engine, r.Question, r.settings, r.priority(), found.chunks)
	if err != nil {
		return Answer{}, nil, fault.Wrap(op, err)
	}
	c := formComparison{engine: a.Engine, packer: p, prompt: plan.prompt, before: plan.before(), nodes: len(plan.nodes)}
	c.prompt.Logits, c.prompt.MaxTokens = true, w.MaxTokens
	trial, err := c.run(ctx)
	return Answer{Tokens: c.tokens}, trial, fault.Wrap(op, interruption(ctx, err))
}

// formComparison answers one prompt several times.
type formComparison struct {
	engine engine
	packer packer
	prompt percached.Prompt
	before int // of the nodes are not chunks
	nodes  int // segments with slices
	tokens Tokens
}

func (c *formComparison) run(ctx context.Context) (map[percached.Form]FormLoss, error) {
	exact, err := c.answer(ctx, c.prompt, nil)
	if err != nil {
		return nil, err
	}
	slice := exact.Slices[:c.nodes]
	if slices.Contains(slice[c.before:], nil) {
		return nil, fault.New(fault.Invalid, "answer.CompareForms", "a chunk has no slice")
	}
	// The answer's second half begins behind what the model itself wrote.
	halfway := c.prompt
	halfway.Segments = slices.Clone(c.prompt.Segments)
	last := &halfway.Segments[len(halfway.Segments)-1]
	tokens, err := c.engine.Tokenize([]percached.Segment{
		{Kind: percached.KindSystem, Tokens: []int32{}},
		{Kind: percached.KindQuestion, Texts: []percached.Text{{Text: exact.Text[:len(exact.Text)/2]}}},
	})
	if err != nil {
		return nil, err
	}
	last.Tokens = append(slices.Clone(last.Tokens), tokens[1]...)
	further, err := c.prefill(ctx, halfway, slice)
	if err != nil {
		return nil, err
	}
	trial := map[percached.Form]FormLoss{}
	for _, form := range percached.Forms()[1:] {
		packed := slices.Clone(slice)
		for i := c.before; i < c.nodes; i++ {
			if packed[i], err = c.packer.Pack(slice[i], form); err != nil {
				return nil, err
			}
		}
		r, err := c.answer(ctx, c.prompt, packed)
		if err != nil {
			return nil, err
		}
		h, err := c.prefill(ctx, halfway, packed)
		if err != nil {
			return nil, err
		}
		trial[form] = FormLoss{
			Same: r.Text == exact.Text,
			Nats: (percached.Divergence(exact.Logits, r.Logits) + percached.Divergence(further.Logits, h.Logits)) / 2,
		}
	}
	return trial, nil
}

// answer runs a prompt with slices, or captures them.
func (c *formComparison) answer(ctx context.Context, p percached.Prompt, with []*percached.Slice) (percached.Result, error) {
	res, err := c.engine.Generate(ctx, c.with(p, with), nil)
	c.count(res.Usage)
	return res, err
}

func (c *formComparison) prefill(ctx context.Context, p percached.Prompt, with []*percached.Slice) (percached.Result, error) {
	res, err := c.engine.Prefill(ctx, c.with(p, with))
	c.count(res.Usage)
	return res, err
}

func (c *formComparison) with(p percached.Prompt, with []*percached.Slice) percached.Prompt {
	p.Segments = slices.Clone(p.Segments)
	for i := range c.nodes {
		if with != nil {
			p.Segments[i].Slice = with[i]
		}
		p.Segments[i].Capture = with == nil
	}
	return p
}

func (c *formComparison) count(u percached.Usage) {
	c.tokens.Prompt += u.Prompt
	c.tokens.Reused += u.Reused
	c.tokens.Computed += u.Computed
	c.tokens.Generated += u.Generated
}
