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
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/internal/pull"
)

// pullOptions are the flags of percached pull.
type pullOptions struct {
	pull.Want
	list, json bool
}

func pullCommand() *cobra.Command {
	var o pullOptions
	cmd := &cobra.Command{
		Use: "pull [NAME|ORG/REPO/FILE|URL]", Short: "Download a model file", Args: cobra.MaximumNArgs(1),
		Long: `Downloads a GGUF model into the data folder. The argument is one of:

  NAME                a model of the built-in list (see --list)
  ORG/REPO/FILE.gguf  a file of the model hub
  ORG/REPO:Q4_K_M     the file of a repository with that text in its name
  ORG/REPO            the only file of a repository, or a list of its files
  URL                 any address

You can append @REVISION to a repository. Without an argument percached takes the
largest model of the list with a free licence (Apache-2.0, MIT) that fits in a quarter of
this machine's memory, or the smallest if none fits. The hub is
Hugging Face, or the server that HF_ENDPOINT names. HF_TOKEN is sent to the hub only.

To continue an interrupted download, run the same command again. percached checks the
size and the SHA-256 hash of the file, and that it can open the model. If --sha256 is
not given, it compares the hash with that of the first download, which nobody has
confirmed. Plain http is allowed on this machine only, or together with --sha256.

A daemon can keep running. Afterwards --model, --embed-model and the configuration
accept the name of the model.`,
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
				return cmdline.Misusef("--list takes no argument")
			case o.Name != "" && o.To != "":
				return cmdline.Misusef("--as and --to cannot be used together: one names a model in the data folder, the other a file elsewhere")
			}
			conf, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return o.run(cmd, conf.Now().Data, args)
		},
	}
	linkFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&o.Name, "as", "", "Name of the model (default: made from the file name)")
	f.StringVar(&o.To, "to", "", "File to write (default: in the data folder)")
	f.StringVar(&o.SHA256, "sha256", "", "SHA-256 hash that the file must have")
	f.BoolVar(&o.list, "list", false, "List recommended small models and downloaded models")
	f.BoolVar(&o.json, "json", false, "Print JSON")
	return cmd
}

func (o *pullOptions) run(cmd *cobra.Command, data string, args []string) error {
	stderr := cmd.ErrOrStderr()
	bar := newPullProgress(stderr, time.Now)
	defer bar.clearLine()
	p, err := pull.New(pull.Options{
		Dir: filepath.Join(data, "models"), Hub: os.Getenv("HF_ENDPOINT"), Token: os.Getenv("HF_TOKEN"),
		Check: checkModelFile, Observer: bar.observer(), Now: time.Now,
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
		cmdline.Say(stderr, "Chose %s (%s, licence %s, %s) for %s of memory. percached pull --list shows others.", e.Name, megabytes(e.Bytes), e.Licence, e.About, megabytes(all))
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
	bar.clearLine()
	if err != nil {
		if r.Kept > 0 {
			cmdline.Say(stderr, "%s are kept; run the same command again to continue", megabytes(r.Kept))
		} else if fault.KindOf(err) == fault.Unavailable {
			cmdline.Say(stderr, "Without a connection to the hub, copy a GGUF file to this machine and use --model FILE.")
		}
		return err
	}
	return cmdline.Show(cmd.OutOrStdout(), o.json, &pulledReport{
		Name: r.Name, File: r.File, Bytes: r.Bytes, SHA256: r.SHA256, Confirmed: r.Confirmed, By: r.By, Fetched: r.Fetched,
		Embeds: isEmbedder(r.File), repeatArgs: o.repeatArgs(args[0]),
	})
}

// makeFolder creates a missing data folder. percached would refuse a folder that holds
// models alone, because it does not look like a data folder.
func makeFolder(data string) error {
	if home.Exists(filepath.Join(data, "schema")) {
		return nil
	}
	h, err := home.Open(data, encryption.Source{})
	if _, busy := errors.AsType[*home.InUse](err); busy {
		return nil // another process creates it now
	}
	if err != nil {
		return err
	}
	return h.Close()
}

// pulledReport describes a downloaded model.
type pulledReport struct {
	Name       string  `json:"name,omitempty"` // empty: the file is not in the data folder
	File       string  `json:"file"`
	Bytes      int64   `json:"bytes"`
	SHA256     string  `json:"sha256"`
	Confirmed  bool    `json:"confirmed"`
	By         pull.By `json:"checked_by"`
	Fetched    int64   `json:"fetched_bytes"`
	Embeds     bool    `json:"embeds"`
	repeatArgs string
}

// repeatArgs are the arguments that pull the same model again. A query may be a secret.
func (o *pullOptions) repeatArgs(what string) string {
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
		p.Line("%s was downloaded before.", model)
	}
	p.Line("%s (%s)", r.File, megabytes(r.Bytes))
	p.Line("SHA-256 %s", r.SHA256)
	if r.Confirmed {
		p.Line("The hash matches --sha256.")
	} else {
		switch r.By {
		case pull.ByHub:
			p.Line("The hub reports the same hash. Later pulls must match it. Nobody has confirmed it.")
		case pull.ByNote:
			p.Line("The hash matches the first download. Nobody has confirmed it.")
		default:
			p.Line("Later pulls must match this hash. Nobody has confirmed it.")
		}
		p.Line("To confirm it, get the hash from a source that you trust:")
		p.Line("  percached pull %s --sha256 HASH", r.repeatArgs)
	}
	p.Line("")
	if r.Embeds {
		p.Line("This is an embedding model. To use it:")
		p.Line("  percached reindex --embed-model %s", model)
		p.Line("  percached serve --embed-model %s      (or in percached.conf: embed-model = %s)", model, model)
	} else {
		p.Line("This is a language model. To use it:")
		p.Line("  percached ask --model %s QUESTION", model)
		p.Line("  percached serve --model %s      (or in percached.conf: model = %s)", model, model)
	}
	return p.Err
}
