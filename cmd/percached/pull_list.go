package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/pull"
)

// pullLine is a model that can be had or is there.
type pullLine struct {
	Name      string `json:"name"`
	Source    string `json:"source,omitempty"` // empty: a file that nothing is noted of
	About     string `json:"about,omitempty"`
	Licence   string `json:"licence,omitempty"`
	Bytes     int64  `json:"bytes"` // about, until it is there
	Embeds    bool   `json:"embeds"`
	Pulled    bool   `json:"pulled"`
	File      string `json:"file,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	Confirmed bool   `json:"confirmed"`
}

// pullReport lists models.
type pullReport struct {
	Models []pullLine `json:"models"`
}

// show lists the short list, what was pulled, and what else lies with it.
func (o *pulling) show(cmd *cobra.Command, p *pull.Puller, data string) error {
	notes, err := p.Known()
	if err != nil {
		return err
	}
	r := &pullReport{}
	for _, e := range pull.Catalog() {
		r.Models = append(r.Models, pullLine{
			Name: e.Name, Source: e.Source(), About: e.About, Licence: e.Licence, Bytes: e.Bytes, Embeds: e.Embeds,
		})
	}
	for _, n := range notes {
		file := filepath.Join(data, "models", n.Name+".gguf")
		if n.Name == "" || !home.Exists(file) {
			continue
		}
		there := pullLine{
			Name: n.Name, Source: n.Source, Bytes: n.Bytes, Embeds: embeds(file), Pulled: true,
			File: file, SHA256: n.SHA256, Confirmed: n.Confirmed,
		}
		i := slices.IndexFunc(r.Models, func(l pullLine) bool { return l.Source == n.Source && l.Name == n.Name })
		if i < 0 {
			r.Models = append(r.Models, there)
			continue
		}
		there.About, there.Licence = r.Models[i].About, r.Models[i].Licence
		r.Models[i] = there
	}
	others, err := os.ReadDir(filepath.Join(data, "models"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Unavailable, "percached: pull", "%w", err)
	}
	for _, e := range others {
		file := filepath.Join(data, "models", e.Name())
		name, model := strings.CutSuffix(e.Name(), ".gguf")
		known := slices.ContainsFunc(r.Models, func(l pullLine) bool { return l.File == file })
		if info, err := os.Stat(file); err == nil && model && !known && !builtInFile.MatchString(name) {
			r.Models = append(r.Models, pullLine{Name: name, Bytes: info.Size(), Embeds: embeds(file), Pulled: true, File: file})
		}
	}
	return cmdline.Show(cmd.OutOrStdout(), o.json, r)
}

// builtInFile is the name of the built-in model where it lies among the others.
var builtInFile = regexp.MustCompile(`^nano-[0-9a-f]{8}$`)

func (r *pullReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	for _, l := range r.Models {
		is, what := "", "answers"
		switch {
		case l.Pulled && l.SHA256 == "":
			is = "there"
		case l.Pulled && l.Confirmed:
			is = "pulled"
		case l.Pulled:
			is = "pulled, hash not confirmed"
		}
		if l.Embeds {
			what = "embeds"
		}
		about := l.About
		if about == "" {
			about = l.Source
		}
		p.Line("%-26s %-8s %10s  %-20s %s", l.Name, what, megabytes(l.Bytes), l.Licence, about)
		if is != "" {
			p.Line("%-26s %s: %s", "", is, l.File)
		}
	}
	p.Line("")
	p.Line("Sizes are about. Their hashes are not known here: what comes first is noted, and nobody has confirmed it.")
	return p.Err
}
