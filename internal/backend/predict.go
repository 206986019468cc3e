package backend

import (
	"context"
	"encoding/hex"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/scheduler"
)

func wirePrediction(ids percached.PublicIDs, p predictor.Prediction, space string) api.Prediction {
	return api.Prediction{
		ID: hex.EncodeToString(p.ID[:]), Space: space, Question: p.Question, From: string(p.From), Chunks: ids.Chunks(p.Chunks),
		Made: p.Made, Populated: p.Populated, Hits: p.Hits, LastHit: p.LastHit,
	}
}

func wirePredictionStats(st predictor.Stats) api.PredictionStats {
	out := api.PredictionStats{
		Summaries: st.Parts, Empty: st.Empty, Unused: st.Waiting, Bytes: st.Bytes, Predictions: st.Predictions, FromHistory: st.FromHistory,
		Populated: st.Populated, Asked: st.Hit, Dropped: map[string]uint64{},
	}
	for why, n := range st.Dropped {
		out.Dropped[string(why)] = n
	}
	return out
}

// predictions lists the predictions of a space, the latest first.
func (b *Backend) predictions(_ context.Context, in api.InSpace) (api.Predictions, error) {
	space := in.Space
	out := api.Predictions{Predictions: []api.Prediction{}}
	ids, err := b.Knowledge.PublicIDs(space)
	if err != nil {
		return out, err
	}
	found, err := b.Predictor.Predictions(space)
	for _, p := range found {
		out.Predictions = append(out.Predictions, wirePrediction(ids, p, space))
	}
	if err != nil {
		return out, err
	}
	st, err := b.Predictor.Stats(space)
	out.Stats = wirePredictionStats(st)
	return out, err
}

// predict sums up, predicts and populates in one space, now.
func (b *Backend) predict(ctx context.Context, in api.InSpace) (api.Drained, error) {
	if _, err := b.Knowledge.Space(in.Space); err != nil {
		return api.Drained{}, err
	}
	only := func(space string, k scheduler.Kind) bool { return space == in.Space && k.Predicts() }
	sum, err := b.Scheduler.Drain(ctx, scheduler.DrainRequest{Only: only}, nil)
	return WireDrained(sum), err
}
