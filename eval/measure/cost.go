package measure

import (
	"math"
)

// Shape is what the cost of a model depends on.
type Shape struct {
	Layers      int `json:"layers"`
	Width       int `json:"width"`
	Heads       int `json:"heads"`
	HeadsKV     int `json:"heads_kv"`
	HeadSize    int `json:"head_size"`
	FeedForward int `json:"feed_forward"`
	Vocabulary  int `json:"vocabulary"`
}

// FLOPs are floating-point operations by part of the model. A multiplication and an
// addition are two. Operations that grow only with the width of a token (norms, rotation,
// softmax) are left out.
type FLOPs struct {
	Projections float64 `json:"projections"` // to Q, K and V, and of the attention's output
	QKV         float64 `json:"qkv"`         // the part of Projections that makes Q, K and V
	Attention   float64 `json:"attention"`   // scores, and the weighted sum of values
	FeedForward float64 `json:"feed_forward"`
	Head        float64 `json:"head"` // from the last layer to the vocabulary
}

// Total is the sum of all parts. Projections include QKV.
func (f FLOPs) Total() float64 { return f.Projections + f.Attention + f.FeedForward + f.Head }

// Add is the sum of two.
func (f FLOPs) Add(g FLOPs) FLOPs {
	return FLOPs{
		Projections: f.Projections + g.Projections, QKV: f.QKV + g.QKV,
		Attention: f.Attention + g.Attention, FeedForward: f.FeedForward + g.FeedForward, Head: f.Head + g.Head,
	}
}

// Run is the cost of passing the computed prompt tokens and the generated tokens through
// all layers, with a gated feed-forward (three matrices). Attended is the sum of the
// tokens that each of them attends to, itself included. The head runs once for each
// generated token.
func (s Shape) Run(computed, generated int, attended int64) FLOPs {
	passes := float64(s.Layers) * float64(computed+generated)
	width, heads := float64(s.Width), float64(s.Heads*s.HeadSize)
	qkv := 2 * passes * width * float64(s.values(3))
	return FLOPs{
		Projections: qkv + 2*passes*heads*width,
		QKV:         qkv,
		Attention:   float64(s.Layers) * 4 * heads * float64(attended),
		FeedForward: 3 * 2 * passes * width * float64(s.FeedForward),
		Head:        2 * width * float64(s.Vocabulary) * float64(generated),
	}
}

// Cold is the cost of a run without stored tensors: each token attends to all before it.
func (s Shape) Cold(prompt, generated int) FLOPs {
	n := int64(prompt) + int64(generated)
	return s.Run(prompt, generated, n*(n+1)/2)
}

// ShareQKV is the share of the projections to Q, K and V, without the head.
func (f FLOPs) ShareQKV() float64 {
	all := f.Total() - f.Head
	if all == 0 {
		return 0
	}
	return f.QKV / all
}

// SliceBytes are the bytes of the tensors of some tokens. Planes is 2 for K and V, and 3
// for Q, K and V.
func (s Shape) SliceBytes(tokens, planes int, bytesPerValue float64) int64 {
	return int64(math.Round(float64(s.Layers) * float64(tokens) * float64(s.values(planes)) * bytesPerValue))
}

// values is the count of numbers that the planes hold per token and layer. Q is as wide as
// all heads.
func (s Shape) values(planes int) int {
	n := min(planes, 2) * s.HeadsKV
	if planes > 2 {
		n += s.Heads
	}
	return n * s.HeadSize
}

// PaperLatency is the time of a prefill with the paper's reuse. Reuse saves the share of
// the projections to Q, K and V for reused tokens, and adds the loading of their tensors.
func PaperLatency(coldPrefillMS, loadMS, share float64, reused, prompt int) float64 {
	if prompt <= 0 {
		return coldPrefillMS + loadMS
	}
	return coldPrefillMS*(1-share*float64(min(reused, prompt))/float64(prompt)) + loadMS
}

// Stages are the stages of a question's path in their order, as percached reports them.
// Its first_token and total include several of them.
func Stages() []string {
	return []string{"match_question", "retrieve", "match_tensors", "queue", "load_tensors", "prefill", "decode", "capture", "store"}
}

const (
	// Between is the time in percached outside of all stages.
	Between = "between"
	// Outside is what the client waited beyond percached's total.
	Outside = "outside"
)

// Rest adds Between and Outside to stages, in milliseconds. All together add up to the
// time that the client waited. Both are unknown without a total.
func Rest(stages map[string]float64, client float64) {
	total, ok := stages["total"]
	if !ok {
		return
	}
	between := total
	for _, name := range Stages() {
		between -= stages[name]
	}
	const noise = 1e-6 // rounding errors of decimals
	if between < noise {
		between = 0
	}
	stages[Between], stages[Outside] = between, max(0, client-total)
}
