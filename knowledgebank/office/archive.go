package office

import (
	"archive/zip"
	"bytes"
	"io"
	"path"
	"strings"
)

// archive is the zip archive around a document.
type archive struct {
	files map[string]*zip.File // by name, in small letters
	names []string             // in the order of the archive
	b     *budget
}

// openArchive reads the list of files.
func openArchive(data []byte, b *budget) (*archive, error) {
	if n := bytes.Count(data, []byte("PK\x01\x02")); n > maxEntries {
		return nil, b.tooLarge("it is an archive of more than %d files", maxEntries)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, damaged("its list of contents is missing or broken; copy or download it again")
	}
	a := &archive{files: map[string]*zip.File{}, b: b}
	for _, f := range z.File {
		name := partName(f.Name)
		if _, twice := a.files[name]; !twice {
			a.files[name] = f
			a.names = append(a.names, f.Name)
		}
	}
	return a, nil
}

// partName is a name as parts of a document are compared.
func partName(name string) string {
	return strings.ToLower(strings.TrimPrefix(path.Clean("/"+strings.ReplaceAll(name, `\`, "/")), "/"))
}

func (a *archive) has(name string) bool { return a.files[partName(name)] != nil }

// open returns a reader of one file that counts what it unpacks.
func (a *archive) open(name string) (io.Reader, error) {
	f := a.files[partName(name)]
	if f == nil {
		return nil, damaged("a part is missing")
	}
	if f.Flags&1 != 0 {
		return nil, withPassword()
	}
	r, err := f.Open()
	if err != nil {
		return nil, damaged("a part cannot be unpacked")
	}
	return &unpacked{r: r, b: a.b}, nil
}

// unpacked counts the bytes of a file.
type unpacked struct {
	r    io.Reader
	b    *budget
	file int
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	u.file += n
	switch {
	case u.b.err != nil:
		return 0, u.b.err
	case n > u.b.bytes || u.file > maxFile:
		u.b.bytes = max(u.b.bytes-n, 0)
		return 0, u.b.tooLarge("too many bytes when unpacked")
	}
	u.b.bytes -= n
	if err != nil && err != io.EOF {
		err = damaged("a part cannot be unpacked")
	}
	return n, err
}

// read returns a whole file of at most limit bytes.
func (a *archive) read(name string, limit int64) ([]byte, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = a.b.tooLarge("a part of it has more than %d bytes", limit)
	}
	return data, err
}

// mimetype is the type that OpenDocument files and e-books begin with.
func (a *archive) mimetype() string {
	if !a.has("mimetype") {
		return ""
	}
	r, err := a.open("mimetype")
	if err != nil {
		return ""
	}
	typ, _ := io.ReadAll(io.LimitReader(r, 200)) //nolint:errcheck // then it is no type
	return strings.TrimSpace(strings.TrimPrefix(string(typ), "\xef\xbb\xbf"))
}

// relation leads from one part of a document of Microsoft Office to another.
type relation struct{ typ, target string }

// relations returns the relations of a part by their ids. The name of the whole document
// is "".
func (a *archive) relations(part string) map[string]relation {
	dir, file := path.Split(part)
	name := dir + "_rels/" + file + ".rels"
	if !a.has(name) {
		return nil
	}
	out := map[string]relation{}
	a.each(name, func(x *scan, e element) error { //nolint:errcheck // a relation that is damaged is missing
		return x.children(func(e element) error {
			if e.name == "Relationship" && !strings.EqualFold(e.get("TargetMode"), "External") && len(out) < maxEntries {
				target := e.get("Target")
				if !strings.HasPrefix(target, "/") {
					target = path.Join("/", dir, target)
				}
				out[e.get("Id")] = relation{path.Base(e.get("Type")), strings.TrimPrefix(path.Clean(target), "/")}
			}
			return nil
		}, nil)
	})
	return out
}

// related is the first part that a relation of this type leads to.
func related(all map[string]relation, typ string) string {
	first := ""
	for _, r := range all {
		if r.typ == typ && (first == "" || r.target < first) {
			first = r.target
		}
	}
	return first
}

// mainPart is the part with the text of a document of Microsoft Office.
func (a *archive) mainPart() (name string, ok bool) {
	name = related(a.relations(""), "officeDocument")
	if name == "" || !a.has(name) {
		for _, usual := range []string{"word/document.xml", "xl/workbook.xml", "ppt/presentation.xml"} {
			if a.has(usual) {
				return usual, true
			}
		}
		return "", false
	}
	return name, true
}
