package office

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

// scan reads one XML file from its begin to its end, within the limits.
type scan struct {
	d     *xml.Decoder
	b     *budget
	depth int // of open elements
}

// element is the begin of an element. Prefixes are left out: programs choose them freely,
// and no name that is read here has two meanings.
type element struct {
	name string
	attr []xml.Attr
}

func (e element) get(name string) string {
	for _, a := range e.attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// on is the value of an element that switches something on.
func (e element) on() bool {
	switch strings.ToLower(e.get("val")) {
	case "0", "false", "off", "none":
		return false
	}
	return true
}

// scan opens a file of the archive.
func (a *archive) scan(name string) (*scan, error) {
	r, err := a.open(name)
	if err != nil {
		return nil, err
	}
	// Files in UTF-16 begin with a mark.
	d := xml.NewDecoder(&runs{r: transform.NewReader(r, unicode.BOMOverride(transform.Nop))})
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) {
		enc, err := htmlindex.Get(label)
		if err != nil || strings.HasPrefix(strings.ToLower(label), "utf-16") {
			return in, nil
		}
		return transform.NewReader(in, enc.NewDecoder()), nil
	}
	return &scan{d: d, b: a.b}, nil
}

// each opens a file and visits its root.
func (a *archive) each(name string, visit func(x *scan, root element) error) error {
	x, err := a.scan(name)
	if err != nil {
		return err
	}
	return x.children(func(e element) error { return visit(x, e) }, nil)
}

// runs refuses XML whose next text or tag is too large to be held.
type runs struct {
	r     io.Reader
	since int // bytes since the last tag began
}

var errRun = errors.New("a text or tag is too long")

func (r *runs) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if i := bytes.LastIndexByte(p[:n], '<'); i >= 0 {
		r.since = n - i
	} else if r.since += n; r.since > maxRun {
		return 0, errRun
	}
	return n, err
}

// token returns the next token, or io.EOF.
func (x *scan) token() (xml.Token, error) {
	if err := x.b.look(); err != nil {
		return nil, err
	}
	t, err := x.d.Token()
	switch {
	case x.b.err != nil:
		return nil, x.b.err
	case errors.Is(err, errRun):
		return nil, x.b.tooLarge("a part of it is one text of more than %d bytes", maxRun)
	case err == io.EOF:
		return nil, err
	case err != nil:
		return nil, damaged("its XML ends early or is not well formed")
	}
	switch t.(type) {
	case xml.StartElement:
		if x.depth++; x.depth > maxDepth {
			return nil, damaged("more than %d elements are nested", maxDepth)
		}
	case xml.EndElement:
		x.depth--
	}
	return t, nil
}

// children visits the elements in the present one, up to its end. What visit does not
// read of an element is skipped. chars, if not nil, gets the text between them.
func (x *scan) children(visit func(e element) error, chars func(text []byte)) error {
	at := x.depth
	for {
		t, err := x.token()
		if err == io.EOF && at == 0 {
			return nil
		}
		if err == io.EOF {
			return damaged("its XML ends early")
		}
		if err != nil {
			return err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := visit(element{t.Name.Local, t.Attr}); err != nil {
				return err
			}
			for x.depth > at {
				if _, err := x.token(); err != nil {
					return err
				}
			}
		case xml.EndElement:
			if x.depth < at {
				return nil
			}
		case xml.CharData:
			if chars != nil {
				chars(t)
			}
		}
	}
}

// text returns the text in the present element and all in it.
func (x *scan) text() (string, error) {
	var out strings.Builder
	var read func() error
	read = func() error {
		return x.children(func(element) error { return read() }, func(t []byte) { out.Write(t) })
	}
	err := read()
	return out.String(), err
}

// alternate reads one of several forms of the same content.
func (x *scan) alternate(read func() error) error {
	chosen := false
	return x.children(func(e element) error {
		if chosen || e.name != "Choice" && e.name != "Fallback" {
			return nil
		}
		chosen = true
		return read()
	}, nil)
}

// root is the name of the outermost element.
func (x *scan) root() (string, error) {
	for {
		t, err := x.token()
		if err == io.EOF {
			return "", damaged("its XML is empty")
		}
		if err != nil {
			return "", err
		}
		if e, ok := t.(xml.StartElement); ok {
			return e.Name.Local, nil
		}
	}
}
