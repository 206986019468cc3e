package main

import (
	"context"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
)

// serviceLine counts how one service answered.
type serviceLine struct {
	Name string      `json:"name"`
	Work api.Drained `json:"work"`

	Asked      int `json:"asked"`
	AnswerHits int `json:"answer_hits"`
	// OfPredictions counts hits on entries that were only predicted.
	OfPredictions int `json:"answer_hits_of_predictions"`
	VerifiedHits  int `json:"verified_hits"`
	TensorHits    int `json:"tensor_hits"`
	Misses        int `json:"misses"`
	Refused       int `json:"refused"`
	Chunks        int `json:"chunks"`        // of all prompts
	Stored        int `json:"stored_chunks"` // of them
	Prompt        int `json:"prompt_tokens"`
	Reused        int `json:"reused_tokens"`
	// EqualComputed and EqualServed count the computed and served answers that equal those
	// of the cold service.
	EqualComputed int     `json:"equal_computed"`
	EqualServed   int     `json:"equal_served"`
	MedianMs      float64 `json:"median_ms"`
	MeanMs        float64 `json:"mean_ms"`
	// Against the reactive service, question by question.
	MoreAnswers int `json:"more_answer_hits"`
	MoreTensors int `json:"more_tensor_hits"`   // where that one had a miss
	MoreChunks  int `json:"more_stored_chunks"` // where both computed
}

// ask asks every question of every service. The services take turns at being first.
func (b *predictionBench) ask(ctx context.Context, questions []realQuestion) error {
	shown := time.Now()
	for i, real := range questions {
		if err := b.arrive(ctx, real.Document); err != nil {
			return err
		}
		for j := range b.services {
			a := b.services[(i+j)%len(b.services)]
			q := answer.Question{Space: predictSpace, Text: real.Question}
			if a.name == coldService {
				no := false
				q.Settings = percached.Settings{Bank: &no, Tensors: &no}
			}
			got, err := a.Asker.Ask(ctx, q, answer.Listener{})
			if err != nil {
				return err
			}
			origin := ""
			if got.Outcome == answer.AnswerHit {
				e, err := a.Bank.Get(predictSpace, got.Entry)
				if err != nil {
					return err
				}
				origin = e.Origin
			}
			a.got, a.origins = append(a.got, got), append(a.origins, origin)
		}
		if b.between || b.inOrder {
			if err := b.rest(ctx); err != nil {
				return err
			}
		}
		if now := time.Now(); now.Sub(shown) > 5*time.Second {
			shown = now
			cmdline.Say(b.stderr, "%d of %d questions", i+1, len(questions))
		}
	}
	b.conclude()
	return nil
}

// rest runs the idle work that is due.
func (b *predictionBench) rest(ctx context.Context) error {
	for _, a := range b.services {
		if a.work != nil {
			if err := a.drain(ctx, b.stderr); err != nil {
				return err
			}
		}
	}
	return nil
}

// conclude counts the answers of the services.
func (b *predictionBench) conclude() {
	cold, reactive := b.services[0].got, b.services[1].got
	for _, a := range b.services {
		var took []float64
		for i, got := range a.got {
			a.line.count(got, cold[i], reactive[i], a.origins[i])
			took = append(took, ms(got.Times.Total))
		}
		a.line.MedianMs, a.line.MeanMs = median(took), mean(took)
		b.report.Services = append(b.report.Services, a.line)
	}
}

func (l *serviceLine) count(a, cold, reactive answer.Answer, origin string) {
	l.Asked++
	l.Prompt += a.Tokens.Prompt
	l.Reused += a.Tokens.Reused
	l.Chunks += a.Chunks.All
	l.Stored += a.Chunks.Stored
	count(&l.Refused, a.Refused)
	same := a.Text == cold.Text
	switch a.Outcome {
	case answer.AnswerHit:
		l.AnswerHits++
		count(&l.OfPredictions, origin != answer.Asked)
		count(&l.MoreAnswers, reactive.Outcome != answer.AnswerHit)
		count(&l.EqualServed, same)
		return
	case answer.VerifiedHit:
		l.VerifiedHits++
	case answer.TensorHit:
		l.TensorHits++
		count(&l.MoreTensors, reactive.Outcome == answer.Miss)
	default:
		l.Misses++
	}
	if reactive.Outcome != answer.AnswerHit {
		l.MoreChunks += a.Chunks.Stored - reactive.Chunks.Stored
	}
	count(&l.EqualComputed, same)
}

func mean(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x
	}
	return ratio(sum, float64(len(xs)))
}

func serviceHead(p *cmdline.Printer) {
	p.Line("%-10s %6s %7s %7s %8s %7s %7s %8s %8s %9s %9s %9s %9s | %7s %7s %7s", "service", "asked", "answer", "of pred", "verified", "tensor", "miss",
		"chunks", "tokens", "eq.comp", "eq.served", "median ms", "mean ms", "+answer", "+tensor", "+chunks")
}

func (l *serviceLine) row(p *cmdline.Printer) {
	share := func(a, b int) float64 { return 100 * ratio(float64(a), float64(b)) }
	p.Line("%-10s %6d %7d %7d %8d %7d %7d %7.1f%% %7.1f%% %4d/%-4d %4d/%-4d %9.2f %9.2f | %7d %7d %7d", l.Name, l.Asked, l.AnswerHits, l.OfPredictions, l.VerifiedHits, l.TensorHits, l.Misses,
		share(l.Stored, l.Chunks), share(l.Reused, l.Prompt), l.EqualComputed, l.VerifiedHits+l.TensorHits+l.Misses, l.EqualServed, l.AnswerHits, l.MedianMs, l.MeanMs,
		l.MoreAnswers, l.MoreTensors, l.MoreChunks)
}
