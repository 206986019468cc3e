package pull

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"path"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

const opFind = "pull: find"

// Source is one file on the network.
type Source struct {
	Key  string // what its hash is noted under; tells no secret
	Name string // of the model it becomes; empty: the address gives none
	url  *url.URL
	hub  bool // the hub has it, and its word on the file counts
}

// Find turns what a person wrote into a source. Where only a repository of the
// hub is named, the hub is asked for its files.
func (p *Puller) Find(ctx context.Context, what string) (Source, error) {
	if e, ok := Listed(what); ok {
		s, err := p.hubFile(ref{repo: e.repo, file: e.file, rev: mainRev})
		s.Name = e.Name
		return s, err
	}
	for _, prefix := range []string{"hf://", "hf:", "hf.co/", "huggingface.co/"} {
		if rest, ok := strings.CutPrefix(what, prefix); ok {
			return p.inHub(ctx, rest)
		}
	}
	switch {
	case strings.Contains(what, "://"):
		return p.address(ctx, what)
	case strings.Contains(what, "/"):
		return p.inHub(ctx, what)
	}
	return Source{}, fault.New(fault.NotFound, opFind, "%q is no model of the list (percached pull --list), no ORG/REPO/FILE.gguf of a hub and no address", what)
}

func (p *Puller) inHub(ctx context.Context, written string) (Source, error) {
	r, err := parseRef(written)
	if err != nil {
		return Source{}, err
	}
	return p.choose(ctx, r)
}

// address is a source by its URL. A page of the hub stands for the file it shows.
func (p *Puller) address(ctx context.Context, written string) (Source, error) {
	u, err := url.Parse(written)
	var wrong *url.Error // says the whole address once more, with what is secret in it
	switch {
	case errors.As(err, &wrong):
		return Source{}, fault.New(fault.Invalid, opFind, "the address is not one: %w", wrong.Err)
	case err != nil:
		return Source{}, fault.New(fault.Invalid, opFind, "the address is not one: %w", err)
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return Source{}, fault.New(fault.Invalid, opFind, "an address begins with https://HOST/ or http://HOST/")
	case u.User != nil:
		return Source{}, fault.New(fault.Invalid, opFind, "the address holds a password: it would stay in the shell's history and show in the list of processes")
	}
	u.Fragment, u.RawFragment = "", ""
	if p.ofHub(u) {
		if r, ok := refOfPage(u.Path); ok {
			return p.choose(ctx, r)
		}
	}
	s := Source{Key: plain(u), Name: ModelName(path.Base(u.Path)), url: u, hub: p.ofHub(u)}
	if u.RawQuery != "" { // it may be a secret, and it may name the file
		sum := sha256.Sum256([]byte(u.RawQuery))
		s.Key += "?#" + hex.EncodeToString(sum[:6])
	}
	return s, nil
}

// plain is an address without its query.
func plain(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// ModelName makes the name of a model from that of a file: letters, digits and
// ._+- remain. It is empty where nothing of it can be used.
func ModelName(file string) string {
	if strings.EqualFold(path.Ext(file), ".gguf") {
		file = file[:len(file)-len(".gguf")]
	}
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._+-", r):
			return r
		}
		return '-'
	}, file)
	name = strings.Trim(name[:min(len(name), maxName)], ".-")
	return name
}

const maxName = 100

// checkName refuses what cannot be a model's name.
func checkName(name string) error {
	if name == "" || name != ModelName(name) {
		return fault.New(fault.Invalid, opFind, "%q cannot be the name of a model: it has letters, digits and ._+-, begins and ends with neither . nor -, and is %d long at most", name, maxName)
	}
	return nil
}
