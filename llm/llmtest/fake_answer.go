package llmtest

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached"
)

// The words that answers are made of when no Script gives one.
var words = strings.Fields(`the a of and to in is was for on that with as by it this from at are be
	mail note meeting Monday Tuesday train ticket budget report draft garden dinner doctor school
	red green late early soon never always seven twelve forty 2026 9:30 café naïve Zürich größer
	東京 会議 привет отчёт 🙂 🚆 ½ € done open paid lost found sent`)

const worst = -10 // the score of what is never said

// scores of the words behind s, between 0 and 8.
func scores(s state) []float32 {
	out := make([]float32, len(words))
	for i := range out {
		out[i] = float32(mix(uint64(s), uint64(i))>>40) / (1 << 21)
	}
	return out
}

func logits(s state) []float32 {
	out := make([]float32, vocabulary)
	for i := range out {
		out[i] = worst - float32(mix(uint64(s), uint64(i)+1<<32)>>40)/(1<<24)
	}
	for i, score := range scores(s) {
		out[wordToken(" "+words[i])] = score
	}
	return out
}

// pick chooses the n-th word of an answer.
func pick(s state, how percached.Sampling, n int) int {
	sc := scores(s)
	order := make([]int, len(sc))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(sc[b], sc[a]) })
	if how.Temperature == 0 {
		return order[0]
	}
	if how.TopK > 0 {
		order = order[:min(how.TopK, len(order))]
	}
	weights, sum := make([]float64, len(order)), 0.0
	for i, w := range order {
		weights[i] = math.Exp(float64(sc[w]-sc[order[0]]) / float64(how.Temperature))
		sum += weights[i]
	}
	if how.TopP > 0 {
		kept := 0.0
		for i, w := range weights {
			if kept += w; kept >= float64(how.TopP)*sum {
				weights, sum = weights[:i+1], kept
				break
			}
		}
	}
	at := float64(mix(how.Seed, uint64(n))>>11) / (1 << 53) * sum
	for i, w := range weights {
		if at -= w; at < 0 {
			return order[i]
		}
	}
	return order[len(weights)-1]
}

// script is the answer's pieces, if the Script knows the question.
func (r *run) script() ([]string, bool) {
	if r.opts.Script == nil {
		return r.obedient(), r.plan.grammar != nil
	}
	var question strings.Builder
	for _, t := range r.prompt.Segments[len(r.prompt.Segments)-1].Texts {
		if !t.Special {
			question.WriteString(t.Text)
		}
	}
	text, ok := r.opts.Script(r.prompt, question.String())
	var pieces []string
	if r.plan.grammar != nil {
		if m := r.plan.grammar.Matcher(); !ok || !m.Accept([]byte(text)) || !m.MayEnd() {
			return r.obedient(), true
		}
	}
	for text = strings.ToValidUTF8(text, "\uFFFD"); text != ""; {
		n := max(word(text), 1)
		for !utf8.ValidString(text[:n]) {
			n++
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces, ok
}

// obedient is an answer of the grammar: at each place the first of a list of characters
// that is allowed, those first that bring a text to its end.
func (r *run) obedient() []string {
	if r.plan.grammar == nil {
		return nil
	}
	m := r.plan.grammar.Matcher()
	var pieces []string
	for len(pieces) <= r.prompt.MaxTokens && !m.MustEnd() {
		at := slices.IndexFunc(obedience, func(c string) bool { return m.Accept([]byte(c)) })
		if at < 0 {
			break
		}
		pieces = append(pieces, obedience[at])
	}
	return pieces
}

var obedience = strings.Split("\"}],:0aeinorstlchdumpbgfvkwyxqzjAEINORSTLCHDUMPBGFVKWYXQZJ123456789.-_[{() éß東\n", "")

func (r *run) answer(ctx context.Context, s state, position int) error {
	out := stream{run: r}
	script, scripted := r.script()
	length := 12 + int(mix(uint64(s), 1<<40)%20)
	r.res.Finish = percached.FinishEnd
	chose := r.opts.Clock.Now()
	for n := 0; ; n++ {
		if scripted && n == len(script) || !scripted && n == length {
			break
		}
		if n == r.prompt.MaxTokens {
			r.res.Finish = percached.FinishLength
			break
		}
		if err := r.step(ctx, OpDecode, 0, 1); err != nil {
			return err
		}
		var piece string
		if scripted {
			piece = script[n]
		} else {
			piece = " " + words[pick(s, r.prompt.Sampling, n)]
		}
		s, _, _ = compute(s, position+n, wordToken(piece), nil, nil, r.opts.BytesPerToken)
		r.opts.Clock.Sleep(r.opts.Costs.Decode)
		if n == 0 {
			chose = r.opts.Clock.Now()
			r.res.Times.FirstToken = chose.Sub(r.began)
		}
		r.res.Usage.Generated++
		if err := out.push(ctx, piece); err != nil {
			return err
		}
		if out.stopped {
			r.res.Finish = percached.FinishStop
			break
		}
	}
	err := out.flush(ctx)
	r.res.Times.Decode = r.opts.Clock.Now().Sub(chose)
	return err
}

// stream holds back what may be the beginning of a stop string.
type stream struct {
	run     *run
	held    string
	stopped bool
}

func (o *stream) push(ctx context.Context, piece string) error {
	o.held += piece
	at := -1
	for _, stop := range o.run.prompt.Stop {
		if i := strings.Index(o.held, stop); i >= 0 && (at < 0 || i < at) {
			at = i
		}
	}
	if at >= 0 {
		o.held, o.stopped = o.held[:at], true
		return nil
	}
	safe := len(o.held)
	for i := range o.held {
		if slices.ContainsFunc(o.run.prompt.Stop, func(s string) bool { return strings.HasPrefix(s, o.held[i:]) }) {
			safe = i
			break
		}
	}
	return o.send(ctx, safe)
}

func (o *stream) flush(ctx context.Context) error { return o.send(ctx, len(o.held)) }

func (o *stream) send(ctx context.Context, n int) error {
	piece := o.held[:n]
	o.held = o.held[n:]
	if piece == "" {
		return nil
	}
	o.run.res.Text += piece
	if o.run.emit == nil {
		return nil
	}
	if err := o.run.emit(piece); err != nil {
		return err
	}
	return ctx.Err()
}
