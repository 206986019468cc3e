package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/percached/percached/internal/base/cmdline"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
)

func cacheCommand(dial dialer) *cobra.Command {
	return group("cache", "Look at the stored tensors: tree, stats, clear, verify, limit", "",
		cacheTree(dial), cacheStats(dial), cacheClear(dial), cacheVerify(dial), cacheLimit(dial))
}

func cacheTree(dial dialer) *cobra.Command {
	return verb{
		use: "tree", short: "Show what is stored, with sizes, chunks and hits",
		example: `  percached cache tree --space mail`, space: anySpace,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			all := client.Tree{Slices: []client.Slice{}}
			limit := pageSize
			err := c.each(ctx, func(space string) error {
				r, err := c.GetTreeWithResponse(ctx, space, &client.GetTreeParams{Limit: &limit})
				if err == nil {
					all.Slices = append(all.Slices, r.JSON200.Slices...)
					all.More = all.More || r.JSON200.More
				}
				return err
			})
			if err != nil {
				return err
			}
			return c.showAll(all, func(p *cmdline.Printer) { tree(p, all) })
		},
	}.command(dial)
}

func tree(p *cmdline.Printer, all client.Tree) {
	last := ""
	for _, n := range all.Slices {
		if group := fmt.Sprintf("%s, model %.8s, %s", n.Space, n.Model, n.Placement); group != last {
			p.Line("%s", group)
			last = group
		}
		what := "instructions"
		if n.Chunk != nil {
			what = "chunk " + *n.Chunk
		}
		used := ""
		if n.Used != nil {
			used = n.Used.UTC().Format(TimeLayout)
		}
		p.Line("%*s%-44s %5d tokens %9d bytes %4d hits  %s", 2+2*n.Depth, "", what, n.Tokens, n.Bytes, n.Hits, used)
	}
	if all.More {
		p.Line("of each space the first %d are shown; percached cache stats counts all", pageSize)
	}
}

func cacheStats(dial dialer) *cobra.Command {
	return verb{
		use: "stats", short: "Show counts and sizes",
		example: `  percached cache stats --json`, space: anySpace,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			if c.space != "" {
				r, err := c.GetSpaceCacheWithResponse(ctx, c.space)
				if err != nil {
					return err
				}
				s := r.JSON200
				return c.show(r.Body, func(p *cmdline.Printer) {
					p.Line("%d slices, %s", s.Slices, cmdline.Size(s.Bytes))
					groups(p, s.Groups)
				})
			}
			r, err := c.GetCacheWithResponse(ctx)
			if err != nil {
				return err
			}
			s := r.JSON200
			return c.show(r.Body, func(p *cmdline.Printer) {
				p.Line("%d slices, %s of %s; %s on disk", s.Slices, cmdline.Size(s.Bytes), cmdline.Size(s.Limit), cmdline.Size(s.DiskBytes))
				groups(p, s.Groups)
			})
		},
	}.command(dial)
}

func groups(p *cmdline.Printer, all []client.CacheGroup) {
	for _, g := range all {
		p.Line("%-20s model %.8s %-10s %6d slices %12d bytes %6d hits", g.Space, g.Model, g.Placement, g.Slices, g.Bytes, g.Hits)
	}
}

func cacheClear(dial dialer) *cobra.Command {
	return verb{
		use: "clear", short: "Drop stored tensors",
		example: `  percached cache clear --space mail`, space: anySpace,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			var got *client.Dropped
			var body []byte
			if c.space != "" {
				r, err := c.ClearSpaceCacheWithResponse(ctx, c.space)
				if err != nil {
					return err
				}
				got, body = r.JSON200, r.Body
			} else {
				r, err := c.ClearCacheWithResponse(ctx)
				if err != nil {
					return err
				}
				got, body = r.JSON200, r.Body
			}
			return c.show(body, func(p *cmdline.Printer) { p.Line("%d slices dropped, %d bytes", got.Slices, got.Bytes) })
		},
	}.command(dial)
}

func cacheVerify(dial dialer) *cobra.Command {
	return verb{
		use: "verify", short: "Read all stored tensors and check them",
		example: `  percached cache verify`,
		long: `Reads all stored tensors and checks them. What is damaged is dropped, and computed
anew when it is needed. Exit status 1 if there was damage.`,
		run: func(ctx context.Context, c *invocation, _ []string) error {
			r, err := c.VerifyCacheWithResponse(ctx)
			if err != nil {
				return err
			}
			v := r.JSON200
			err = c.show(r.Body, func(p *cmdline.Printer) {
				p.Line("%d slices are sound, %d bytes", v.Slices, v.Bytes)
				if !v.Clean {
					p.Line("%d were damaged and %d records belonged to no slice: they were dropped, and are computed anew when needed", v.Damaged, v.Stale)
				}
			})
			if err == nil && !v.Clean {
				err = cmdline.Unwell{}
			}
			return err
		},
	}.command(dial)
}

func cacheLimit(dial dialer) *cobra.Command {
	var bytes int64
	return verb{
		use: "limit SIZE", short: "Bound what stored tensors may take, until the daemon ends",
		example: `  percached cache limit 512MiB`,
		long: `Bounds the bytes that stored tensors may take. What is over the bound goes at
once, the least used first. It holds until the daemon ends; without one, nothing
stays of it but what went: the setting tensor-limit is for good.`,
		args: cobra.ExactArgs(1),
		before: func(args []string) (err error) {
			if bytes, err = cmdline.ParseSize(args[0]); err == nil && bytes < 0 {
				err = errors.New("it is negative")
			}
			if err != nil {
				return cmdline.Misusef("SIZE: %q: %w", args[0], err)
			}
			return nil
		},
		run: func(ctx context.Context, c *invocation, _ []string) error {
			r, err := c.LimitCacheWithResponse(ctx, client.CacheLimit{Limit: bytes})
			if err != nil {
				return err
			}
			return c.show(r.Body, func(p *cmdline.Printer) {
				p.Line("%d slices, %s of %s", r.JSON200.Slices, cmdline.Size(r.JSON200.Bytes), cmdline.Size(r.JSON200.Limit))
			})
		},
	}.command(dial)
}
