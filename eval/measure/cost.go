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

// FLOPs are floating-point operations by the part of the model that takes them: a
// multiplication and an addition are two. What grows with the width of a token alone
// (norms, rotation, softmax) is left out.
type FLOPs struct {
	Projections float64 `json:"projections"` // to Q, K and V, and of attention's output
	QKV         float64 `json:"qkv"`         // those of Projections to Q, K and V
	Attention   float64 `json:"attention"`   // scores, and the sum of values
	FeedForward float64 `json:"feed_forward"`
	Head        float64 `json:"head"` // from the last layer to the vocabulary
}

// Total is all of them. QKV is within Projections.
func (f FLOPs) Total() float64 { return f.Projections + f.Attention + f.FeedForward + f.Head }

// Add is the sum of two.
func (f FLOPs) Add(g FLOPs) FLOPs {
	return FLOPs{
		Projections: f.Projections + g.Projections, QKV: f.QKV + g.QKV,
		Attention: f.Attention + g.Attention, FeedForward: f.FeedForward + g.FeedForward, Head: f.Head + g.Head,
	}
}

// Run is what a run costs in which so many tokens of the prompt and so many
// generated ones pass all layers, with a gated feed-forward (three matrices).
// attended adds up how many tokens each of them sees, itself among them. The head is
// asked once for each generated token.
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

// Cold is what a run costs of which nothing is stored: each token sees all before it.
func (s Shape) Cold(prompt, generated int) FLOPs {
	n := int64(prompt) + int64(generated)
	return s.Run(prompt, generated, n*(n+1)/2)
}

// ShareQKV is the share of the projections to Q, K and V, the head left out.
func (f FLOPs) ShareQKV() float64 {
	all := f.Total() - f.Head
	if all == 0 {
		return 0
	}
	return f.QKV / all
}

// SliceBytes are the bytes of the tensors of so many tokens: planes is 2 for K and
// V, 3 for Q, K and V.
func (s Shape) SliceBytes(tokens, planes int, bytesPerValue float64) int64 {
	return int64(math.Round(float64(s.Layers) * float64(tokens) * float64(s.values(planes)) * bytesPerValue))
}

// values is how many numbers so many planes hold of a token in a layer. Q is as wide
// as all heads are.
func (s Shape) values(planes int) int {
	n := min(planes, 2) * s.HeadsKV
	if planes > 2 {
		n += s.Heads
	}
	return n * s.HeadSize
}

// PaperLatency is what a prefill would take with the paper's reuse: of the time that
// it takes cold, the share of the projections to Q, K and V is saved for reused
// tokens, and loading their tensors is added.
func PaperLatency(coldPrefillMS, loadMS, share float64, reused, prompt int) float64 {
	if prompt <= 0 {
		return coldPrefillMS + loadMS
	}
	return coldPrefillMS*(1-share*float64(min(reused, prompt))/float64(prompt)) + loadMS
}

// Stages are those of a question's path that follow on each other, as percached tells
// their times. Its first_token and total hold several of them.
func Stages() []string {
	return []string{"match_question", "retrieve", "match_tensors", "queue", "load_tensors", "prefill", "decode", "capture", "store"}
}

const (
	// Between is what percached took of a question that is of no stage.
	Between = "between"
	// Outside is what the client waited beyond percached's total.
	Outside = "outside"
)

// Rest adds to stages, in milliseconds, what is between and outside of them, so that
// with those they come to what the client waited. Without a total neither is known.
func Rest(stages map[string]float64, client float64) {
	total, ok := stages["total"]
	if !ok {
		return
	}
	between := total
	for _, name := range Stages() {
		between -= stages[name]
	}
	const noise = 1e-6 // that sums of decimals leave
	if between < noise {
		between = 0
	}
	stages[Between], stages[Outside] = between, max(0, client-total)
}
