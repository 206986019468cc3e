package commands

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
)

// Root makes the root of a binary's commands. Strict must follow when all are added.
func Root(use, short, long, example string, stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs, RunE: Help,
	}
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return root
}

// Help is the action of a command that only groups others.
func Help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// Strict makes all commands refuse wrong arguments with their usage line, and unknown names with
// the likeliest one, also cobra's own.
func Strict(root *cobra.Command) {
	root.SetFlagErrorFunc(unknownFlag)
	root.Args = onlyCommands
	for _, cmd := range root.Commands() {
		showUse(cmd)
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.RunE, cmd.Args = Help, onlyCommands
		case "help":
			cmd.Args = func(_ *cobra.Command, names []string) error {
				if of, rest, _ := root.Find(names); len(rest) > 0 {
					return unknownCommand(of, rest[0])
				}
				return nil
			}
		}
	}
}

// showUse makes a command, and all below it, answer wrong arguments with its usage line.
func showUse(cmd *cobra.Command) {
	for _, under := range cmd.Commands() {
		showUse(under)
	}
	check := cmd.Args
	if cmd.HasSubCommands() {
		cmd.Args = onlyCommands
		return
	}
	if check == nil {
		return
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) != nil {
			return cmdline.Misusef("usage: %s", cmd.UseLine())
		}
		return nil
	}
}

// onlyCommands refuses the arguments of a command that only groups others.
func onlyCommands(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return unknownCommand(cmd, args[0])
	}
	return nil
}
