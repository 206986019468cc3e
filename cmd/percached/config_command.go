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

	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/daemon"

	"github.com/percached/percached/internal/backend"
	"github.com/percached/percached/internal/link"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api"
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
)

func configCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "How percached is set: write, check and show its configuration", Args: cobra.NoArgs, RunE: commands.Help,
		Long: `The configuration is one file of lines "key = value". It lies in the data folder, as
percached.conf, or where --config says. Variables of the environment beat it, flags
beat both. docs/configuration.md lists all keys.`,
	}
	cmd.AddCommand(configInit(), configCheck(), configShow(), configSet())
	return cmd
}

func isData(k config.Key) bool { return k.Name == "data" }

func configInit() *cobra.Command {
	var flags []config.Setting
	cmd := &cobra.Command{
		Use: "init [FILE]", Short: "Write a configuration with every key as a comment", Args: cobra.MaximumNArgs(1),
		Long: `Writes a configuration in which every key stands as a comment, with what it is for and
its default; so it changes nothing until a "#" is taken away. Without FILE it is
percached.conf in the data folder, which is made if there is none. A file that is there
is left as it is. The name - writes to standard output.`,
		Example: `  percached config init
  percached config init /etc/percached.conf
  percached config init - | less`,
		RunE: func(cmd *cobra.Command, args []string) error {
			data, file, err := configPlace(flags, args)
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
			p.Line("wrote %s: every key stands in it as a comment", file)
			return p.Err
		},
	}
	commands.KeyFlags(cmd, &flags, isData)
	return cmd
}

// configPlace is the data folder, and the file that a command is about: the one
// that is named, or the one in the folder.
func configPlace(flags []config.Setting, args []string) (data, file string, err error) {
	environment := slices.DeleteFunc(config.Environment(os.Environ()), func(s config.Setting) bool { return s.Key != "data" })
	data = config.DataFolder(append(environment, flags...))
	switch {
	case len(args) > 0 && args[0] == "":
		return "", "", cmdline.Misusef("FILE: no file is named")
	case len(args) > 0:
		return data, args[0], nil
	case data == "":
		return "", "", cmdline.Misusef("--data: no folder is named")
	}
	return data, filepath.Join(data, config.FileName), nil
}

func configCheck() *cobra.Command {
	var flags []config.Setting
	cmd := &cobra.Command{
		Use: "check [FILE]", Short: "Tell all that is wrong with a configuration", Args: cobra.MaximumNArgs(1),
		Long: `Reads a configuration alone, without environment and flags, and tells all that is wrong
with it, each fault with its line. The exit status is 2 then. Without FILE it is
percached.conf in the data folder. Files that it names are not opened.`,
		Example: `  percached config check
  percached config check /etc/percached.conf`,
		RunE: func(cmd *cobra.Command, args []string) error {
			data, file, err := configPlace(flags, args)
			if err != nil {
				return err
			}
			if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
				return fault.New(fault.NotFound, "percached: config check", "there is no %s: percached config init makes one", file)
			}
			var folder []config.Setting
			if config.SameFile(file, filepath.Join(data, config.FileName)) {
				// As the folder's own: it may not say where it lies.
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
			p.Line("nothing is wrong; it sets %d of %d keys", set, len(config.Keys()))
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
		Use: "show", Short: "Show every key with its value, and who said it", Args: cobra.NoArgs,
		Long: `Shows every key, its value, and whose word it is: default, file, environment, flag or
runtime. If a daemon serves the data folder, it is how that is set; else, or where
flags are given, how percached serve would be set if it began with this file, this
environment and these flags.`,
		Example: `  percached config show
  percached config show --config /etc/percached.conf --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(file, os.Environ(), flags, daemon.CheckConfig)
			if err != nil {
				return err
			}
			report := configReport{backend.ShownConfig(c)}
			if !slices.ContainsFunc(flags, func(s config.Setting) bool { return s.Key != "data" }) && file == "" {
				err = ofDaemon(c.Now().Data, func(l *link.Link) error {
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
	cmd.Flags().StringVar(&file, "config", "", "file with lines of the form key = value, in place of percached.conf in the data folder")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	commands.KeyFlags(cmd, &flags, commands.IsFlag)
	return cmd
}

// ofDaemon asks the daemon that serves a data folder; NotFound: none does.
func ofDaemon(data string, ask func(l *link.Link) error) error {
	l, err := link.Running(data)
	if err == nil && l == nil {
		err = fault.New(fault.NotFound, "percached: config", "no daemon serves %s: percached serve does", data)
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
		Use: "set KEY=VALUE...", Short: "Set the running daemon otherwise, until it ends", Args: cobra.MinimumNArgs(1),
		Long: `Sets keys of the daemon that serves the data folder: all of them, or none. They hold
until it ends; what is to hold for good goes into percached.conf. Only some keys can
change while it runs: docs/configuration.md marks them.`,
		Example: `  percached config set tensor-limit=512MiB threshold=0.9`,
		RunE: func(cmd *cobra.Command, args []string) error {
			change := client.ConfigChange{}
			for _, pair := range args {
				key, value, ok := strings.Cut(pair, "=")
				if !ok {
					return cmdline.Misusef("%q is no KEY=VALUE", pair)
				}
				change[key] = value
			}
			c, err := config.Load("", os.Environ(), flags, daemon.CheckConfig)
			if err != nil {
				return err
			}
			return ofDaemon(c.Now().Data, func(l *link.Link) error {
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
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	commands.KeyFlags(cmd, &flags, isData)
	return cmd
}

// configReport is how percached is set.
type configReport struct{ api.Config }

func (r configReport) Table(w io.Writer) error { return configTable(w, r.Config) }

// configTable tells a person of every key; those that somebody has set are marked.
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
