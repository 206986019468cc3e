package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/internal/pull"
)

// pulling is what pull is asked for.
type pulling struct {
	pull.Want
	list, json bool
}

func pullCommand() *cobra.Command {
	var o pulling
	cmd := &cobra.Command{
		Use: "pull [NAME|ORG/REPO/FILE|URL]", Short: "Fetch a model file", Args: cobra.MaximumNArgs(1),
		Long: `Fetches a GGUF model into the data folder: one of a short list by its name (see
--list), a file of a hub as ORG/REPO/FILE.gguf, or any address. The hub is
Hugging Face, or what HF_ENDPOINT names; HF_TOKEN is sent to it and to nobody else.
ORG/REPO alone tells the files of a repository, or takes the only one;
ORG/REPO:Q4_K_M takes the one with that in its name; @REVISION may stand behind.
Without a name it is the largest of the list that takes a quarter of this machine's
memory.

What was cut goes on from where it was when the same command runs again. Size and
SHA-256 are checked, and whether it is a model that percached can open, before the
file gets its name. The hash is the one that --sha256 names, else the one that was
noted when the same thing was fetched before; with neither it is noted now, and
nobody has confirmed it. Plain http is for this machine, and for files whose hash is
named: anybody on the way could exchange another.

A daemon may run meanwhile. --model and --embed-model then take the name of the
model, in the configuration, too.`,
		Example: `  percached pull
  percached pull --list
  percached pull qwen2.5-0.5b-instruct
  percached pull Qwen/Qwen2.5-0.5B-Instruct-GGUF
  percached pull https://example.org/models/small.gguf --as small --sha256 HASH`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, e := range pull.Catalog() {
				names = append(names, e.Name)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case o.list && len(args) > 0:
				return cmdline.Misusef("--list takes no model")
			case o.Name != "" && o.To != "":
				return cmdline.Misusef("--as names a model of the data folder, --to a file elsewhere: only one of them can be")
			}
			conf, _, err := configOf(cmd)
			if err != nil {
				return err
			}
			return o.run(cmd, conf.Now().Data, args)
		},
	}
	linkFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Name, "as", "", "name of the model (default: made from that of the file)")
	f.StringVar(&o.To, "to", "", "put it into this file and not into the data folder")
	f.StringVar(&o.SHA256, "sha256", "", "hash that the file must have")
	f.BoolVar(&o.list, "list", false, "list good small models, and what has been pulled")
	f.BoolVar(&o.json, "json", false, "print a JSON object")
	return cmd
}

func (o *pulling) run(cmd *cobra.Command, data string, args []string) error {
	stderr := cmd.ErrOrStderr()
	bar := newPullBar(stderr, time.Now)
	defer bar.end()
	p, err := pull.New(pull.Options{
		Dir: filepath.Join(data, "models"), Hub: os.Getenv("HF_ENDPOINT"), Token: os.Getenv("HF_TOKEN"),
		Check: checkModel, Observer: bar.observer(), Now: time.Now,
	})
	if err != nil {
		return err
	}
	defer p.Close()
	if o.list {
		return o.show(cmd, p, data)
	}
	if len(args) == 0 {
		all := machine.Memory()
		e := pull.Suggested(all)
		cmdline.Say(stderr, "%s (%s, licence %s, %s), for %s of memory. percached pull --list shows others.", e.Name, megabytes(e.Bytes), e.Licence, e.About, megabytes(all))
		args = []string{e.Name}
	}
	s, err := p.Find(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	if err := makeFolder(data); err != nil {
		return err
	}
	bar.name = s.Name
	if o.Name != "" {
		bar.name = o.Name
	}
	r, err := p.Pull(cmd.Context(), s, o.Want)
	bar.end()
	if err != nil {
		if r.Kept > 0 {
			cmdline.Say(stderr, "%s are kept: run the same command again to go on from there", megabytes(r.Kept))
		} else if fault.KindOf(err) == fault.Unavailable {
			cmdline.Say(stderr, "Without a way to the hub: copy a GGUF file of any small model to this machine, and name it with --model FILE.")
		}
		return err
	}
	return cmdline.Show(cmd.OutOrStdout(), o.json, &pulledReport{
		Name: r.Name, File: r.File, Bytes: r.Bytes, SHA256: r.SHA256, Confirmed: r.Confirmed, By: r.By, Fetched: r.Fetched,
		Embeds: embeds(r.File), again: o.again(args[0]),
	})
}

// makeFolder makes a data folder where there is none: models alone in a folder
// would look like somebody else's. One that a daemon uses is left as it is.
func makeFolder(data string) error {
	if home.Exists(filepath.Join(data, "schema")) {
		return nil
	}
	h, err := home.Open(data)
	if _, busy := errors.AsType[*home.InUse](err); busy {
		return nil // somebody makes it just now
	}
	if err != nil {
		return err
	}
	return h.Close()
}

// pulledReport tells of a model that is there.
type pulledReport struct {
	Name      string  `json:"name,omitempty"` // empty: it was put elsewhere
	File      string  `json:"file"`
	Bytes     int64   `json:"bytes"`
	SHA256    string  `json:"sha256"`
	Confirmed bool    `json:"confirmed"`
	By        pull.By `json:"checked_by"`
	Fetched   int64   `json:"fetched_bytes"`
	Embeds    bool    `json:"embeds"`
	again     string
}

// again is what to call to pull the same once more. A query may be a secret.
func (o *pulling) again(what string) string {
	what, _, cut := strings.Cut(what, "?")
	if cut {
		what += "?..."
	}
	if o.Name != "" {
		what += " --as " + o.Name
	}
	if o.To != "" {
		what += " --to " + o.To
	}
	return what
}

func (r *pulledReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	model := r.Name
	if model == "" {
		model = r.File
	}
	if r.Fetched == 0 {
		p.Line("%s is there already: nothing was fetched", model)
	}
	p.Line("%s (%s)", r.File, megabytes(r.Bytes))
	p.Line("SHA-256 %s", r.SHA256)
	if r.Confirmed {
		p.Line("This is the hash that you named.")
	} else {
		switch r.By {
		case pull.ByHub:
			p.Line("The hub says the same. It is noted now and held against later pulls, but nobody has confirmed it.")
		case pull.ByNote:
			p.Line("It is the one that was noted the first time, but nobody has confirmed it.")
		default:
			p.Line("It was taken of what came and is noted now, but nobody has confirmed it.")
		}
		p.Line("To confirm it, get the hash from somebody you trust:")
		p.Line("  percached pull %s --sha256 HASH", r.again)
	}
	p.Line("")
	if r.Embeds {
		p.Line("It matches questions and finds chunks. To use it:")
		p.Line("  percached reindex --embed-model %s", model)
		p.Line("  percached serve --embed-model %s      (or in percached.conf: embed-model = %s)", model, model)
	} else {
		p.Line("It answers questions. To use it:")
		p.Line("  percached ask --model %s QUESTION", model)
		p.Line("  percached serve --model %s      (or in percached.conf: model = %s)", model, model)
	}
	return p.Err
}
