package pull

import (
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

const opKnown = "pull: known"

// Note is what was fetched from a source the last time that its hash was settled.
type Note struct {
	Source    string    `json:"source"`
	Name      string    `json:"name,omitempty"` // empty: it lies in a file elsewhere
	SHA256    string    `json:"sha256"`
	Bytes     int64     `json:"bytes"`
	Confirmed bool      `json:"confirmed"` // somebody named the hash
	Noted     time.Time `json:"noted"`
}

// notes are known.json.
type notes struct {
	Version int    `json:"version"`
	Models  []Note `json:"models"`
}

func (p *Puller) knownPath() string { return filepath.Join(p.dir, "known.json") }

// Known lists what was noted, by source.
func (p *Puller) Known() ([]Note, error) {
	b, err := os.ReadFile(p.knownPath())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fault.New(fault.Unavailable, opKnown, "%w", err)
	}
	var all notes
	if err := json.Unmarshal(b, &all); err != nil || all.Version != 1 {
		return nil, fault.New(fault.Unavailable, opKnown, "%s cannot be read; remove it to have the hashes of models noted anew", p.knownPath())
	}
	return all.Models, nil
}

func (p *Puller) noted(source string) (Note, error) {
	all, err := p.Known()
	if i := slices.IndexFunc(all, func(n Note) bool { return n.Source == source }); i >= 0 {
		return all[i], nil
	}
	return Note{}, err
}

// note settles the hash of a source. Other processes may note theirs meanwhile.
func (p *Puller) note(n Note) error {
	held, err := os.OpenFile(filepath.Join(p.dir, "known.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fault.New(fault.Unavailable, opKnown, "%w", err)
	}
	defer held.Close()
	if _, err := lock(held, true); err != nil {
		return fault.New(fault.Unavailable, opKnown, "%s cannot be locked: %w", held.Name(), err)
	}
	all, err := p.Known()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(o Note) bool { return o.Source == n.Source })
	for i := range all {
		if n.Name != "" && all[i].Name == n.Name { // its file was removed, and this one has its name now
			all[i].Name = ""
		}
	}
	at, _ := slices.BinarySearchFunc(all, n.Source, func(o Note, s string) int {
		if o.Source < s {
			return -1
		}
		return 1
	})
	all = slices.Insert(all, at, n)
	b, err := json.MarshalIndent(notes{Version: 1, Models: all}, "", "  ")
	if err == nil {
		err = durable.Write(p.knownPath(), append(b, '\n'))
	}
	if err != nil {
		return writeFault(err)
	}
	return nil
}
