package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func cacheCommand(dial dialer) *cobra.Command {
	return group("cache", "Show, check, limit and clear stored tensors", "",
		cacheTree(dial), cacheStats(dial), cacheClear(dial), cacheVerify(dial), cacheLimit(dial))
}

func cacheTree(dial dialer) *cobra.Command {
	return apiCommand{
		use: "tree", short: "Show stored tensors with their sizes, chunks and hits",
		example: `  percached cache tree --space mail`, space: allSpacesFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			all := client.Tree{Slices: []client.Slice{}}
			limit := pageSize
			err := c.eachSpace(ctx, func(space string) error {
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
			return c.printJSON(all, func(p *cmdline.Printer) { printTree(p, all) })
		},
	}.command(dial)
}

func printTree(p *cmdline.Printer, all client.Tree) {
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
			used = timeText(*n.Used)
		}
		p.Line("%*s%-44s %5d tokens %9d bytes %4d hits  %s", 2+2*n.Depth, "", what, n.Tokens, n.Bytes, n.Hits, used)
	}
	if all.More {
		p.Line("Shown: the first %d of each space. percached cache stats counts all.", pageSize)
	}
}

func cacheStats(dial dialer) *cobra.Command {
	return apiCommand{
		use: "stats", short: "Show counts and sizes of stored tensors",
		example: `  percached cache stats --json`, space: allSpacesFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			if c.space != "" {
				r, err := c.GetSpaceCacheWithResponse(ctx, c.space)
				if err != nil {
					return err
				}
				s := r.JSON200
				return c.printBody(r.Body, func(p *cmdline.Printer) {
					p.Line("%d slices, %s", s.Slices, cmdline.Size(s.Bytes))
					printGroups(p, s.Groups)
				})
			}
			r, err := c.GetCacheWithResponse(ctx)
			if err != nil {
				return err
			}
			s := r.JSON200
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				p.Line("%d slices, %s of %s; %s on disk", s.Slices, cmdline.Size(s.Bytes), cmdline.Size(s.Limit), cmdline.Size(s.DiskBytes))
				printGroups(p, s.Groups)
			})
		},
	}.command(dial)
}

func printGroups(p *cmdline.Printer, all []client.CacheGroup) {
	for _, g := range all {
		p.Line("%-20s model %.8s %-10s %6d slices %12d bytes %6d hits", g.Space, g.Model, g.Placement, g.Slices, g.Bytes, g.Hits)
	}
}

func cacheClear(dial dialer) *cobra.Command {
	var yes bool
	return apiCommand{
		use: "clear", short: "Delete stored tensors",
		example: `  percached cache clear --space mail`, space: allSpacesFlag,
		long: `Deletes stored tensors. No document and no answer is lost: percached computes tensors
again when a question needs them, or while the device is idle.`,
		flags: func(cmd *cobra.Command) { yesFlag(cmd, &yes) },
		run: func(ctx context.Context, c *session, _ []string) error {
			if err := c.checkSpace(ctx); err != nil {
				return err
			}
			of := "all spaces"
			if c.space != "" {
				of = c.space
			}
			if err := c.confirm(ctx, yes, "Delete the stored tensors of %s?", of); err != nil {
				return err
			}
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
			return c.printBody(body, func(p *cmdline.Printer) { p.Line("deleted %d slices, %d bytes", got.Slices, got.Bytes) })
		},
	}.command(dial)
}

func cacheVerify(dial dialer) *cobra.Command {
	return apiCommand{
		use: "verify", short: "Verify all stored tensors",
		example: `  percached cache verify`,
		long: `Reads and verifies all stored tensors. percached deletes damaged ones, and computes
them again when a question needs them. The exit status is 1 if it found damage.`,
		run: func(ctx context.Context, c *session, _ []string) error {
			done := cmdline.Waiting(c.stderr, "reading the stored tensors")
			r, err := c.VerifyCacheWithResponse(ctx)
			done()
			if err != nil {
				return err
			}
			v := r.JSON200
			err = c.printBody(r.Body, func(p *cmdline.Printer) {
				p.Line("%d valid slices, %d bytes", v.Slices, v.Bytes)
				if !v.Clean {
					p.Line("deleted %d damaged slices and %d records without a slice", v.Damaged, v.Stale)
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
	return apiCommand{
		use: "limit SIZE", short: "Limit the disk space of stored tensors until the daemon stops",
		example: `  percached cache limit 512MiB`,
		long: `Limits the disk space of stored tensors to SIZE bytes; KiB, MiB, GiB and TiB are
units. percached deletes tensors over the limit at once, the least used first. The
limit lasts until the daemon stops. To make it permanent, set tensor-limit in the
configuration file.`,
		args: cobra.ExactArgs(1),
		before: func(args []string) (err error) {
			if bytes, err = cmdline.ParseSize(args[0]); err == nil && bytes < 0 {
				err = errors.New("the size is negative")
			}
			if err != nil {
				return cmdline.Misusef("SIZE: %q: %w", args[0], err)
			}
			return nil
		},
		run: func(ctx context.Context, c *session, _ []string) error {
			r, err := c.LimitCacheWithResponse(ctx, client.CacheLimit{Limit: bytes})
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) {
				p.Line("%d slices, %s of %s", r.JSON200.Slices, cmdline.Size(r.JSON200.Bytes), cmdline.Size(r.JSON200.Limit))
			})
		},
	}.command(dial)
}
