package backend

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/knowledgebank"
)

// spaces lists all spaces by name.
func (b *Backend) spaces(context.Context, api.Nothing) (api.Spaces, error) {
	found, err := b.Knowledge.Spaces()
	out := api.Spaces{Spaces: []api.Space{}}
	for _, sp := range found {
		one, err := b.aboutSpace(sp)
		if fault.KindOf(err) == fault.NotFound { // it was deleted in the meantime
			continue
		}
		if err != nil {
			return out, err
		}
		out.Spaces = append(out.Spaces, one)
	}
	return out, err
}

func (b *Backend) aboutSpace(sp percached.Space) (api.Space, error) {
	st, err := b.Knowledge.Stats(sp.Name)
	if err != nil {
		return api.Space{}, err
	}
	out := api.Space{Name: sp.Name, Kind: sp.Kind, Documents: st.Documents, Chunks: st.Chunks, Settings: api.Settings{Settings: sp.Settings}}
	own, err := b.PromptFiles(sp.Name).Read()
	if err != nil {
		return out, err
	}
	out.Settings.Prompts = (*api.Prompts)(own)
	out.Effective, err = b.effective(sp)
	return out, err
}

// effective returns the effective settings of a space.
func (b *Backend) effective(sp percached.Space) (api.Settings, error) {
	set, err := b.Asker.Settings(sp.Name)
	if err != nil {
		return api.Settings{}, err
	}
	work, err := b.Worker.Config().With(sp.Settings)
	if b.Engine != nil && b.Engine.Info().NoSlices != "" {
		set.Tensors = false
	}
	keep := b.KeepDays(sp)
	readOnly, movedTo, copyOf := deref(sp.Settings.ReadOnly), deref(sp.Settings.MovedTo), deref(sp.Settings.CopyOf)
	return api.Settings{Settings: percached.Settings{
		ReadOnly: &readOnly, MovedTo: &movedTo, CopyOf: &copyOf,
		Threshold: &set.Threshold, Guard: &set.Guard, MaxWrong: &set.MaxWrong, Bank: &set.Bank, Tensors: &set.Tensors, Drafts: &set.Drafts, K: &set.K, Order: &set.Order,
		Placement: &set.Placement, Planes: &set.Planes, Whole: &set.Whole, TensorLimit: sp.Settings.TensorLimit, KeepDays: &keep,
		Prediction: &work.Prediction, Stride: &work.Stride, Adaptive: &work.Adaptive, Conversion: &work.Conversion,
	}}, err
}

// makeSpace creates a space.
func (b *Backend) makeSpace(ctx context.Context, n api.NewSpace) (api.Space, error) {
	if n.Kind == "" {
		n.Kind = api.Given(knowledgebank.Kinds()[0])
	}
	_, err := b.Knowledge.Space(n.Name)
	if err == nil {
		return api.Space{}, fault.New(fault.Conflict, "percached", "the space %q exists already", n.Name)
	}
	wrong := b.checkSettings(n.Settings, n.Name, "/settings/")
	if !slices.Contains(knowledgebank.Kinds(), string(n.Kind)) {
		wrong = append(wrong, api.FieldError{Field: "/kind", Detail: "must be one of " + strings.Join(knowledgebank.Kinds(), ", ")})
	}
	if len(wrong) > 0 {
		return api.Space{}, invalidFields(wrong)
	}
	files := b.PromptFiles(n.Name)
	found, err := files.Read() // the user may have put files there
	before := (*api.Prompts)(found)
	if err != nil {
		return api.Space{}, err
	}
	if err := b.Library.FinishDeletion(ctx, n.Name); err != nil {
		return api.Space{}, err
	}
	sp := percached.Space{Name: n.Name, Kind: string(n.Kind), Settings: n.Settings.Settings}
	switch err := b.Knowledge.CreateSpace(sp); {
	case fault.KindOf(err) == fault.Invalid:
		return api.Space{}, invalid("/name", cmdline.Sentence(err))
	case err != nil:
		return api.Space{}, err
	}
	err = b.LimitTensors(sp)
	if err == nil {
		err = files.Write(node.Prompts(overridePrompts(before, n.Settings.Prompts)))
	}
	if err != nil { // undo
		_, _, gone := b.Knowledge.DeleteSpace(sp.Name)
		return api.Space{}, errors.Join(err, gone, files.Write(node.Prompts(deref(before))))
	}
	b.Scheduler.Changed(sp.Name)
	return b.aboutSpace(sp)
}

// mergeSettings applies a merge patch (RFC 7396) to a space's settings, and returns its
// keys. If one step fails, it undoes the others.
func (b *Backend) mergeSettings(name string, patch []byte) (sp percached.Space, keys []string, err error) {
	if sp, err = b.Knowledge.Space(name); err != nil {
		return sp, nil, err
	}
	files := b.PromptFiles(name)
	before := api.Settings{Settings: sp.Settings}
	own, err := files.Read()
	if err != nil {
		return sp, nil, err
	}
	before.Prompts = (*api.Prompts)(own)
	after, keys, err := applyMergePatch(before, patch)
	if deref(after.MovedTo) == "" { // as effective settings show it
		after.MovedTo = nil
	}
	if deref(after.CopyOf) == "" {
		after.CopyOf = nil
	}
	moves := func(key string) bool { return key == "read_only" || key == "moved_to" }
	if err == nil && deref(sp.Settings.ReadOnly) && slices.ContainsFunc(keys, func(key string) bool { return !moves(key) }) {
		err = api.SpaceReadOnly() // its export may have been read
	}
	if err == nil {
		fresh := api.Settings{Settings: after.Settings, Prompts: changedPrompts(before.Prompts, after.Prompts)}
		err = invalidFields(b.checkSettings(fresh, name, "/"))
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
		{func() error { return files.Write(node.Prompts(deref(after.Prompts))) }, func() error { return files.Write(node.Prompts(deref(before.Prompts))) }},
		{func() error { return b.LimitTensors(sp) }, func() error { return b.LimitTensors(was) }},
		{func() error { return b.Knowledge.Configure(name, sp.Settings) }, nil},
	} {
		if step.undo != nil {
			undo = append(undo, step.undo)
		}
		if err := step.do(); err != nil {
			return was, nil, err
		}
	}
	b.Scheduler.Changed(name)
	return sp, keys, nil
}

func (b *Backend) space(_ context.Context, in api.InSpace) (api.Space, error) {
	sp, err := b.Knowledge.Space(in.Space)
	if err != nil {
		return api.Space{}, err
	}
	return b.aboutSpace(sp)
}

func (b *Backend) createSpace(ctx context.Context, n api.NewSpace) (api.Space, error) {
	b.spacesMu.Lock()
	defer b.spacesMu.Unlock()
	return b.makeSpace(ctx, n)
}

func (b *Backend) changeSpace(ctx context.Context, c api.SpaceChange) (api.Space, error) {
	sp, keys, err := b.mergeLocked(c)
	if err != nil {
		return api.Space{}, err
	}
	b.publish(api.EventSettings, c.Space, map[string]any{"keys": keys})
	if frozen(sp.Settings) { // so an export from now on lacks nothing that was accepted
		if err := b.writes.await(ctx, c.Space); err != nil {
			return api.Space{}, err
		}
	}
	return b.aboutSpace(sp)
}

func (b *Backend) mergeLocked(c api.SpaceChange) (percached.Space, []string, error) {
	b.spacesMu.Lock()
	defer b.spacesMu.Unlock()
	return b.mergeSettings(c.Space, c.Merge)
}
