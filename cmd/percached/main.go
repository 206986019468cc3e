package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/selftest"
)

func main() { os.Exit(commands.Main(root)) }

// root is percached with all its commands.
func root(stdin io.Reader, stdout, stderr io.Writer) *cobra.Command {
	root := commands.Root("percached", "Answer questions over your own documents, reusing earlier work",
		`Answers questions over your own documents with a language model on this device, and
reuses earlier work. If a daemon (percached serve) is running, commands send their
requests to it; otherwise they open the data folder themselves. With --url they send
them to a daemon on another machine.

Exit status: 0 done; 1 failed, or only partly done; 2 wrong usage; 3 not found;
4 temporarily unavailable, try again; 130 interrupted.`,
		`  percached add ~/Mail/inbox.mbox
  percached ask "When is the dentist appointment?"
  percached serve`, stdin, stdout, stderr)
	root.AddCommand(
		initCommand(), rekeyCommand(), reindexCommand(), repairCommand(), restoreCommand(), tokenCommand(), configCommand(), pullCommand(), commands.Serve(),
		demoCommand(), doctorCommand(selftest.OpenLlama), versionCommand(),
	)
	root.AddCommand(linkCommands(openLink)...)
	root.Version = versionText()
	root.SetVersionTemplate("{{.Version}}\n")
	remoteFlags(root)
	onlyHere(root)
	arrange(root)
	commands.Strict(root)
	return root
}

// arrange puts the commands into groups.
func arrange(root *cobra.Command) {
	for _, g := range []struct{ id, title, names string }{
		{"use", "Ask and add:", "ask conversations complete search add watch sources documents facts spaces status mcp"},
		{"stored", "Cache and idle work:", "qa gate cache history predict calibrate idle reindex"},
		{"run", "Run and maintain:", "init serve demo config token pull doctor repair backup restore rekey"},
	} {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, cmd := range root.Commands() {
			if slices.Contains(strings.Fields(g.names), cmd.Name()) {
				cmd.GroupID = g.id
			}
		}
	}
}
