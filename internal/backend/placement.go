package backend

import (
	"context"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/models"
)

// listPlacements says for each kind of documents in which placement chunks are read, and
// why. Spaces that chose their own are left out: they know.
func (b *Backend) listPlacements() ([]api.StatusPlacement, error) {
	out := []api.StatusPlacement{}
	if b.Engine == nil {
		return out, nil
	}
	spaces, err := b.Knowledge.Spaces()
	seen := map[calibrate.Subject]bool{}
	for _, sp := range spaces {
		if sp.Settings.Placement != nil || sp.Settings.Whole != nil && *sp.Settings.Whole {
			continue
		}
		set, err := b.Asker.Settings(sp.Name)
		if err != nil { // it went meanwhile, or its own prompt cannot be read
			continue
		}
		if of := idle.Subject(b.Engine.Info(), sp.Kind, set); !seen[of] {
			seen[of] = true
			out = append(out, b.wirePlacement(of, set))
		}
	}
	return out, err
}

func (b *Backend) wirePlacement(of calibrate.Subject, set answer.Settings) api.StatusPlacement {
	out := api.StatusPlacement{Kind: of.Kind, Placement: set.Placement}
	info := b.Engine.Info()
	rec := b.Placements.Get(of)
	_, measured := models.Placement(info)
	_, decided := rec.Placement()
	switch {
	case info.NoSlices != "":
		out.From, out.Why = "model", "tensors of this model are not reused: "+info.NoSlices
	case info.NoParallel != "" && set.Placement == percached.Sequential:
		out.From, out.Why = "model", info.NoParallel
	case b.BuiltInModel:
		out.From, out.Why = "model", "the built-in model was trained on chunks side by side"
	case set.Fixed:
		out.From, out.Why = "configuration", "the configuration says so"
	case decided:
		out.From, out.Why = "measured", rec.Why()
	case measured:
		out.From, out.Why = "family", "models of this family were measured with percached's prompt: docs/measurements.md"
	default:
		out.From, out.Why = "default", "models are trained on texts that stand one after the other"
	}
	if len(rec.Trials) > 0 || rec.Lacking > 0 {
		out.Questions = len(rec.Trials)
		out.F1Sequential, out.F1Parallel = rec.Means()
		out.Decided = rec.Decided
		if !decided {
			out.Why += "; " + rec.Why()
		}
	}
	return out
}

// forgetPlacements forgets what was measured: it is measured anew.
func (b *Backend) forgetPlacements(context.Context, api.Nothing) (api.Nothing, error) {
	for _, rec := range b.Placements.All() {
		if err := b.Placements.Restart(rec.Subject); err != nil {
			return api.Nothing{}, err
		}
	}
	spaces, err := b.Knowledge.Spaces()
	for _, sp := range spaces {
		b.Scheduler.Changed(sp.Name)
	}
	return api.Nothing{}, err
}
