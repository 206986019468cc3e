package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/selftest"
)

func benchCommand(open selftest.Opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine and a model",
		Args:  cobra.NoArgs,
		RunE:  commands.Help,
	}
	cmd.AddCommand(reuseCommand(open), preemptCommand(open), answersCommand(open), repeatsCommand(), draftsCommand(), aheadCommand(), hitsCommand(), scheduleCommand(), benchPredictCommand(), benchConversationCommand(), memoryCommand(), scaleCommand())
	return cmd
}

// overNode makes a command of a measurement over a data folder, with questions from
// standard input.
func overNode[R cmdline.Report](cmd *cobra.Command, measure func(ctx context.Context, s *node.Node, c node.Options, in io.Reader, stderr io.Writer) (R, error)) *cobra.Command {
	c := node.Default()
	var asJSON bool
	cmd.Args = cobra.NoArgs
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := node.Open(cmd.Context(), c, true, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		r, err := measure(cmd.Context(), s, c, cmd.InOrStdin(), cmd.ErrOrStderr())
		if shut := s.Close(); err == nil {
			err = shut
		}
		if err != nil {
			return err
		}
		return cmdline.Show(cmd.OutOrStdout(), asJSON, r)
	}
	commands.DataFlag(cmd, &c.Config)
	commands.AnswerFlags(cmd, &c.Config)
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
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
