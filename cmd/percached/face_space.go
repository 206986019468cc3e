package main

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// spaces lists all spaces by name.
func (s *service) spaces() (api.Spaces, error) {
	found, err := s.knowledge.Spaces()
	out := api.Spaces{Spaces: []api.Space{}}
	for _, sp := range found {
		one, err := s.aboutSpace(sp)
		if fault.KindOf(err) == fault.NotFound { // it went meanwhile
			continue
		}
		if err != nil {
			return out, err
		}
		out.Spaces = append(out.Spaces, one)
	}
	return out, err
}

func (s *service) aboutSpace(sp percached.Space) (api.Space, error) {
	st, err := s.knowledge.Stats(sp.Name)
	if err != nil {
		return api.Space{}, err
	}
	out := api.Space{Name: sp.Name, Kind: sp.Kind, Documents: st.Documents, Chunks: st.Chunks, Settings: api.Settings{Settings: sp.Settings}}
	if out.Settings.Prompts, err = s.prompts(sp.Name).read(); err != nil {
		return out, err
	}
	out.Effective, err = s.effective(sp)
	return out, err
}

// effective is what holds in a space.
func (s *service) effective(sp percached.Space) (api.Settings, error) {
	set, err := s.asker.Settings(sp.Name)
	if err != nil {
		return api.Settings{}, err
	}
	work, err := s.worker.Config().With(sp.Settings)
	if s.engine != nil && s.engine.Info().NoSlices != "" {
		set.Tensors = false
	}
	return api.Settings{Settings: percached.Settings{
		Threshold: &set.Threshold, Guard: &set.Guard, Bank: &set.Bank, Tensors: &set.Tensors, K: &set.K, Order: &set.Order,
		Placement: &set.Placement, Planes: &set.Planes, Whole: &set.Whole, TensorLimit: sp.Settings.TensorLimit,
		Prediction: &work.Prediction, Stride: &work.Stride, Adaptive: &work.Adaptive, Conversion: &work.Conversion,
	}}, err
}

// createSpace makes a space that is not there yet.
func (s *service) createSpace(ctx context.Context, n api.NewSpace) (api.Space, error) {
	if n.Kind == "" {
		n.Kind = knowledgebank.Kinds()[0]
	}
	_, err := s.knowledge.Space(n.Name)
	if err == nil {
		return api.Space{}, fault.New(fault.Conflict, "percached", "there is a space %q already", n.Name)
	}
	wrong := s.checkSettings(n.Settings, n.Name, "/settings/")
	if !slices.Contains(knowledgebank.Kinds(), n.Kind) {
		wrong = append(wrong, api.FieldError{Field: "/kind", Detail: "it must be one of " + strings.Join(knowledgebank.Kinds(), ", ")})
	}
	if len(wrong) > 0 {
		return api.Space{}, invalids(wrong)
	}
	files := s.prompts(n.Name)
	before, err := files.read() // its owner may have put some there
	if err != nil {
		return api.Space{}, err
	}
	if err := s.library.Vacate(ctx, n.Name); err != nil {
		return api.Space{}, err
	}
	sp := percached.Space{Name: n.Name, Kind: n.Kind, Settings: n.Settings.Settings}
	switch err := s.knowledge.CreateSpace(sp); {
	case fault.KindOf(err) == fault.Invalid:
		return api.Space{}, invalid("/name", cmdline.Sentence(err))
	case err != nil:
		return api.Space{}, err
	}
	err = s.limitTensors(sp)
	if err == nil {
		err = files.write(laidOver(before, n.Settings.Prompts))
	}
	if err != nil { // as if nothing had happened
		_, _, gone := s.knowledge.DeleteSpace(sp.Name)
		return api.Space{}, errors.Join(err, gone, files.write(orNone(before)))
	}
	s.scheduler.Changed(sp.Name)
	return s.aboutSpace(sp)
}

// limitTensors holds a space's tensors to its own limit.
func (s *service) limitTensors(sp percached.Space) error {
	limit := int64(-1)
	if sp.Settings.TensorLimit != nil {
		limit = *sp.Settings.TensorLimit
	}
	return s.tree.SetSpaceLimit(sp.Name, limit)
}

// changeSpace lays a merge patch (RFC 7396) over a space's settings, and tells
// which it names. All of it holds, or none.
func (s *service) changeSpace(name string, patch []byte) (sp percached.Space, keys []string, err error) {
	if sp, err = s.knowledge.Space(name); err != nil {
		return sp, nil, err
	}
	files := s.prompts(name)
	before := api.Settings{Settings: sp.Settings}
	if before.Prompts, err = files.read(); err != nil {
		return sp, nil, err
	}
	after, keys, err := merged(before, patch)
	if err == nil {
		fresh := api.Settings{Settings: after.Settings, Prompts: differing(before.Prompts, after.Prompts)}
		err = invalids(s.checkSettings(fresh, name, "/"))
	}
	if err != nil {
		return sp, nil, err
	}
	var undo []func() error
	defer func() {
		for _, u := range slices.Backward(undo) {
			if err != nil {
				err = errors.Join(err, u())
			}
		}
	}()
	was := sp
	sp.Settings = after.Settings
	for _, step := range []struct{ do, undo func() error }{
		{func() error { return files.write(orNone(after.Prompts)) }, func() error { return files.write(orNone(before.Prompts)) }},
		{func() error { return s.limitTensors(sp) }, func() error { return s.limitTensors(was) }},
		{func() error { return s.knowledge.Configure(name, sp.Settings) }, nil},
	} {
		if step.undo != nil {
			undo = append(undo, step.undo)
		}
		if err := step.do(); err != nil {
			return was, nil, err
		}
	}
	s.scheduler.Changed(name)
	return sp, keys, nil
}

func (f *face) spaces(context.Context, api.Nothing) (api.Spaces, error) { return f.service.spaces() }

func (f *face) space(_ context.Context, in api.InSpace) (api.Space, error) {
	sp, err := f.service.knowledge.Space(in.Space)
	if err != nil {
		return api.Space{}, err
	}
	return f.service.aboutSpace(sp)
}

func (f *face) createSpace(ctx context.Context, n api.NewSpace) (api.Space, error) {
	f.changing.Lock()
	defer f.changing.Unlock()
	return f.service.createSpace(ctx, n)
}

func (f *face) changeSpace(_ context.Context, c api.SpaceChange) (api.Space, error) {
	f.changing.Lock()
	defer f.changing.Unlock()
	sp, keys, err := f.service.changeSpace(c.Space, c.Merge)
	if err != nil {
		return api.Space{}, err
	}
	f.tell(api.EventSettings, c.Space, map[string]any{"keys": keys})
	return f.service.aboutSpace(sp)
}
