package pull

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

const (
	opFind = "pull: find"

	// DefaultHub is where models come from, unless HF_ENDPOINT names another.
	DefaultHub = "https://huggingface.co"

	mainRev = "main"
	maxName = 100     // letters of a model's name
	maxList = 8 << 20 // bytes of a repository's list of files
)

// Source is one file on the network.
type Source struct {
	Key  string // under which its hash is noted; contains no secret
	Name string // of the model; empty: the address gives none
	url  *url.URL
	hub  bool // the hub has it, and its word on the file counts
}

// Find turns what a user wrote into a source. It asks the hub for the files of a
// repository if no file is named.
func (p *Puller) Find(ctx context.Context, what string) (Source, error) {
	if e, ok := Listed(what); ok {
		s := p.hubFile(e.ref())
		s.Name = e.Name
		return s, nil
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

// address is a source by its URL. A page of the hub means the file that it shows.
func (p *Puller) address(ctx context.Context, written string) (Source, error) {
	u, err := url.Parse(written)
	switch {
	case err != nil:
		return Source{}, fault.New(fault.Invalid, opFind, "the address is not one: %w", withoutURL(err))
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return Source{}, fault.New(fault.Invalid, opFind, "an address begins with https://HOST/ or http://HOST/")
	case u.User != nil:
		return Source{}, fault.New(fault.Invalid, opFind, "the address holds a password, which would stay in the shell's history and the list of processes: leave it out")
	}
	u.Fragment, u.RawFragment = "", ""
	if m := pageForm.FindStringSubmatch(u.Path); m != nil && p.ofHub(u) {
		if r := newRef(m[1], m[3], m[2]); r.check() == nil {
			return p.choose(ctx, r)
		}
	}
	s := Source{Key: u.Scheme + "://" + u.Host + u.EscapedPath(), Name: ModelName(path.Base(u.Path)), url: u, hub: p.ofHub(u)}
	if u.RawQuery != "" { // it may be secret, and it may name the file
		sum := sha256.Sum256([]byte(u.RawQuery))
		s.Key += "?#" + hex.EncodeToString(sum[:6])
	}
	return s, nil
}

// withoutURL removes the address, which may contain secrets, from an error.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// ref is a file of a repository; without a file, the repository.
type ref struct {
	repo  string // ORG/REPO
	file  string
	rev   string
	quant string // part of the file's name if no file is named
}

var (
	// ORG/REPO[@REV][:QUANT][/FILE][@REV]
	refForm = regexp.MustCompile(`^([^/@:]+/[^/@:]+)(?:@([^/:]+))?(?::([^/@]+))?(?:/([^@]+))?(?:@(.+))?$`)
	// /ORG/REPO[/tree/REV], /ORG/REPO/blob/REV/FILE or the same with resolve
	pageForm = regexp.MustCompile(`^/([^/]+/[^/]+)(?:/(?:tree|blob|resolve)/([^/]+)(?:/(.+))?)?/?$`)
	repoForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$`)
	revForm  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`)
	split    = regexp.MustCompile(`-\d{5}-of-\d{5}\.gguf$`)
)

func newRef(repo, file, rev string) ref {
	if rev == "" {
		rev = mainRev
	}
	return ref{repo: repo, file: file, rev: rev}
}

func (r ref) key() string { return "hf:" + r.repo + "/" + r.file + "@" + r.rev }

func (r ref) check() error {
	bad := func(what, value string) error {
		return fault.New(fault.Invalid, opFind, "%q is no %s of a hub: write ORG/REPO/FILE.gguf, or ORG/REPO/FILE.gguf@REVISION", value, what)
	}
	switch {
	case !repoForm.MatchString(r.repo) || strings.Contains(r.repo, ".."):
		return bad("repository", r.repo)
	case !revForm.MatchString(r.rev) || strings.Contains(r.rev, ".."):
		return bad("revision", r.rev)
	case r.file == "":
		return nil
	case split.MatchString(r.file):
		return fault.New(fault.Unsupported, opFind, "%s is one of several files that a model was split into: name a model in one file", r.file)
	case !strings.HasSuffix(strings.ToLower(r.file), ".gguf"):
		return fault.New(fault.Invalid, opFind, "%s is no GGUF file: its name does not end in .gguf", r.file)
	case path.Clean("/"+r.file) != "/"+r.file || strings.ContainsFunc(r.file, func(c rune) bool { return c < ' ' || c == 0x7f }):
		return bad("file", r.file)
	}
	return nil
}

func (p *Puller) inHub(ctx context.Context, written string) (Source, error) {
	m := refForm.FindStringSubmatch(written)
	if m == nil {
		return Source{}, fault.New(fault.Invalid, opFind, "%q names no repository of a hub: write ORG/REPO/FILE.gguf", written)
	}
	r := newRef(m[1], m[4], m[2]+m[5])
	r.quant = m[3]
	if err := r.check(); err != nil {
		return Source{}, err
	}
	return p.choose(ctx, r)
}

// ofHub: the address is on the hub's own host.
func (p *Puller) ofHub(u *url.URL) bool {
	return u.Scheme == p.hub.Scheme && strings.EqualFold(u.Host, p.hub.Host)
}

func (p *Puller) hubFile(r ref) Source {
	parts := append([]string{r.repo, "resolve", url.PathEscape(r.rev)}, strings.Split(r.file, "/")...)
	for i := 3; i < len(parts); i++ {
		parts[i] = url.PathEscape(parts[i])
	}
	return Source{Key: r.key(), Name: ModelName(path.Base(r.file)), url: p.hub.JoinPath(parts...), hub: true}
}

// choose finds the file of a repository if none is named.
func (p *Puller) choose(ctx context.Context, r ref) (Source, error) {
	if r.file != "" {
		return p.hubFile(r), nil
	}
	all, err := p.files(ctx, r)
	if err != nil {
		return Source{}, fault.Wrap(opFind, err)
	}
	var fit []string
	for _, f := range all {
		name := strings.ToLower(f)
		if strings.Contains(name, strings.ToLower(r.quant)) && !strings.Contains(name, "mmproj") && newRef(r.repo, f, r.rev).check() == nil {
			fit = append(fit, f)
		}
	}
	switch {
	case len(fit) == 1:
		r.file = fit[0]
		return p.hubFile(r), nil
	case len(fit) == 0:
		return Source{}, fault.New(fault.NotFound, opFind, "%s has no GGUF file in one piece that fits", r.repo)
	}
	at := "\n  " + r.repo + "/"
	return Source{}, fault.New(fault.Invalid, opFind, "%s has several GGUF files, name one of them:%s%s", r.repo, at, strings.Join(fit, at))
}

// files asks the hub for the names of a repository's files.
func (p *Puller) files(ctx context.Context, r ref) (names []string, err error) {
	u := p.hub.JoinPath("api/models", r.repo)
	if r.rev != mainRev {
		u = u.JoinPath("revision", url.PathEscape(r.rev))
	}
	ctx, cancel := context.WithTimeout(ctx, p.stall)
	defer cancel()
	got, err := p.get(ctx, Source{url: u, hub: true}, false, nil)
	if err != nil {
		return nil, err
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return nil, p.refused(got.Response)
	}
	var list struct {
		Siblings []struct {
			Name string `json:"rfilename"`
		} `json:"siblings"`
	}
	if err := json.NewDecoder(io.LimitReader(got.Body, maxList)).Decode(&list); err != nil {
		return nil, fault.New(fault.Unavailable, opFind, "cannot read the list of files of %s from %s", r.repo, u.Host)
	}
	for _, f := range list.Siblings {
		names = append(names, f.Name)
	}
	return names, nil
}

// ModelName makes the name of a model from that of a file: it keeps letters, digits
// and ._+-. The name is empty if nothing can be used.
func ModelName(file string) string {
	if strings.EqualFold(path.Ext(file), ".gguf") {
		file = file[:len(file)-len(".gguf")]
	}
	name := regexp.MustCompile(`[^A-Za-z0-9._+-]`).ReplaceAllString(file, "-")
	return strings.Trim(name[:min(len(name), maxName)], ".-")
}
