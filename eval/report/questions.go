package report

import "github.com/percached/percached/api/client"

// Question is one question, asked of one system once.
type Question struct {
	System string `json:"system"`
	Named
	Place   int            `json:"place"` // among those of its user, from 1
	Outcome client.Outcome `json:"outcome,omitempty"`
	Origin  string         `json:"origin,omitempty"`
	Refused bool           `json:"refused,omitempty"`
	FirstMS float64        `json:"first_ms"`
	TotalMS float64        `json:"total_ms"`
	Chunks  client.Reuse   `json:"chunks"`
	Tokens  Tokens         `json:"tokens"`
	FLOPs   *float64       `json:"flops,omitempty"`

	Gold     *Scores `json:"gold,omitempty"`
	Uncached *Scores `json:"uncached,omitempty"`
	Same     *bool   `json:"same_text,omitempty"` // as the uncached answer
	Wrong    *bool   `json:"wrong,omitempty"`     // of served answers
	Recalled *bool   `json:"recalled,omitempty"`
	// Of tensor hits, with the paper's mechanism instead; estimated.
	PaperMS    *float64 `json:"paper_ms,omitempty"`
	PaperFLOPs *float64 `json:"paper_flops,omitempty"`
	PaperBytes *int64   `json:"paper_bytes,omitempty"`
	IdleTokens int      `json:"idle_tokens"` // behind it
}

// Scores are those of one answer.
type Scores struct {
	RougeL float64 `json:"rouge_l"`
	BLEU   float64 `json:"bleu"`
	Exact  float64 `json:"exact_match"`
	F1     float64 `json:"f1"`
}

func (s *scores) shown() *Scores {
	if s == nil {
		return nil
	}
	return &Scores{s.rougeL, s.bleu, s.exact, s.f1}
}

// questions are all of them, by system, user, repeat and place.
func (b *book) questions() []Question {
	shape, all := shapeOf(&b.run.Model), []Question{}
	for i := range b.run.Systems {
		name, place := b.run.Systems[i].Name, 0
		askings := b.askings[name]
		for j := range askings {
			a := &askings[j]
			if place++; j == 0 || a.key.user != askings[j-1].key.user || a.repeat != askings[j-1].repeat {
				place = 1
			}
			all = append(all, one(name, place, a, shape))
		}
	}
	return all
}

func one(system string, place int, a *asking, shape *shape) Question {
	r := a.answer
	q := Question{
		System: system, Named: a.named(r.Failure), Place: place, Outcome: r.Outcome, Origin: r.Origin, Refused: r.Refused,
		FirstMS: r.FirstMS, TotalMS: r.TotalMS, Chunks: r.Reuse,
		Tokens: Tokens{r.Tokens.Prompt, r.Tokens.Reused, r.Tokens.Computed, r.Tokens.Generated},
		Gold:   a.right.shown(), Uncached: a.same.shown(), Recalled: r.Recalled, IdleTokens: r.After.Computed + r.After.Generated,
	}
	if shape != nil && !a.failed() {
		q.FLOPs = new(shape.run(a).Total())
	}
	if a.cold != nil && !a.failed() {
		q.Same = new(r.Text == a.cold.Text)
	}
	if a.served() && a.same != nil {
		q.Wrong = new(a.wrong)
	}
	if p := a.paper; p != nil {
		q.PaperMS, q.PaperFLOPs, q.PaperBytes = new(p.ms), new(p.paper), new(p.bytesQKV)
	}
	return q
}
