package main

import (
	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/selftest"
)

func benchCommand(open selftest.Opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine and a model",
		Args:  cobra.NoArgs,
		RunE:  commands.Help,
	}
	cmd.AddCommand(reuseCommand(open), preemptCommand(open), answersCommand(open), repeatsCommand(), draftsCommand(), aheadCommand(), hitsCommand(), scheduleCommand(), benchPredictCommand())
	return cmd
}

func parsePlacement(s string) (p percached.Placement, err error) {
	if p.UnmarshalText([]byte(s)) != nil {
		return p, cmdline.Misusef("--placement must be sequential or parallel, not %q", s)
	}
	return p, nil
}

func parsePlanes(s string) (p percached.Planes, err error) {
	if p.UnmarshalText([]byte(s)) != nil {
		return p, cmdline.Misusef("--planes must be kv or qkv, not %q", s)
	}
	return p, nil
}

func parseType(s string) error {
	switch s {
	case "f16", "q8_0", "q4_0":
		return nil
	}
	return cmdline.Misusef("--kv must be f16, q8_0 or q4_0, not %q", s)
}
