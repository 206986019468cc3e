package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/remotebackup"
)

// remoteRestore is percached restore from object storage.
type remoteRestore struct {
	at                string
	list, force, json bool
}

// momentFormats are those of --at; without a zone it is the local time.
var momentFormats = []string{time.RFC3339, "2006-01-02 15:04:05.999", "2006-01-02T15:04:05.999", "2006-01-02 15:04", "2006-01-02T15:04"}

func (r *remoteRestore) moment() (time.Time, error) {
	if r.at == "" {
		return time.Time{}, nil
	}
	for _, form := range momentFormats {
		if t, err := time.ParseInLocation(form, r.at, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, cmdline.Misusef("--at: %q is not a time such as 2026-11-25 18:00 or 2026-11-25T17:00:00Z", r.at)
}

func (r *remoteRestore) run(cmd *cobra.Command, c config.Config, from string) error {
	ctx, stderr := cmd.Context(), cmd.ErrOrStderr()
	at, err := r.moment()
	if err != nil {
		return err
	}
	store, err := node.OpenRemote(c, from, os.Getenv)
	if err != nil {
		return err
	}
	defer store.Close()
	if r.list {
		points, err := store.Points(ctx)
		if err != nil {
			return err
		}
		return r.print(cmd.OutOrStdout(), points)
	}
	elsewhere, err := remote(cmd)
	if err != nil {
		return err
	}
	if elsewhere != nil {
		return cmdline.Misusef("percached restores from object storage into a folder of this machine; run the command there, without --url")
	}
	done := cmdline.Waiting(stderr, "restoring the backup")
	out, failure := auditedRestore(c, func() (node.Restored, error) {
		return node.RestoreRemote(ctx, c, store, at, r.force, daemon.NewLog(stderr, "text", c.Serving.Level), stderr)
	})
	done()
	if _, restored := errors.AsType[*unrecorded](failure); failure != nil && !restored {
		return failure
	}
	if err := printRestored(cmd, out, r.json); err != nil {
		return err
	}
	p := &cmdline.Printer{W: stderr}
	p.Line("If another daemon still backs up to %s, change backup-to before you start one on %s.", store.Place(), c.Data)
	return cmp.Or(p.Err, failure)
}

// listedPoint is a line of --list --json.
type listedPoint struct {
	Made  time.Time `json:"made"`
	Whole bool      `json:"whole"`
	Bytes int64     `json:"bytes"`
}

func (r *remoteRestore) print(to io.Writer, points []remotebackup.Point) error {
	if r.json {
		all := make([]listedPoint, len(points))
		for i, p := range points {
			all[i] = listedPoint{p.Made, p.Number == 0, p.Bytes}
		}
		return json.NewEncoder(to).Encode(all)
	}
	t := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	p := &cmdline.Printer{W: t}
	p.Line("TIME\tKIND\tSIZE")
	for _, at := range points {
		kind := "changes"
		if at.Number == 0 {
			kind = "whole"
		}
		p.Line("%s\t%s\t%s", at.Made.Local().Format("2006-01-02 15:04:05.000"), kind, cmdline.Size(at.Bytes))
	}
	if p.Err != nil {
		return p.Err
	}
	return t.Flush()
}
