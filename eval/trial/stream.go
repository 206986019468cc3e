package trial

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// stream are a user's questions as they are asked: in the order of the data where
// it means something, else in one that the seed gives; the paraphrases follow.
func stream(set *eval.Set, p *eval.Plan) (asked []eval.Asked) {
	order := make([]int, len(set.Questions))
	for i := range order {
		order[i] = i
	}
	if !set.Ordered {
		h := fnv.New64a()
		h.Write([]byte(set.User))
		rand.New(rand.NewPCG(p.Seed, h.Sum64())).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
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
	if p.Questions > 0 {
		order = order[:min(len(order), p.Questions)]
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

// likeness compares each question to those before it.
func (u *unit) likeness(ctx context.Context) error {
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
				return fmt.Errorf("a vector: %w", err)
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
