package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/llm/llamacpp"
)

func doctorCommand(open selftest.Opener) *cobra.Command {
	var s selftest.Source
	var asJSON, full, device bool
	c := node.Default()
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check machine, binary, model and data folder",
		Long: `Prints the features of the machine and the binary, and tests the model. The test runs
one prompt in both placements: without stored tensors, and with tensors from a database.
Both must give the same tokens and logits. With --full percached tests each type of keys
and values, with longer prompts, and also with tensors from memory. The default model is
the built-in one; --shape takes a model of random weights. Then percached checks the data
folder and its daemon.

With --device it prints each optimisation instead: whether it is on with the configuration
of the data folder, why, and what it would need. The model is opened, but not tested.

The exit status is 0 if there are no failures.

Warnings, which only cost speed: unused CPU features, a type that the model does not
support, and a model whose tensors cannot be stored.

Failures: a failed test, missing CPU features, a model that cannot be opened, a data
folder that cannot be used, and a daemon that does not respond.`,
		Example: `  percached doctor
  percached doctor --model FILE.gguf --full
  percached doctor --device`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if device {
				r, err := examineDevice(cmd, open, &s, c.Data)
				if err != nil {
					return err
				}
				return cmdline.Show(cmd.OutOrStdout(), asJSON, r)
			}
			if err := chooseModel(&s, cmd, c.Data); err != nil {
				return err
			}
			if err := s.Check(); err != nil {
				return err
			}
			r := &selftest.Health{Full: full, Machine: machine.This(), CPU: llamacpp.CPU(), GPULayers: c.GPULayers, Folder: selftest.CheckFolder(cmd.Context(), c.Data)}
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
	cmd.Flags().BoolVar(&device, "device", false, "Print which optimisations are on here, why, and what the others would need")
	cmd.Flags().BoolVar(&full, "full", false, "Test every type of keys and values; with a large model this takes minutes")
	cmd.MarkFlagsMutuallyExclusive("device", "full")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

// chooseModel sets the model to test: the named one, found as ask and serve find it, or a
// model of random weights, or the built-in one.
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
