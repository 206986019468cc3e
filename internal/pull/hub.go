package pull

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// DefaultHub is where models come from, unless HF_ENDPOINT names another.
const DefaultHub = "https://huggingface.co"

const (
	mainRev  = "main"
	maxList  = 8 << 20 // bytes of what a hub says of a repository
	maxFiles = 40      // that are told of
)

// ref is a file of a repository; without a file, the repository.
type ref struct {
	repo  string // ORG/REPO
	file  string
	rev   string
	quant string // a part of the file's name, where no file is named
}

func (r ref) key() string { return "hf:" + r.repo + "/" + r.file + "@" + r.rev }

var (
	repoName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}$`)
	revName  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$`)
	splitOf  = regexp.MustCompile(`-\d{5}-of-\d{5}\.gguf$`)
)

// parseRef reads ORG/REPO[@REV][/FILE][@REV] and ORG/REPO[@REV]:QUANT.
func parseRef(written string) (ref, error) {
	r := ref{rev: mainRev}
	parts := strings.SplitN(written, "/", 3)
	if len(parts) < 2 {
		return ref{}, fault.New(fault.Invalid, opFind, "%q does not name a repository: write ORG/REPO/FILE.gguf", written)
	}
	repo, quant, _ := strings.Cut(parts[1], ":")
	repo, rev, given := strings.Cut(repo, "@")
	if more, tail, ok := strings.Cut(quant, "@"); ok && !given {
		quant, rev, given = more, tail, true
	}
	r.repo, r.quant = parts[0]+"/"+repo, quant
	if len(parts) == 3 {
		r.file = parts[2]
		if file, tail, ok := strings.Cut(r.file, "@"); ok && !given {
			r.file, rev, given = file, tail, true
		}
	}
	if given {
		r.rev = rev
	}
	return r, r.check()
}

// refOfPage reads the path of a hub's page: /ORG/REPO, .../tree/REV,
// .../blob/REV/FILE, .../resolve/REV/FILE.
func refOfPage(page string) (ref, bool) {
	parts := strings.Split(strings.Trim(page, "/"), "/")
	r := ref{rev: mainRev}
	if len(parts) < 2 {
		return r, false
	}
	r.repo = parts[0] + "/" + parts[1]
	switch {
	case len(parts) == 2:
	case len(parts) == 4 && parts[2] == "tree":
		r.rev = parts[3]
	case len(parts) >= 5 && (parts[2] == "blob" || parts[2] == "resolve"):
		r.rev, r.file = parts[3], strings.Join(parts[4:], "/")
	default:
		return r, false
	}
	return r, r.check() == nil
}

func (r ref) check() error {
	bad := func(what, value string) error {
		return fault.New(fault.Invalid, opFind, "%q is no %s of a hub: write ORG/REPO/FILE.gguf, or ORG/REPO/FILE.gguf@REVISION", value, what)
	}
	switch {
	case !repoName.MatchString(r.repo) || strings.Contains(r.repo, ".."):
		return bad("repository", r.repo)
	case !revName.MatchString(r.rev) || strings.Contains(r.rev, ".."):
		return bad("revision", r.rev)
	case r.file == "":
		return nil
	case splitOf.MatchString(r.file):
		return fault.New(fault.Unsupported, opFind, "%s is one of several files that a model was split into: take one that is in one piece", r.file)
	case !strings.HasSuffix(strings.ToLower(r.file), ".gguf"):
		return fault.New(fault.Invalid, opFind, "%s is no GGUF file: its name does not end in .gguf", r.file)
	}
	for part := range strings.SplitSeq(r.file, "/") {
		if part == "" || part == "." || part == ".." || strings.ContainsFunc(part, func(c rune) bool { return c < ' ' || c == 0x7f }) {
			return bad("file", r.file)
		}
	}
	return nil
}

// escaped is a path with each element as it stands in an address.
func escaped(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}

// ofHub: the address is on the hub's own host.
func (p *Puller) ofHub(u *url.URL) bool {
	return u.Scheme == p.hub.Scheme && strings.EqualFold(u.Host, p.hub.Host)
}

func (p *Puller) hubURL(path string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(p.hub.String(), "/") + path)
	if err != nil {
		return nil, fault.New(fault.Invalid, opFind, "no address can be made of %s", path)
	}
	return u, nil
}

func (p *Puller) hubFile(r ref) (Source, error) {
	u, err := p.hubURL("/" + r.repo + "/resolve/" + url.PathEscape(r.rev) + "/" + escaped(r.file))
	return Source{Key: r.key(), Name: ModelName(r.file[strings.LastIndex(r.file, "/")+1:]), url: u, hub: true}, err
}

// choose finds the file of a repository if none was named.
func (p *Puller) choose(ctx context.Context, r ref) (Source, error) {
	if r.file != "" {
		return p.hubFile(r)
	}
	all, err := p.files(ctx, r)
	if err != nil {
		return Source{}, err
	}
	var fit []string
	for _, f := range all {
		one := ref{repo: r.repo, rev: r.rev, file: f}
		if strings.Contains(strings.ToLower(f), strings.ToLower(r.quant)) && one.check() == nil && !strings.Contains(strings.ToLower(f), "mmproj") {
			fit = append(fit, f)
		}
	}
	switch {
	case len(fit) == 1:
		r.file = fit[0]
		return p.hubFile(r)
	case len(fit) == 0:
		return Source{}, fault.New(fault.NotFound, opFind, "%s has no GGUF file in one piece that fits", r.repo)
	}
	more := ""
	if len(fit) > maxFiles {
		more, fit = fmt.Sprintf("\n  and %d more", len(fit)-maxFiles), fit[:maxFiles]
	}
	at := "\n  " + r.repo + "/"
	return Source{}, fault.New(fault.Invalid, opFind, "%s has several GGUF files, name one of them:%s%s%s", r.repo, at, strings.Join(fit, at), more)
}

// files asks the hub what a repository holds.
func (p *Puller) files(ctx context.Context, r ref) ([]string, error) {
	page := "/api/models/" + r.repo
	if r.rev != mainRev {
		page += "/revision/" + url.PathEscape(r.rev)
	}
	u, err := p.hubURL(page)
	if err != nil {
		return nil, err
	}
	ctx, stop := p.watch(ctx)
	defer stop.end()
	// A list is no model: no hash of the caller's stands for it.
	got, err := p.get(ctx, Source{url: u, hub: true}, false, nil)
	if err != nil {
		return nil, fault.Wrap(opFind, ended(ctx, err))
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return nil, p.refused(got.Response)
	}
	var said struct {
		Siblings []struct {
			Name string `json:"rfilename"`
		} `json:"siblings"`
	}
	if err := json.NewDecoder(io.LimitReader(got.Body, maxList)).Decode(&said); err != nil {
		return nil, fault.New(fault.Unavailable, opFind, "what %s says of %s cannot be read", u.Host, r.repo)
	}
	names := make([]string, len(said.Siblings))
	for i, s := range said.Siblings {
		names[i] = s.Name
	}
	return names, nil
}
