package main

import (
	"errors"
	"os"
	"strings"

	"github.com/percached/percached/internal/daemon"

	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"

	"github.com/spf13/cobra"

	"github.com/percached/percached/cmd/percached/cli"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
)

// host leads the commands of package cli to a percached: to the daemon that uses
// the data folder, or to one that is opened for the command.
type host struct{}

// Flags gives a command the flags that say which percached is meant, and those of
// some keys of the configuration.
func (host) Flags(cmd *cobra.Command, keys ...string) {
	usual := config.DaemonDefault()
	keys = append([]string{"data"}, keys...)
	usual.Flags(cmd, keys...)
	for _, k := range keys {
		f := cmd.Flags().Lookup(k)
		f.Annotations = map[string][]string{ofConfig: nil}
		if k != "data" {
			f.Usage += " (where no daemon runs)"
		}
	}
	cmd.Flags().String("config", "", "configuration file (default: percached.conf in the data folder)")
}

// ofConfig marks flags that set a key of the configuration: a command's own may
// have the name of one, too.
const ofConfig = "config"

// Dial opens the way to a percached.
func (host) Dial(cmd *cobra.Command, n cli.Need) (*link.Link, error) {
	conf, given, err := configOf(cmd)
	if err != nil {
		return nil, err
	}
	data := conf.Now().Data
	if !n.Folder && !home.Exists(data) {
		return nil, noFolder(data)
	}
	l, err := daemon.Inside(cmd.Context(), conf, n.Model, node.Parts{}, cmd.ErrOrStderr())
	used, busy := errors.AsType[*home.InUse](err)
	if !busy {
		return l, err
	}
	l, none := link.Daemon(data)
	switch {
	case none != nil:
		return nil, none
	case l == nil: // a command uses it, or a daemon that does not listen yet
		return nil, err
	}
	if len(given) > 0 {
		return nil, cmdline.Misusef("%s serves %s with its own configuration: --%s cannot be given now; see percached config show", used.Who, data, strings.Join(given, ", --"))
	}
	return l, l.Ready(cmd.Context(), cmd.ErrOrStderr())
}

// configOf is the configuration that a command is called with, and the names of
// the keys that its flags set, but for the folder.
func configOf(cmd *cobra.Command) (conf *config.Loaded, given []string, err error) {
	var flags []config.Setting
	for _, k := range config.Keys() {
		f := cmd.Flags().Lookup(k.Name)
		if f == nil || !f.Changed {
			continue
		}
		if _, ok := f.Annotations[ofConfig]; !ok {
			continue
		}
		flags = append(flags, config.FromFlag(k.Name, f.Value.String()))
		if k.Name != "data" {
			given = append(given, k.Name)
		}
	}
	file, err := cmd.Flags().GetString("config")
	if err == nil {
		conf, err = config.Load(file, os.Environ(), flags, daemon.CheckConfig)
	}
	return conf, given, err
}
