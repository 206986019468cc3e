package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/demo"
)

func demoCommand() *cobra.Command {
	// The limit keeps the demo under a minute; a slow machine predicts less.
	o := demo.Demo{PredictionTime: 25 * time.Second}
	cmd := &cobra.Command{
		Use: "demo", Short: "Demonstrate percached with an invented inbox", Args: cobra.NoArgs,
		Long: `Starts a daemon on a new data folder, adds an invented inbox and asks a few questions:
a new one, one about another name, the first in other words, a predicted one, one with
stored tensors alone, and the first again after its mail was deleted. It prints the
outcome of each question and the address of the web page, and runs until you interrupt
it. Then it stops the daemon and deletes the folder.

The demo needs no network. The built-in model is tiny: its answers are often wrong, and
many questions that it predicts are clumsy. Use --model for a real model. The exit status
is 1 if stored work is not reused, or if anything of the deleted mail is left.
DEMO_EXIT=1 in the environment does the same as --exit.`,
		Example: `  percached demo
  percached demo --exit --data ./demo
  percached demo --model smollm2-360m-instruct-q8_0.gguf
  percached demo --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if info, err := os.Stat(o.Model); o.Model != "" && (err != nil || info.IsDir()) {
				return cmdline.Misusef("--model: there is no file %s; percached pull downloads a model and prints its path", o.Model)
			}
			o.Exit = o.Exit || o.AsJSON || os.Getenv("DEMO_EXIT") == "1"
			return o.Run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Model, "model", "", "GGUF file of the language model (default: the built-in model)")
	f.StringVar(&o.Data, "data", "", "New data folder that is kept (default: a temporary one)")
	f.BoolVar(&o.Exit, "exit", false, "Exit after the last question")
	f.BoolVar(&o.AsJSON, "json", false, "Print JSON, and exit")
	return cmd
}
