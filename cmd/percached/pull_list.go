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

// modelLine is a model that is downloaded or can be.
type modelLine struct {
	Name      string `json:"name"`
	Source    string `json:"source,omitempty"` // empty for a file of unknown source
	About     string `json:"about,omitempty"`
	Licence   string `json:"licence,omitempty"`
	Bytes     int64  `json:"bytes"` // approximate until the file is downloaded
	Embeds    bool   `json:"embeds"`
	Pulled    bool   `json:"pulled"`
	File      string `json:"file,omitempty"`
	SHA256    string `json:"sha256,omitempty"`
	Confirmed bool   `json:"confirmed"`
}

// modelsReport lists models.
type modelsReport struct {
	Models []modelLine `json:"models"`
}

// show lists the recommended models, downloaded ones, and other files in their folder.
func (o *pullOptions) show(cmd *cobra.Command, p *pull.Puller, data string) error {
	notes, err := p.Known()
	if err != nil {
		return err
	}
	r := &modelsReport{}
	for _, e := range pull.Catalog() {
		r.Models = append(r.Models, modelLine{
			Name: e.Name, Source: e.Source(), About: e.About, Licence: e.Licence, Bytes: e.Bytes, Embeds: e.Embeds,
		})
	}
	for _, n := range notes {
		file := filepath.Join(data, "models", n.Name+".gguf")
		if n.Name == "" || !home.Exists(file) {
			continue
		}
		there := modelLine{
			Name: n.Name, Source: n.Source, Bytes: n.Bytes, Embeds: isEmbedder(file), Pulled: true,
			File: file, SHA256: n.SHA256, Confirmed: n.Confirmed,
		}
		i := slices.IndexFunc(r.Models, func(l modelLine) bool { return l.Source == n.Source && l.Name == n.Name })
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
		known := slices.ContainsFunc(r.Models, func(l modelLine) bool { return l.File == file })
		if info, err := os.Stat(file); err == nil && model && !known && !builtInFile.MatchString(name) {
			r.Models = append(r.Models, modelLine{Name: name, Bytes: info.Size(), Embeds: isEmbedder(file), Pulled: true, File: file})
		}
	}
	return cmdline.Show(cmd.OutOrStdout(), o.json, r)
}

// builtInFile is the file name of the built-in model.
var builtInFile = regexp.MustCompile(`^nano-[0-9a-f]{8}$`)

func (r *modelsReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	for _, l := range r.Models {
		is, what := "", "answers"
		switch {
		case l.Pulled && l.SHA256 == "":
			is = "present"
		case l.Pulled && l.Confirmed:
			is = "pulled"
		case l.Pulled:
			is = "pulled, hash unconfirmed"
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
	p.Line("Sizes are approximate. percached does not know the hashes: it records the hash of the first download.")
	return p.Err
}
