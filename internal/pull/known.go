package pull

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// Note is what was last fetched from a source.
type Note struct {
	Source    string    `json:"source"`
	Name      string    `json:"name,omitempty"` // empty: it went to a file elsewhere
	SHA256    string    `json:"sha256"`
	Bytes     int64     `json:"bytes"`
	Confirmed bool      `json:"confirmed"` // somebody named the hash
	Noted     time.Time `json:"noted"`
}

// known is the content of known.json.
type known struct {
	Version int    `json:"version"`
	Models  []Note `json:"models"`
}

func (p *Puller) knownPath() string { return filepath.Join(p.o.Dir, "known.json") }

// Known lists all notes, by source.
func (p *Puller) Known() ([]Note, error) {
	b, err := os.ReadFile(p.knownPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all known
	if err == nil && (json.Unmarshal(b, &all) != nil || all.Version != 1) {
		err = fault.New(fault.Unavailable, opPull, "cannot read %s; remove it to have the hashes of models noted anew", p.knownPath())
	}
	return all.Models, err
}

// noted returns all notes, and that of a source.
func (p *Puller) noted(source string) (all []Note, note Note, err error) {
	all, err = p.Known()
	for _, n := range all {
		if n.Source == source {
			note = n
		}
	}
	return all, note, err
}

// settle notes the hash of a source.
func (p *Puller) settle(all []Note, before Note, s Source, r *Result) error {
	r.Confirmed = r.By == ByCaller || before.Confirmed && before.SHA256 == r.SHA256
	n := Note{Source: s.Key, Name: r.Name, SHA256: r.SHA256, Bytes: r.Bytes, Confirmed: r.Confirmed, Noted: p.o.Now().UTC().Truncate(time.Second)}
	if before.SHA256 == n.SHA256 {
		n.Noted = before.Noted
		n.Name = cmp.Or(n.Name, before.Name) // that file is still there
	}
	if n == before {
		return nil
	}
	all = slices.DeleteFunc(all, func(o Note) bool { return o.Source == n.Source })
	for i := range all {
		if n.Name != "" && all[i].Name == n.Name { // its file was removed, and this one has its name now
			all[i].Name = ""
		}
	}
	all = append(all, n)
	slices.SortFunc(all, func(a, b Note) int { return cmp.Compare(a.Source, b.Source) })
	b, err := json.MarshalIndent(known{Version: 1, Models: all}, "", "  ")
	if err == nil {
		err = durable.Write(p.knownPath(), append(b, '\n'))
	}
	if err != nil {
		return writeFault(err)
	}
	return nil
}
