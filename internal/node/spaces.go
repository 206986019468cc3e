package node

import (
	"context"
	"io"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/idle"
)

// LimitTensors holds a space's tensors to its own limit.
func (s *Node) LimitTensors(sp percached.Space) error {
	limit := int64(-1)
	if sp.Settings.TensorLimit != nil {
		limit = *sp.Settings.TensorLimit
	}
	return s.Tree.SetSpaceLimit(sp.Name, limit)
}

// EachSpace calls fn with the named space, or with every space if none is named.
func (s *Node) EachSpace(name string, fn func(name string) error) error {
	if name != "" {
		if _, err := s.Knowledge.Space(name); err != nil {
			return err
		}
		return fn(name)
	}
	spaces, err := s.Knowledge.Spaces()
	if err != nil {
		return err
	}
	for _, sp := range spaces {
		if err := fn(sp.Name); err != nil {
			return err
		}
	}
	return nil
}

// Reindex builds what is derived of a space's documents anew.
func (s *Node) Reindex(ctx context.Context, space string, stderr io.Writer) error {
	for _, step := range []struct {
		what string
		do   func(progress func(done, total int)) error
	}{
		{"words indexed", func(p func(int, int)) error { return s.Index.Rebuild(ctx, space, p) }},
		{"vectors computed", func(p func(int, int)) error { _, err := s.Index.Reembed(ctx, space, p); return err }},
	} {
		tell := cmdline.Progress(stderr, space+": "+step.what)
		if err := step.do(func(done, total int) { tell(float64(done) / float64(max(total, 1))) }); err != nil {
			return err
		}
		tell(1)
	}
	_, err := s.Bank.Reembed(ctx, space, s.QuestionEmbedder)
	return err
}

// placement is the one that was found to serve the model over documents of a kind.
func (s *Node) placement(kind string, set answer.Settings) (percached.Placement, bool) {
	if s.Engine == nil {
		return percached.Sequential, false
	}
	rec := s.Placements.Get(idle.Subject(s.Engine.Info(), kind, set))
	return rec.Placement()
}

// limitSpaces gives the spaces that want one a limit of their own.
func (s *Node) limitSpaces(spaces []percached.Space) error {
	for _, sp := range spaces {
		if err := s.LimitTensors(sp); err != nil {
			return err
		}
	}
	return nil
}

// Space finds a space, or makes it. One that is there must be of the kind if that
// was asked for.
func (s *Node) Space(name, kind string, asked bool) error {
	if _, err := s.Knowledge.Space(name); err == nil && !asked {
		return nil
	}
	return s.Knowledge.CreateSpace(percached.Space{Name: name, Kind: kind})
}
