package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/selftest"
)

func main() { os.Exit(commands.Main(root)) }

// root is percached-eval with all its commands.
func root(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	root := commands.Root("percached-eval", "Measure percached: data sets, systems, benchmarks, simulations",
		`Measures percached on data sets, against other systems, and on this machine. It starts
its own daemons and ignores a running one.

Exit status: 0 done; 1 failed, or only partly done; 2 wrong usage; 3 not found;
4 temporarily unavailable, try again; 130 interrupted.`,
		`  percached-eval run --dataset enronqa --path enronqa --users 2 --out run
  percached-eval report run
  percached-eval bench reuse --shape 135m`, stdin, stdout, stderr)
	serve := commands.Serve() // the daemon that it measures
	serve.Hidden = true
	root.AddCommand(evalRunCommand(), evalReportCommand(), evalCompareCommand(), evalLoadCommand(), shardsCommand(), evalCheckCommand(), likenessCommand(), gateCommand(),
		benchCommand(selftest.OpenLlama), drawCommand(), simulateCommand(), capacityCommand(), serve)
	commands.Strict(root)
	return root
}
