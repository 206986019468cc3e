package main

import (
	"context"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/models"
)

// placement is the one that was found to serve the model over documents of a kind.
func (s *service) placement(kind string, set answer.Settings) (percached.Placement, bool) {
	if s.engine == nil {
		return percached.Sequential, false
	}
	rec := s.placements.Get(idle.Subject(s.engine.Info(), kind, set))
	return rec.Placement()
}

// listPlacements says for each kind of documents in which placement chunks are read, and
// why. Spaces that chose their own are left out: they know.
func (s *service) listPlacements() ([]api.StatusPlacement, error) {
	out := []api.StatusPlacement{}
	if s.engine == nil {
		return out, nil
	}
	spaces, err := s.knowledge.Spaces()
	seen := map[calibrate.Subject]bool{}
	for _, sp := range spaces {
		if sp.Settings.Placement != nil || sp.Settings.Whole != nil && *sp.Settings.Whole {
			continue
		}
		set, err := s.asker.Settings(sp.Name)
		if err != nil { // it went meanwhile, or its own prompt cannot be read
			continue
		}
		if of := idle.Subject(s.engine.Info(), sp.Kind, set); !seen[of] {
			seen[of] = true
			out = append(out, s.wirePlacement(of, set))
		}
	}
	return out, err
}

func (s *service) wirePlacement(of calibrate.Subject, set answer.Settings) api.StatusPlacement {
	out := api.StatusPlacement{Kind: of.Kind, Placement: set.Placement}
	info := s.engine.Info()
	rec := s.placements.Get(of)
	_, measured := models.Placement(info)
	_, decided := rec.Placement()
	switch {
	case info.NoSlices != "":
		out.From, out.Why = "model", "tensors of this model are not reused: "+info.NoSlices
	case info.NoParallel != "" && set.Placement == percached.Sequential:
		out.From, out.Why = "model", info.NoParallel
	case s.builtIn:
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
func (f *face) forgetPlacements(context.Context, api.Nothing) (api.Nothing, error) {
	for _, rec := range f.service.placements.All() {
		if err := f.service.placements.Restart(rec.Subject); err != nil {
			return api.Nothing{}, err
		}
	}
	spaces, err := f.service.knowledge.Spaces()
	for _, sp := range spaces {
		f.service.scheduler.Changed(sp.Name)
	}
	return api.Nothing{}, err
}
