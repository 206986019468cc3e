package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
)

// The environment variables that name a daemon and its token.
const (
	urlVariable       = "PERCACHED_URL"
	tokenVariable     = "PERCACHED_TOKEN"
	tokenFileVariable = "PERCACHED_TOKEN_FILE"
)

// remoteFlags gives all commands the flags that name a daemon by its address.
func remoteFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.String("url", "", "Address of a daemon, such as https://percached.example.org (default: PERCACHED_URL)")
	f.String("token-file", "", "File with the token of --url (default: PERCACHED_TOKEN_FILE, or the token in PERCACHED_TOKEN)")
	f.String("token", "", "Token of --url. Other users of this machine can see it while the command runs; prefer --token-file")
	f.Bool("insecure-http", false, "Allow --url with http to another machine, without encryption")
}

// remote returns the daemon that flags or the environment name by its address, or nil. The
// flag --url overrides --data, and --data overrides the environment.
func remote(cmd *cobra.Command) (*link.Target, error) {
	f := cmd.Flags()
	t := &link.Target{URL: strings.TrimSpace(os.Getenv(urlVariable))}
	if data := f.Lookup("data"); data != nil && data.Changed {
		if f.Changed("url") {
			return nil, cmdline.Misusef("--url names a daemon, and --data a folder of this machine; leave out one of them")
		}
		t.URL = ""
	}
	var tokenFlag, tokenFile string
	for name, to := range map[string]*string{"url": &t.URL, "token": &tokenFlag, "token-file": &tokenFile} {
		if f.Changed(name) {
			*to = strings.TrimSpace(f.Lookup(name).Value.String())
		}
	}
	if t.URL == "" {
		for _, name := range []string{"token", "token-file", "insecure-http"} {
			if f.Changed(name) {
				return nil, cmdline.Misusef("--%s is of use only with --url or %s", name, urlVariable)
			}
		}
		return nil, nil
	}
	t.PlainHTTP, _ = f.GetBool("insecure-http")
	switch {
	case f.Changed("token") && f.Changed("token-file"):
		return nil, cmdline.Misusef("--token and --token-file name two tokens; leave out one of them")
	case f.Changed("token"):
		t.Secret = tokenFlag
	case f.Changed("token-file"), os.Getenv(tokenVariable) == "" && os.Getenv(tokenFileVariable) != "":
		if !f.Changed("token-file") {
			tokenFile = os.Getenv(tokenFileVariable)
		}
		secret, err := readToken(tokenFile)
		if err != nil {
			return nil, err
		}
		t.Secret = secret
	default:
		t.Secret = strings.TrimSpace(os.Getenv(tokenVariable))
	}
	return t, t.Check()
}

// readToken reads a token from a file.
func readToken(name string) (string, error) {
	const most = 4096 // bytes
	f, err := os.Open(name)
	if err != nil {
		if p, ok := err.(*fs.PathError); ok {
			err = p.Err
		}
		return "", fault.New(fault.NotFound, "percached: token file", "cannot read the token from %q: %w", name, err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	b, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return "", fault.New(fault.Unavailable, "percached: token file", "cannot read the token from %q: %w", name, err)
	}
	secret := string(bytes.TrimSpace(b))
	if secret == "" || len(b) == most {
		return "", cmdline.Misusef("the file %s does not contain a token; it has one word, as percached token create prints it", name)
	}
	return secret, nil
}

// runningDaemon returns the link to the daemon that the command line names, or to the one
// that serves a data folder. It returns nil if there is none.
func runningDaemon(cmd *cobra.Command, data string) (*link.Link, error) {
	t, err := remote(cmd)
	if err != nil {
		return nil, err
	}
	if t != nil {
		return link.Remote(*t)
	}
	return link.Running(data)
}

// onlyHere makes commands refuse the address of a daemon: they work on this machine.
// Those on a data folder also refuse the address in the environment, which may mean another.
func onlyHere(root *cobra.Command) {
	const folder = " init rekey reindex repair token config-init config-check doctor pull "
	const own = " serve demo "
	for _, cmd := range root.Commands() {
		for _, c := range append([]*cobra.Command{cmd}, cmd.Commands()...) {
			name := " " + cmd.Name() + " "
			full := " " + strings.ReplaceAll(strings.TrimPrefix(c.CommandPath(), root.Name()+" "), " ", "-") + " "
			switch {
			case strings.Contains(folder, name), strings.Contains(folder, full):
				refuseRemote(c, true)
			case strings.Contains(own, name):
				refuseRemote(c, false)
			}
		}
	}
}

func refuseRemote(cmd *cobra.Command, environment bool) {
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f := cmd.Flags()
		for _, name := range []string{"url", "token", "token-file", "insecure-http"} {
			if f.Changed(name) && (name != "url" || f.Lookup(name).Value.String() != "") {
				return cmdline.Misusef("%s works on this machine, not on a daemon elsewhere; leave out --%s", cmd.CommandPath(), name)
			}
		}
		data := f.Lookup("data")
		if environment && !f.Changed("url") && os.Getenv(urlVariable) != "" && !(data != nil && data.Changed) && !cmd.HasSubCommands() {
			return cmdline.Misusef("%s works on a data folder of this machine, but %s names the daemon at %s; pass --data to name the folder, or unset %s",
				cmd.CommandPath(), urlVariable, cmdline.Plain(os.Getenv(urlVariable)), urlVariable)
		}
		return run(cmd, args)
	}
}
