package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api"
)

func cacheCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "cache", Short: "Look at the stored tensors: tree, stats, clear, verify", Args: cobra.NoArgs, RunE: help}
	cmd.AddCommand(
		spaceVerb("tree", "Show what is stored, with sizes, chunks and hits", cacheTree),
		spaceVerb("stats", "Show counts and sizes", cacheStats),
		spaceVerb("clear", "Drop stored tensors", cacheClear),
		cacheVerify(),
	)
	return cmd
}

// spaceVerb is a command that does or tells one thing, of one space or of all.
func spaceVerb(use, short string, run func(ctx context.Context, s *service, space string) (showable, error)) *cobra.Command {
	c := defaultSetup()
	var space string
	var asJSON bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(ctx context.Context, s *service) error {
				if space != "" {
					if _, err := s.knowledge.Space(space); err != nil {
						return err
					}
				}
				r, err := run(ctx, s, space)
				if err != nil {
					return err
				}
				return show(cmd.OutOrStdout(), asJSON, r)
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().StringVar(&space, "space", "", "space to look at (default: all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

type treeReport struct{ api.Tree }

func (r *treeReport) table(w io.Writer) error {
	p := &printer{w: w}
	last := ""
	for _, n := range r.Slices {
		if group := fmt.Sprintf("%s, model %.8s, %s", n.Space, n.Model, n.Placement); group != last {
			p.line("%s", group)
			last = group
		}
		what := "instructions"
		if n.Chunk != nil {
			what = "chunk " + n.Chunk.String()
		}
		p.line("%*s%-44s %5d tokens %9d bytes %4d hits  %s", 2+2*n.Depth, "", what, n.Tokens, n.Bytes, n.Hits, n.Used.UTC().Format(timeLayout))
	}
	return p.err
}

func cacheTree(_ context.Context, s *service, space string) (showable, error) {
	all, err := s.slices(space, math.MaxInt)
	return &treeReport{all}, err
}

// eachSpace calls fn with the named space, or with every space if none is named.
func (s *service) eachSpace(name string, fn func(name string) error) error {
	if name != "" {
		if _, err := s.knowledge.Space(name); err != nil {
			return err
		}
		return fn(name)
	}
	spaces, err := s.knowledge.Spaces()
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

// statsReport is what cache stats shows.
type statsReport struct{ api.Cache }

func (r *statsReport) table(w io.Writer) error {
	p := &printer{w: w}
	p.line("%d slices, %d bytes; %d bytes on disk", r.Slices, r.Bytes, r.DiskBytes)
	for _, g := range r.Groups {
		p.line("%-20s model %.8s %-10s %6d slices %12d bytes %6d hits", g.Space, g.Model, g.Placement, g.Slices, g.Bytes, g.Hits)
	}
	return p.err
}

func cacheStats(_ context.Context, s *service, space string) (showable, error) {
	all, err := s.cacheStats()
	all.Groups = slices.DeleteFunc(all.Groups, func(g api.CacheGroup) bool { return space != "" && g.Space != space })
	return &statsReport{all}, err
}

// cleared is what cache clear did.
type cleared struct{ api.Dropped }

func (r *cleared) table(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d slices dropped, %d bytes\n", r.Slices, r.Bytes)
	return err
}

func cacheClear(ctx context.Context, s *service, space string) (showable, error) {
	got, err := s.dropTensors(ctx, space)
	return &cleared{got}, err
}

// verified is what cache verify found.
type verified struct{ api.Verified }

func (r *verified) table(w io.Writer) error {
	p := &printer{w: w}
	p.line("%d slices are sound, %d bytes", r.Slices, r.Bytes)
	if !r.Clean {
		p.line("%d were damaged and %d records belonged to no slice: they were dropped, and are computed anew when needed", r.Damaged, r.Stale)
	}
	return p.err
}

func cacheVerify() *cobra.Command {
	c := defaultSetup()
	var asJSON bool
	cmd := &cobra.Command{
		Use: "verify", Short: "Read all stored tensors and check them", Args: cobra.NoArgs,
		Long: `Reads all stored tensors and checks them. What is damaged is dropped, and computed
anew when it is needed. Exit status 1 if there was damage.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(ctx context.Context, s *service) error {
				r, err := s.verifyTensors(ctx)
				if err != nil {
					return err
				}
				if err := show(cmd.OutOrStdout(), asJSON, &verified{r}); err != nil {
					return err
				}
				if !r.Clean {
					return errUnwell
				}
				return nil
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}
