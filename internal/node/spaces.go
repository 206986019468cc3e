package node

import (
	"context"
	"io"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/idle"
)

// LimitTensors applies a space's own limit of tensors.
func (n *Node) LimitTensors(sp percached.Space) error {
	limit := int64(-1)
	if sp.Settings.TensorLimit != nil {
		limit = *sp.Settings.TensorLimit
	}
	return n.Tree.SetSpaceLimit(sp.Name, limit)
}

// EachSpace calls fn with the named space, or with every space if none is named.
func (n *Node) EachSpace(name string, fn func(name string) error) error {
	if name != "" {
		if _, err := n.Knowledge.Space(name); err != nil {
			return err
		}
		return fn(name)
	}
	spaces, err := n.Knowledge.Spaces()
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

// Reindex rebuilds the indexes of a space.
func (n *Node) Reindex(ctx context.Context, space string, stderr io.Writer) error {
	for _, step := range []struct {
		what string
		do   func(progress func(done, total int)) error
	}{
		{"words indexed", func(p func(int, int)) error { return n.Index.Rebuild(ctx, space, p) }},
		{"vectors computed", func(p func(int, int)) error { _, err := n.Index.Reembed(ctx, space, p); return err }},
	} {
		progress := cmdline.Progress(stderr, space+": "+step.what)
		if err := step.do(func(done, total int) { progress(float64(done) / float64(max(total, 1))) }); err != nil {
			return err
		}
		progress(1)
	}
	_, err := n.Bank.Reembed(ctx, space, n.QuestionEmbedder)
	return err
}

// placement returns the calibrated placement for documents of a kind.
func (n *Node) placement(kind string, set answer.Settings) (percached.Placement, bool) {
	if n.Engine == nil {
		return percached.Sequential, false
	}
	rec := n.Placements.Get(idle.Subject(n.Engine.Info(), kind, set))
	return rec.Placement()
}

// form returns the least exact form of tensors that calibration allows for documents of a
// kind.
func (n *Node) form(kind string, set answer.Settings) percached.Form {
	if n.Engine == nil {
		return percached.Exact
	}
	rec := n.Placements.Get(idle.Subject(n.Engine.Info(), kind, set))
	return rec.Forms[set.Placement].Form(set.MaxChanged)
}

// limitSpaces applies the limits of all spaces.
func (n *Node) limitSpaces(spaces []percached.Space) error {
	for _, sp := range spaces {
		if err := n.LimitTensors(sp); err != nil {
			return err
		}
	}
	return nil
}

// Space creates a space if it does not exist. If asked is true, an existing space must be of
// the kind.
func (n *Node) Space(name, kind string, asked bool) error {
	if _, err := n.Knowledge.Space(name); err == nil && !asked {
		return nil
	}
	return n.Knowledge.CreateSpace(percached.Space{Name: name, Kind: kind})
}
