package main

import (
	"path/filepath"

	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/selftest"

	"github.com/percached/percached/internal/node"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/llm/llamacpp"
)

func doctorCommand(open selftest.Opener) *cobra.Command {
	var s selftest.Source
	var asJSON bool
	c := node.Default()
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that machine, binary and model go together",
		Long: `Tells what the machine and the binary have, and tests for each type of keys and
values and for both placements that the same prompt gives the same tokens and
logits cold, warm from slices, and warm from slices that went through a
database. Without --model it takes the built-in one, with --shape one of random
weights. And it looks whether the data folder can be used, and whether a daemon answers for it.

Exit status 0 if all is well. CPU features that lie idle, a type that the model
cannot have, and a model whose slices cannot be stored are warnings: all works,
but slower than it could. A failed self-test, CPU features that the binary needs
and the machine lacks, a model that cannot be opened, and a data folder that cannot
be used or whose daemon does not answer are failures.`,
		Example: `  percached doctor
  percached doctor --model FILE.gguf --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := chooseModel(&s, cmd, c.Data); err != nil {
				return err
			}
			if err := s.Check(); err != nil {
				return err
			}
			r := &selftest.Health{Machine: machine.This(), CPU: llamacpp.CPU(), GPULayers: c.GPULayers, Folder: selftest.LookAt(cmd.Context(), c.Data)}
			if err := r.Examine(cmd.Context(), open, &s, cmd.ErrOrStderr()); err != nil {
				return err
			}
			r.Conclude()
			if err := cmdline.Show(cmd.OutOrStdout(), asJSON, r); err != nil {
				return err
			}
			if !r.OK {
				return cmdline.Unwell{}
			}
			return nil
		},
	}
	s.Flags(cmd, "")
	commands.DataFlag(cmd, &c.Config)
	c.Flags(cmd, "gpu-layers")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// chooseModel is the model that is tested: the one that is named, as ask and
// serve find it, or the built-in one unless one of random weights is wanted.
func chooseModel(s *selftest.Source, cmd *cobra.Command, data string) (err error) {
	switch {
	case s.Model != "":
		s.Model, err = node.ModelFile(filepath.Join(data, "models"), s.Model)
	case !cmd.Flags().Changed("shape") && !cmd.Flags().Changed("quant"):
		s.Model, err = selftest.BuiltIn()
	case s.Shape == "":
		s.Shape = "tiny"
	}
	return err
}
