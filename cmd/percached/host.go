package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/percached/percached/internal/node"

	"github.com/spf13/cobra"

	"github.com/percached/percached/cmd/percached/cli"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/token"
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
func (host) Dial(cmd *cobra.Command, n cli.Need) (*cli.Link, error) {
	conf, given, err := configOf(cmd)
	if err != nil {
		return nil, err
	}
	data := conf.Now().Data
	if !n.Folder && !home.Exists(data) {
		return nil, noFolder(data)
	}
	l, err := inside(cmd.Context(), conf, n.Model, node.Parts{}, cmd.ErrOrStderr())
	used, busy := errors.AsType[*home.InUse](err)
	if !busy {
		return l, err
	}
	l, none := toDaemon(data)
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
		conf, err = config.Load(file, os.Environ(), flags, checkServing)
	}
	return conf, given, err
}

// running is the way to the daemon that serves a data folder; nil if none does.
func running(data string) (*cli.Link, error) {
	if !home.Exists(filepath.Join(data, "lock")) {
		return nil, nil
	}
	if err := token.Verify(data); err != nil {
		return nil, err
	}
	h, err := home.Open(data)
	if _, busy := errors.AsType[*home.InUse](err); busy {
		return toDaemon(data)
	}
	if err == nil {
		err = h.Close()
	}
	return nil, err
}

// toDaemon is the way to the daemon that uses a data folder; nil if no daemon does.
// Only while the folder is in use its address is one to be trusted.
func toDaemon(data string) (*cli.Link, error) {
	b, err := os.ReadFile(filepath.Join(data, addressFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: address", "%w", err)
	}
	address, mark, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	tokens, err := token.Open(data)
	if err != nil {
		return nil, err
	}
	secret, _, err := tokens.Main()
	if err != nil {
		return nil, err
	}
	way := &http.Transport{DisableCompression: true} // and through no proxy
	if mark != "" {
		way.TLSClientConfig = pinned(mark)
	}
	l, err := cli.NewLink(address, secret, way)
	if err != nil {
		return nil, err
	}
	l.Daemon = address
	l.Close = func() error { way.CloseIdleConnections(); return nil }
	return l, nil
}

// markOf names a certificate.
func markOf(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// pinned trusts one certificate, whoever signed it: the daemon has said in its
// folder which it has.
func pinned(mark string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, InsecureSkipVerify: true,
		VerifyPeerCertificate: func(certificates [][]byte, _ [][]*x509.Certificate) error {
			if len(certificates) == 0 || !bytes.Equal([]byte(markOf(certificates[0])), []byte(mark)) {
				return fault.New(fault.Unavailable, "percached: address", "it has another certificate than the daemon of this data folder")
			}
			return nil
		},
	}
}
