package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api"
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/backend"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/link"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Write, check, show and change the configuration", Args: cobra.NoArgs, RunE: commands.Help,
		Long: `The configuration is one file with lines of the form "key = value": percached.conf in
the data folder, or the file that --config names. Environment variables override the
file; flags override both. docs/configuration.md lists all keys.`,
	}
	cmd.AddCommand(configInit(), configCheck(), configShow(), configSet())
	return cmd
}

func isData(k config.Key) bool { return k.Name == "data" }

func configInit() *cobra.Command {
	var flags []config.Setting
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a configuration file with every key as a comment", Args: cobra.MaximumNArgs(1),
		Long: `Writes a configuration file with every key as a comment that shows what the key sets
and its default. To set a key, remove the "#" before it. The default FILE is
percached.conf in the data folder; percached creates a missing folder. It never
overwrites a file. The name - writes to standard output.`,
		Example: `  percached config init
  percached config init /etc/percached.conf
  percached config init - | less`,
		RunE: func(cmd *cobra.Command, args []string) error {
			data, file, err := configTarget(flags, args)
			if err != nil {
				return err
			}
			if file == "-" {
				_, err := io.WriteString(cmd.OutOrStdout(), config.FileText(false))
				return err
			}
			if err := config.WriteFile(file, data); err != nil {
				return err
			}
			p := &cmdline.Printer{W: cmd.OutOrStdout()}
			p.Line("wrote %s with every key as a comment", file)
			return p.Err
		},
	}
	commands.KeyFlags(cmd, &flags, isData)
	return cmd
}

// configTarget returns the data folder and the configuration file: the named one, or the
// one in the data folder.
func configTarget(flags []config.Setting, args []string) (data, file string, err error) {
	environment := slices.DeleteFunc(config.Environment(os.Environ()), func(s config.Setting) bool { return s.Key != "data" })
	data = config.DataFolder(append(environment, flags...))
	switch {
	case len(args) > 0 && args[0] == "":
		return "", "", cmdline.Misusef("FILE is empty")
	case len(args) > 0:
		return data, args[0], nil
	case data == "":
		return "", "", cmdline.Misusef("--data is empty")
	}
	return data, filepath.Join(data, config.FileName), nil
}

func configCheck() *cobra.Command {
	var flags []config.Setting
	cmd := &cobra.Command{
		Use: "check [FILE]", Short: "Check a configuration file", Args: cobra.MaximumNArgs(1),
		Long: `Checks a configuration file without environment and flags, and prints every error with
its line. The exit status is 2 if there are errors. The default FILE is percached.conf
in the data folder. The command does not open the files that the keys name.`,
		Example: `  percached config check
  percached config check /etc/percached.conf`,
		RunE: func(cmd *cobra.Command, args []string) error {
			data, file, err := configTarget(flags, args)
			if err != nil {
				return err
			}
			if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
				if len(args) == 0 { // percached works without one
					p := &cmdline.Printer{W: cmd.OutOrStdout()}
					p.Line("there is no file %s, so every key has its default; percached config init writes one", file)
					return p.Err
				}
				return fault.New(fault.NotFound, "percached: config check", "there is no file %s; percached config init writes one", file)
			}
			var folder []config.Setting
			if config.SameFile(file, filepath.Join(data, config.FileName)) {
				// The file in the data folder may not name another folder.
				file, folder = "", []config.Setting{config.FromFlag("data", data)}
			}
			c, err := config.Load(file, nil, folder, daemon.CheckConfig)
			if err != nil {
				return err
			}
			set := 0
			for _, s := range c.All() {
				if s.Source == "file" {
					set++
				}
			}
			p := &cmdline.Printer{W: cmd.OutOrStdout()}
			p.Line("no errors; %d of %d keys are set", set, len(config.Keys()))
			return p.Err
		},
	}
	commands.KeyFlags(cmd, &flags, isData)
	return cmd
}

func configShow() *cobra.Command {
	var file string
	var flags []config.Setting
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show", Short: "Show every key with its value and source", Args: cobra.NoArgs,
		Long: `Shows every key with its value and source: default, file, environment, flag or
runtime. If a daemon is running, these are its values. Without a daemon, or with flags,
these are the values that percached serve would start with.`,
		Example: `  percached config show
  percached config show --config /etc/percached.conf --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(file, os.Environ(), flags, daemon.CheckConfig)
			if err != nil {
				return err
			}
			report := configReport{backend.ShownConfig(c)}
			if !slices.ContainsFunc(flags, func(s config.Setting) bool { return s.Key != "data" }) && file == "" {
				err = withDaemon(cmd, c.Now().Data, func(l *link.Link) error {
					r, err := l.GetConfigWithResponse(cmd.Context())
					if err != nil {
						return err
					}
					return json.Unmarshal(r.Body, &report.Config)
				})
			}
			if err != nil && fault.KindOf(err) != fault.NotFound {
				return err
			}
			return cmdline.Show(cmd.OutOrStdout(), asJSON, report)
		},
	}
	cmd.Flags().StringVar(&file, "config", "", "Configuration file (default: percached.conf in the data folder)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	commands.KeyFlags(cmd, &flags, commands.IsFlag)
	return cmd
}

// withDaemon calls ask with a link to the daemon that the command line names, or to that of
// a data folder. NotFound means that no daemon is running.
func withDaemon(cmd *cobra.Command, data string, ask func(l *link.Link) error) error {
	l, err := runningDaemon(cmd, data)
	if err == nil && l == nil {
		err = fault.New(fault.NotFound, "percached: config", "no daemon is running on %s; start one with percached serve", data)
	}
	if err != nil {
		return err
	}
	err = ask(l)
	if shut := l.Close(); err == nil {
		err = shut
	}
	return err
}

func configSet() *cobra.Command {
	var flags []config.Setting
	var asJSON bool
	cmd := &cobra.Command{
		Use: "set KEY=VALUE...", Short: "Change keys of the running daemon until it stops", Args: cobra.MinimumNArgs(1),
		Long: `Changes keys of the running daemon until it stops. If one value is wrong, none
changes. Only live keys can change at run time; docs/configuration.md marks them. To
make a setting permanent, put it in percached.conf.`,
		Example: `  percached config set tensor-limit=512MiB threshold=0.9`,
		RunE: func(cmd *cobra.Command, args []string) error {
			change := client.ConfigChange{}
			for _, pair := range args {
				key, value, ok := strings.Cut(pair, "=")
				if !ok {
					return cmdline.Misusef("%q is not of the form KEY=VALUE", pair)
				}
				change[key] = value
			}
			c, err := config.Load("", os.Environ(), flags, daemon.CheckConfig)
			if err != nil {
				return err
			}
			return withDaemon(cmd, c.Now().Data, func(l *link.Link) error {
				r, err := l.ChangeConfigWithResponse(cmd.Context(), change)
				if err != nil {
					return err
				}
				var report configReport
				if err := json.Unmarshal(r.Body, &report.Config); err != nil {
					return err
				}
				report.Settings = slices.DeleteFunc(report.Settings, func(s api.Setting) bool { _, set := change[s.Key]; return !set })
				return cmdline.Show(cmd.OutOrStdout(), asJSON, report)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON")
	commands.KeyFlags(cmd, &flags, isData)
	return cmd
}

// configReport lists the keys.
type configReport struct{ api.Config }

func (r configReport) Table(w io.Writer) error { return configTable(w, r.Config) }

// configTable prints every key, and marks those that are not at their default.
func configTable(w io.Writer, c api.Config) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	p := &cmdline.Printer{W: t}
	p.Line("  KEY\tVALUE\tFROM")
	for _, s := range c.Settings {
		mark := " "
		if s.Source != "default" {
			mark = "*"
		}
		p.Line("%s %s\t%s\t%s", mark, s.Key, strings.ReplaceAll(s.Value, "\t", " "), s.Source)
	}
	if p.Err != nil {
		return p.Err
	}
	return t.Flush()
}
