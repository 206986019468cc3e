package main

import (
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/token"
)

// dialer opens the link to percached that a command uses. The command closes it.
type dialer func(cmd *cobra.Command, n need) (*link.Link, error)

// need says how a command opens a data folder that no daemon uses.
type need struct {
	Folder bool // create a missing folder
	Model  bool // open the language model
	Daemon bool // refuse to open the folder: only a daemon will do
}

// linkFlags gives a command the flags that name the data folder, and flags for some keys.
func linkFlags(cmd *cobra.Command, keys ...string) {
	usual := config.DaemonDefault()
	keys = append([]string{"data"}, keys...)
	usual.Flags(cmd, keys...)
	for _, k := range keys {
		f := cmd.Flags().Lookup(k)
		f.Annotations = map[string][]string{configAnnotation: nil}
		if k != "data" {
			f.Usage += " (without a daemon only)"
		}
	}
	cmd.Flags().String("config", "", "Configuration file (default: percached.conf in the data folder)")
}

// configAnnotation marks flags that set a key. A command's own flag may have the same name.
const configAnnotation = "config"

// openLink links to the daemon that the command line or the environment names, or to the one
// that uses the data folder. Without one, it opens the folder for this command.
func openLink(cmd *cobra.Command, n need) (*link.Link, error) {
	t, err := remote(cmd)
	if err != nil {
		return nil, err
	}
	if t != nil {
		return openRemote(cmd, *t)
	}
	conf, given, err := loadConfig(cmd)
	if err != nil {
		return nil, err
	}
	data := conf.Now().Data
	if !n.Folder && !home.Exists(data) {
		return nil, noFolder(data)
	}
	if n.Daemon {
		if err := token.Verify(data); err != nil { // as every command does
			return nil, err
		}
		var l *link.Link
		if home.Locked(data) {
			if l, err = link.Daemon(data); err != nil {
				return nil, err
			}
		}
		if l == nil {
			return nil, fault.New(fault.Unavailable, "cli.dial", "no daemon runs on %s; start one with percached serve", data)
		}
		return beside(cmd, l, conf.Now())
	}
	l, err := daemon.InProcess(cmd.Context(), conf, n.Model, node.Dependencies{}, cmd.ErrOrStderr())
	used, busy := errors.AsType[*home.InUse](err)
	if !busy {
		return l, err
	}
	l, none := link.Daemon(data)
	switch {
	case none != nil:
		return nil, none
	case l == nil: // another command uses the folder, or a daemon that does not listen yet
		return nil, err
	}
	if len(given) > 0 {
		return nil, cmdline.Misusef("%s serves %s with its own configuration, so --%s has no effect; leave it out, or use percached config set", used.Who, data, strings.Join(given, ", --"))
	}
	return beside(cmd, l, conf.Now())
}

// beside returns the link to a daemon of this machine when it can answer questions.
func beside(cmd *cobra.Command, l *link.Link, c config.Config) (*link.Link, error) {
	l.SyncFiles = sync.OnceValues(func() (*home.SyncFiles, error) { return home.OpenSyncFiles(c.Data, c.KeySource()) })
	return ready(cmd, l)
}

// ready returns the link when its daemon can answer questions, and closes it if that fails.
func ready(cmd *cobra.Command, l *link.Link) (*link.Link, error) {
	if err := l.Ready(cmd.Context(), cmd.ErrOrStderr()); err != nil {
		l.Close() //nolint:errcheck // it is only a connection
		return nil, err
	}
	return l, nil
}

// openRemote links to a daemon that is named by its address.
func openRemote(cmd *cobra.Command, t link.Target) (*link.Link, error) {
	var given []string
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if _, key := f.Annotations[configAnnotation]; key || f.Name == "config" {
			given = append(given, f.Name)
		}
	})
	if len(given) > 0 {
		return nil, cmdline.Misusef("the daemon at %s has its own configuration, so --%s has no effect; leave it out", cmdline.Plain(t.URL), strings.Join(given, ", --"))
	}
	l, err := link.Remote(t)
	if err != nil {
		return nil, err
	}
	return ready(cmd, l)
}

// loadConfig loads the configuration of a command. It also returns the keys other than data
// that flags set.
func loadConfig(cmd *cobra.Command) (conf *config.Loaded, given []string, err error) {
	var flags []config.Setting
	for _, k := range config.Keys() {
		f := cmd.Flags().Lookup(k.Name)
		if f == nil || !f.Changed {
			continue
		}
		if _, ok := f.Annotations[configAnnotation]; !ok {
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
