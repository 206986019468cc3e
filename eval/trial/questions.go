package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// answer asks a system a question and records everything about the answer.
func (u *unit) answer(ctx context.Context, s *system, q eval.Asked) (eval.Answer, error) {
	written := s.written
	a, failure, err := u.askOnce(ctx, s.space, q.Text)
	if err != nil {
		return eval.Answer{}, err
	}
	if err := u.observe(ctx, s); err != nil {
		return eval.Answer{}, err
	}
	if failure != "" {
		return eval.Answer{Failure: failure, Written: s.written - written, TensorBytes: s.bytes}, nil
	}
	out := eval.Answer{
		Text: a.Answer.Answer, Outcome: a.Outcome, Refused: a.Refused, FirstMS: a.first, TotalMS: a.total, Stages: a.Times,
		Reuse: a.Chunks, Tokens: a.Tokens, Drafts: a.Drafts, Written: s.written - written, TensorBytes: s.bytes,
	}
	if a.Gate.Similarity != nil {
		out.Similarity = *a.Gate.Similarity
	}
	answerChunks := s.answerChunks[q.Number]
	if answerChunks != nil {
		out.Recalled = new(false)
	}
	for _, c := range a.Citations {
		out.Chunks = append(out.Chunks, c.Chunk)
		if answerChunks[c.Chunk] {
			*out.Recalled = true
		}
	}
	switch {
	case a.Outcome == client.OutcomeAnswerHit:
		out.Origin, err = u.origin(ctx, s, a.Gate)
	case s.Forgets && a.Entry != nil:
		_, err = call[ignored](u.api.DeleteEntry(ctx, s.space, *a.Entry))
	}
	return out, err
}

// origin is the origin of the served entry.
func (u *unit) origin(ctx context.Context, s *system, g client.Gate) (string, error) {
	for _, c := range g.Considered {
		if c.Served {
			e, err := call[client.Entry](u.api.GetEntry(ctx, s.space, c.Entry))
			return string(e.Origin), err
		}
	}
	return "", nil
}

// timedAnswer is an answer with its times.
type timedAnswer struct {
	client.Answer
	first, total float64 // milliseconds
}

// askOnce asks a question and reads the answer as a stream. A failure is what percached
// reports; an error means that percached is gone.
func (u *unit) askOnce(ctx context.Context, space, question string) (h timedAnswer, failure string, err error) {
	began := time.Now()
	since := func() float64 { return float64(time.Since(began)) / float64(time.Millisecond) }
	resp, err := u.api.Ask(ctx, space, client.Question{Question: question}, client.AsEvents)
	if err != nil {
		return h, "", err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	if resp.StatusCode != http.StatusOK {
		got, err := client.ParseAskResponse(resp)
		if err != nil {
			return h, "", err
		}
		if err := client.Failed(resp.StatusCode, got.Body); err != nil {
			return h, err.Error(), nil
		}
		return h, fmt.Sprintf("status %d without an answer", resp.StatusCode), nil
	}
	done := false
	for m, err := range client.Messages(resp.Body) {
		if err != nil {
			return h, "the answer was interrupted: " + err.Error(), ctx.Err()
		}
		switch m.Event {
		case "token":
			if h.first == 0 {
				h.first = since()
			}
		case "error":
			p := &client.ProblemError{}
			if err := json.Unmarshal(m.Data, &p.Problem); err != nil {
				return h, "", fmt.Errorf("cannot decode the error event: %w", err)
			}
			return h, p.Error(), nil
		case "done":
			h.total = since()
			if h.first == 0 { // the answer is empty
				h.first = h.total
			}
			if err := json.Unmarshal(m.Data, &h.Answer); err != nil {
				return h, "", fmt.Errorf("cannot decode the answer: %w", err)
			}
			done = true
		}
	}
	if !done {
		return h, "the answer ended too early", ctx.Err()
	}
	return h, "", nil
}

// questionOrder is the order in which a user's questions are asked: the order of time if
// the data has one, else one from the seed. Paraphrases follow. If only some are asked, they
// are from all the time.
func questionOrder(set *eval.Set, p *eval.Plan) (asked []eval.Asked) {
	order := make([]int, len(set.Questions))
	for i := range order {
		order[i] = i
	}
	if !set.Ordered {
		rand.New(rand.NewPCG(p.Seed, hash(set.User))).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	if p.Distinct {
		asked := map[string]bool{}
		order = slices.DeleteFunc(order, func(i int) bool {
			words := strings.ToLower(strings.Join(strings.Fields(set.Questions[i].Text), " "))
			again := asked[words]
			asked[words] = true
			return again
		})
	}
	if all := len(order); p.Questions > 0 && p.Questions < all {
		if set.Ordered {
			for i := range p.Questions {
				order[i] = order[i*all/p.Questions]
			}
		}
		order = order[:p.Questions]
	}
	for _, i := range order {
		q := set.Questions[i]
		asked = append(asked, eval.Asked{Number: q.Number, Text: q.Text, Gold: q.Gold})
	}
	if !p.Paraphrases {
		return asked
	}
	for _, i := range order {
		q := set.Questions[i]
		for n, text := range q.Paraphrases {
			asked = append(asked, eval.Asked{Number: q.Number, Paraphrase: n + 1, Text: text, Gold: q.Gold})
		}
	}
	return asked
}

// hash makes a seed of a user's name.
func hash(user string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(user))
	return h.Sum64()
}

// measureSimilarity compares each question with those before it.
func (u *unit) measureSimilarity(ctx context.Context) error {
	const most = 256 // texts in a request
	var vectors [][]float32
	for from := 0; from < len(u.Asked); from += most {
		var texts []string
		for _, q := range u.Asked[from:min(from+most, len(u.Asked))] {
			texts = append(texts, q.Text)
		}
		var ask client.EmbeddingRequest
		if err := ask.Input.FromEmbeddingTexts(texts); err != nil {
			return err
		}
		got, err := call[client.EmbeddingList](u.api.CreateEmbedding(ctx, ask))
		if err != nil {
			return err
		}
		for _, e := range got.Data {
			v, err := e.Embedding.AsVectorNumbers()
			if err != nil {
				return fmt.Errorf("cannot decode a vector: %w", err)
			}
			vectors = append(vectors, v)
		}
	}
	u.Likeness = make([][]float64, len(vectors))
	for i := range vectors {
		u.Likeness[i] = []float64{}
		for j := range i {
			u.Likeness[i] = append(u.Likeness[i], math.Round(cosine(vectors[i], vectors[j])*1e4)/1e4)
		}
	}
	return nil
}

func cosine(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return dot / math.Sqrt(aa*bb)
}
