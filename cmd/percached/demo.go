package main

import (
	"os"
	"time"

	"github.com/percached/percached/internal/demo"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
)

func demoCommand() *cobra.Command {
	// A slow machine leaves some of the prediction undone, and all stays under a minute.
	o := demo.Demo{Predicting: 25 * time.Second}
	cmd := &cobra.Command{
		Use: "demo", Short: "Show what percached does, on an invented inbox", Args: cobra.NoArgs,
		Long: `Starts a daemon on a data folder of its own, takes in an invented inbox that is part
of the binary, and asks: for the first time, about another name, in other words,
what was predicted meanwhile, with stored tensors alone, and after the mail with the
answer was deleted. It prints what came of each question, tells the address of the
page and stays up until it is interrupted. Then the daemon ends and the folder goes.

Nothing is fetched from anywhere. The built-in model is tiny and there for
demonstration: its answers are often wrong, and the questions that it predicts are
clumsy. --model shows the same with a model that people use. What is checked is that stored
work is used where it may be, and that nothing of a deleted mail is left: otherwise
the exit status is 1. DEMO_EXIT=1 in the environment does what --exit does.`,
		Example: `  percached demo
  percached demo --exit --data ./demo
  percached demo --model smollm2-360m-instruct-q8_0.gguf
  percached demo --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if info, err := os.Stat(o.Model); o.Model != "" && (err != nil || info.IsDir()) {
				return cmdline.Misusef("--model: there is no file %s; percached pull fetches a model, and tells where it is", o.Model)
			}
			o.Exit = o.Exit || o.AsJSON || os.Getenv("DEMO_EXIT") == "1"
			return o.Run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Model, "model", "", "GGUF file of a language model (default: the one that is built in)")
	f.StringVar(&o.Data, "data", "", "new data folder that stays behind (default: one that goes)")
	f.BoolVar(&o.Exit, "exit", false, "end when all is shown")
	f.BoolVar(&o.AsJSON, "json", false, "print a JSON object, and end")
	return cmd
}
