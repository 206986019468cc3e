package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// sharding has the options of percached-eval shards.
type sharding struct {
	spaces, asked, clients int
	seconds                float64
	router                 string // folder with the configuration of nginx
	namespaces             bool
}

func shardsCommand() *cobra.Command {
	var o sharding
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "shards",
		Short: "Measure three nodes behind nginx, while one is killed, one space moves and all restart",
		Long: `Starts three daemons, each with a new data folder, and nginx in front of them with the
configuration of --router. It creates spaces, adds a document to each and asks a question
about some. Then clients ask, search and upload in random spaces, in four rounds: nothing
else happens; one daemon is killed and started again; one space is moved to another
daemon; each daemon is stopped with SIGTERM and started again in turn. A client that gets
an error tries again.

At the end it reads every space: each document whose upload was accepted must be there
once, and none from another space. nginx must be installed. With --namespaces, which needs
root and ip, each daemon has a network namespace of its own; else an address of the
loopback interface.`,
		Args:    cobra.NoArgs,
		Example: `  percached-eval shards --spaces 1000 --router packaging/nginx`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.spaces < 1 || o.asked < 1 || o.asked > o.spaces || o.clients < 1 || o.seconds <= 0 {
				return cmdline.Misusef("--spaces, --asked, --clients and --seconds must be positive, and --asked at most --spaces")
			}
			r, err := o.run(cmd.Context(), cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			if err := cmdline.Show(cmd.OutOrStdout(), asJSON, r); err != nil {
				return err
			}
			return r.verdict()
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.spaces, "spaces", 1000, "Number of spaces")
	f.IntVar(&o.asked, "asked", 200, "Number of spaces with a stored answer")
	f.IntVar(&o.clients, "clients", 8, "Number of concurrent clients")
	f.Float64Var(&o.seconds, "seconds", 20, "Length of a round in seconds, or until what happens in it has ended")
	f.StringVar(&o.router, "router", "packaging/nginx", "Folder with percached.conf for nginx")
	f.BoolVar(&o.namespaces, "namespaces", false, "Give each daemon a network namespace of its own")
	f.BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

// shardReport is the report of percached-eval shards.
type shardReport struct {
	Spaces    int          `json:"spaces"`
	ByNode    []int        `json:"spaces_by_node"`
	Rounds    []shardRound `json:"rounds"`
	Accepted  int          `json:"accepted_uploads"`
	Lost      int          `json:"lost_documents"`
	Wrong     int          `json:"documents_of_another_space"`
	Elsewhere int          `json:"spaces_on_two_nodes"` // but for the one that was moved
	MoveS     float64      `json:"move_s"`
}

// shardRound is a round of load. Latencies are those of successful requests, with all tries.
type shardRound struct {
	Name     string  `json:"name"`
	Seconds  float64 `json:"seconds"`
	Requests int     `json:"requests"`
	Retried  int     `json:"tries_that_failed"`
	Wrong    int     `json:"wrong_responses"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Longest  float64 `json:"longest_ms"`
}

func (r *shardReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%d spaces on 3 nodes: %v", r.Spaces, r.ByNode)
	for _, l := range r.Rounds {
		p.Line("%-24s %5.0f s  %6d requests  p50 %7.1f ms  p99 %8.1f ms  longest %8.1f ms  %4d tries failed  %d wrong",
			l.Name, l.Seconds, l.Requests, l.P50, l.P99, l.Longest, l.Retried, l.Wrong)
	}
	p.Line("the move took %.2f s", r.MoveS)
	p.Line("%d uploads accepted, %d documents lost, %d in a wrong space, %d spaces on two nodes", r.Accepted, r.Lost, r.Wrong, r.Elsewhere)
	return p.Err
}

// verdict is an error if anything was lost or wrong.
func (r *shardReport) verdict() error {
	wrong := r.Lost + r.Wrong + r.Elsewhere
	for _, l := range r.Rounds {
		wrong += l.Wrong
	}
	if wrong > 0 {
		return cmdline.Unwell{}
	}
	return nil
}

func (o *sharding) run(ctx context.Context, stderr io.Writer) (_ *shardReport, err error) {
	dir, err := os.MkdirTemp("", "percached-")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: shards", "%w", err)
	}
	defer os.RemoveAll(dir)
	c := &cluster{dir: dir, namespaces: o.namespaces}
	defer func() {
		if shut := c.close(); err == nil {
			err = shut
		}
		if b, unread := os.ReadFile(filepath.Join(dir, "log")); err != nil && unread == nil {
			cmdline.Say(stderr, "%s", b[max(0, len(b)-4000):])
		}
	}()
	cmdline.Say(stderr, "starting three daemons and nginx")
	if err := c.start(ctx, o.router); err != nil {
		return nil, err
	}
	l := newShardLoad(c, o)
	cmdline.Say(stderr, "creating %d spaces", o.spaces)
	if err := l.fill(ctx); err != nil {
		return nil, err
	}
	r := &shardReport{Spaces: o.spaces}
	for _, round := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"undisturbed", func(context.Context) error { return nil }},
		{"one node killed", func(ctx context.Context) error { return c.restart(ctx, 1, true) }},
		{"one space moved", func(ctx context.Context) (err error) {
			began := time.Now()
			err = c.move(ctx, l.name(0))
			r.MoveS = time.Since(began).Seconds()
			return err
		}},
		{"rolling restart", func(ctx context.Context) error {
			for i := range c.nodes {
				if err := c.restart(ctx, i, false); err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		cmdline.Say(stderr, "%s: %d clients for %.0f s", round.name, o.clients, o.seconds)
		got, err := l.round(ctx, round.name, time.Duration(o.seconds*float64(time.Second)), round.do)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", round.name, err)
		}
		r.Rounds = append(r.Rounds, got)
	}
	cmdline.Say(stderr, "reading all spaces")
	return r, l.check(ctx, r)
}
