package office

import (
	"strings"
	"time"
)

// properties reads who wrote a document of Microsoft Office, and when.
func (a *archive) properties() Document {
	name := related(a.relations(""), "core-properties")
	if name == "" {
		name = "docProps/core.xml"
	}
	if !a.has(name) {
		return Document{}
	}
	return a.metadata(name)
}

// metadata reads a title, an author and a date from XML in the terms of Dublin Core. It is
// read as far as it is whole.
func (a *archive) metadata(name string) (d Document) {
	var created, changed, author, editor string
	var read func(x *scan, e element) error
	read = func(x *scan, e element) error {
		keep := func(to *string) error {
			text, err := x.text()
			if text = strings.TrimSpace(text); *to == "" && len(text) < 1000 {
				*to = text
			}
			return err
		}
		switch e.name {
		case "title":
			return keep(&d.Title)
		case "initial-creator":
			return keep(&author)
		case "creator":
			return keep(&editor)
		case "created", "creation-date":
			return keep(&created)
		case "modified", "date":
			return keep(&changed)
		}
		return x.children(func(e element) error { return read(x, e) }, nil)
	}
	a.each(name, read) //nolint:errcheck // what is damaged is unknown
	d.Author = author
	if d.Author == "" {
		d.Author = editor
	}
	if !personal(d.Author) {
		d.Author = ""
	}
	if named(d.Title) {
		d.Title = ""
	}
	for _, when := range []string{changed, created} {
		if d.Date = moment(when); !d.Date.IsZero() {
			break
		}
	}
	return d
}

// personal reports whether an author is a person and not what programs put there.
func personal(author string) bool {
	switch strings.ToLower(author) {
	case "", "unknown", "author", "user", "microsoft office user", "windows user", "admin", "administrator", "python-docx", "openpyxl":
		return false
	}
	return true
}

// named reports whether a program gave the title, as it does for new files.
func named(title string) bool {
	t := strings.ToLower(title)
	for _, start := range []string{"powerpoint presentation", "word document", "microsoft word - ", "untitled", "document1"} {
		if strings.HasPrefix(t, start) {
			return true
		}
	}
	return false
}

// moment parses the dates of properties.
func moment(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04Z07:00", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t
		}
	}
	return time.Time{}
}
