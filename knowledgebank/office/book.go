package office

import (
	"net/url"
	"path"
	"strings"
)

// readBook reads an e-book: its chapters in their order.
func readBook(a *archive) (Document, error) {
	d := Document{Format: "epub"}
	var opf string
	if err := a.each("META-INF/container.xml", func(x *scan, _ element) error {
		return x.children(func(element) error {
			return x.children(func(e element) error {
				if e.name == "rootfile" && opf == "" {
					opf = e.get("full-path")
				}
				return nil
			}, nil)
		}, nil)
	}); err != nil {
		return d, err
	}
	if !a.has(opf) {
		return d, damaged("its list of chapters is missing")
	}
	d = a.metadata(opf)
	d.Format = "epub"
	chapters, err := a.chapters(opf)
	locked := a.locked()
	for _, name := range chapters {
		if locked[partName(name)] {
			return d, unsupported("the book is protected against copying; percached cannot read it")
		}
		if err := a.b.over(); err != nil {
			return d, err
		}
		page, late := a.read(name, maxRun)
		if len(page) > 0 && a.b.spendText(len(page)) {
			d.Parts = append(d.Parts, Part{Page: page})
		}
		if err == nil {
			err = late
		}
		if a.b.err != nil {
			return d, a.b.err
		}
	}
	return d, err
}

// chapters are the files of a book in the order of reading, without its table of contents.
func (a *archive) chapters(opf string) (out []string, err error) {
	files := map[string]string{}
	seen := map[string]bool{}
	err = a.each(opf, func(x *scan, _ element) error {
		return x.children(func(e element) error {
			switch e.name {
			case "manifest":
				return x.children(func(e element) error {
					typ := e.get("media-type")
					if strings.Contains(typ, "html") && !strings.Contains(" "+e.get("properties")+" ", " nav ") && len(files) < maxEntries {
						name, _, _ := strings.Cut(e.get("href"), "#")
						if plain, err := url.PathUnescape(name); err == nil {
							name = plain
						}
						files[e.get("id")] = path.Join(path.Dir(opf), name)
					}
					return nil
				}, nil)
			case "spine":
				return x.children(func(e element) error {
					if name := files[e.get("idref")]; a.has(name) && !seen[name] {
						seen[name] = true
						out = append(out, name)
					}
					return nil
				}, nil)
			}
			return nil
		}, nil)
	})
	return out, err
}

// locked are the files that are encrypted.
func (a *archive) locked() map[string]bool {
	out := map[string]bool{}
	const list = "META-INF/encryption.xml"
	if !a.has(list) {
		return out
	}
	var read func(x *scan, e element) error
	read = func(x *scan, e element) error {
		if e.name == "CipherReference" && len(out) < maxEntries {
			out[partName(e.get("URI"))] = true
		}
		return x.children(func(e element) error { return read(x, e) }, nil)
	}
	a.each(list, read) //nolint:errcheck // what is damaged says nothing
	return out
}
