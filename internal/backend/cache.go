package backend

import (
	"context"
	"strconv"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qkvtree"
)

func wireCache(st qkvtree.Stats) api.Cache {
	out := api.Cache{
		Limit: st.Limit, Bytes: st.Bytes, DiskBytes: st.Disk, Slices: st.Nodes, Requests: st.Requests, Hits: st.Hits, Absent: st.Absent,
		Stored: st.Stored, Refused: st.Refused, Evicted: st.Evicted, Damaged: st.Damaged, Written: st.Written, Groups: []api.CacheGroup{},
	}
	for _, g := range st.Groups {
		out.Groups = append(out.Groups, wireGroup(g))
	}
	return out
}

func wireGroup(g qkvtree.GroupStats) api.CacheGroup {
	return api.CacheGroup{Space: g.Space, Model: g.Model, Placement: g.Placement, Slices: g.Nodes, Bytes: g.Bytes, Hits: g.Hits, Used: g.Used}
}

func wireSlice(ids percached.PublicIDs, n qkvtree.Info) api.Slice {
	out := api.Slice{
		Space: n.Space, Model: n.Model, Placement: n.Placement, Depth: n.Depth, Path: ids.Path(n.Path), Tokens: n.Tokens,
		Bytes: n.Bytes, Planes: n.Planes, Hits: n.Hits, Used: n.Used,
	}
	if n.Form != percached.Exact {
		out.Form = n.Form.String()
	}
	if n.Chunk != (percached.ChunkID{}) {
		chunk := ids.Chunk(n.Chunk)
		out.Chunk = &chunk
	}
	return out
}

// cacheStats counts the stored tensors of all spaces.
func (b *Backend) cacheStats() (api.Cache, error) {
	st, err := b.Tree.Stats()
	return wireCache(st), err
}

// spaceCache counts the stored tensors of one space.
func (b *Backend) spaceCache(_ context.Context, in api.InSpace) (api.SpaceCache, error) {
	space := in.Space
	sp, err := b.Knowledge.Space(space)
	if err != nil {
		return api.SpaceCache{}, err
	}
	all, err := b.cacheStats()
	out := api.SpaceCache{Limit: sp.Settings.TensorLimit, Groups: []api.CacheGroup{}}
	for _, g := range all.Groups {
		if g.Space == space {
			out.Bytes, out.Slices, out.Hits = out.Bytes+g.Bytes, out.Slices+g.Slices, out.Hits+g.Hits
			out.Groups = append(out.Groups, g)
		}
	}
	return out, err
}

// dropTensors deletes the tensors of a space, or all tensors if none is named. It removes
// their bytes from disk if there is space for that.
func (b *Backend) dropTensors(ctx context.Context, space string) (api.Dropped, error) {
	drop := b.Tree.ClearAll // also tensors of deleted spaces
	if space != "" {
		if _, err := b.Knowledge.Space(space); err != nil {
			return api.Dropped{}, err
		}
		drop = func() (int, int64, error) { return b.Tree.Clear(space) }
	}
	n, bytes, err := drop()
	if err == nil { // the deletion holds even if compaction fails
		if left := b.Tree.Compact(ctx, nil); left != nil {
			b.Log.Warn("cannot remove the bytes of deleted tensors from disk", "kind", fault.KindOf(left), "error", left)
		}
	}
	b.changed(space)
	return api.Dropped{Slices: n, Bytes: bytes}, err
}

// changed makes the scheduler look for work in a space, or in all spaces if none is named.
func (b *Backend) changed(space string) {
	// If the list cannot be read, the scheduler reports it.
	_ = b.EachSpace(space, func(name string) error {
		b.Scheduler.Changed(name)
		return nil
	})
}

// verifyTensors verifies all stored tensors and deletes damaged ones.
func (b *Backend) verifyTensors(ctx context.Context) (api.Verified, error) {
	r, err := b.Tree.Verify(ctx)
	return wireVerified(r), err
}

func wireVerified(r qkvtree.Report) api.Verified {
	return api.Verified{Slices: r.Slices, Bytes: r.Bytes, Damaged: r.Damaged, Stale: r.Stale, Clean: r.Clean()}
}

func (b *Backend) cache(context.Context, api.Nothing) (api.Cache, error) { return b.cacheStats() }

func (b *Backend) limitCache(ctx context.Context, c api.CacheLimit) (api.Cache, error) {
	// The limit is a key of the configuration.
	change := api.ConfigChange{"tensor-limit": strconv.FormatInt(*c.Limit, 10)}
	if _, err := b.changeConfig(ctx, change); err != nil {
		return api.Cache{}, err
	}
	return b.cacheStats()
}

func (b *Backend) verifyCache(ctx context.Context, _ api.Nothing) (api.Verified, error) {
	return b.verifyTensors(ctx)
}

func (b *Backend) clearCache(ctx context.Context, _ api.Nothing) (api.Dropped, error) {
	return b.dropTensors(ctx, "")
}

// tree lists the stored slices of a space. A parent comes before its children.
func (b *Backend) tree(_ context.Context, p api.Page) (out api.Tree, err error) {
	ids, err := b.Knowledge.PublicIDs(p.Space)
	if err != nil {
		return out, err
	}
	b.Tree.Nodes(p.Space, func(i qkvtree.Info) { out.Slices = append(out.Slices, wireSlice(ids, i)) })
	out.Slices, out.Next, err = pageOf(out.Slices, p.Limit, p.After, func(s api.Slice) string { return s.Placement.String() + s.Model + s.Path })
	out.More = out.Next != ""
	return out, err
}

func (b *Backend) clearSpaceCache(ctx context.Context, in api.InSpace) (api.Dropped, error) {
	return b.dropTensors(ctx, in.Space)
}
