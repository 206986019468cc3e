package office

import (
	"bytes"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// unsupported is the reason for a file that is not read, and what to do.
func unsupported(why string) error { return fault.New(fault.Unsupported, "office.format", "%s", why) }

func withPassword() error {
	return unsupported("the file is protected by a password; save a copy without one and add that")
}

// oleStart begins the files of Microsoft Office before 2007, and protected ones of today.
var oleStart = []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")

// OLE reports whether a file is in the container of old files of Microsoft Office.
func OLE(head []byte) bool { return bytes.HasPrefix(head, oleStart) }

// refuseOLE says what such a file is, by the names of the streams in it.
func refuseOLE(data []byte) error {
	has := func(name string) bool {
		wide := make([]byte, 0, 2*len(name))
		for i := range len(name) {
			wide = append(wide, name[i], 0)
		}
		return bytes.Contains(data, wide)
	}
	switch {
	case has("EncryptedPackage"):
		return withPassword()
	case has("WordDocument"):
		return unsupported("the file is an old Word document (.doc); save it as .docx and add that")
	case has("PowerPoint Document"):
		return unsupported("the file is an old PowerPoint presentation (.ppt); save it as .pptx and add that")
	case has("Workbook"), has("Book"):
		return unsupported("the file is an old Excel workbook (.xls); save it as .xlsx and add that")
	case has("__properties_version1.0"):
		return unsupported("the file is a mail of Outlook (.msg); save it as .eml and add that")
	}
	return unsupported("the file is of an old office program; save it in a present format or as PDF and add that")
}

// apple reports whether an archive is of Pages, Numbers or Keynote.
func (a *archive) apple() bool {
	for _, name := range []string{"index/document.iwa", "index.zip", "index.xml.gz", "index.apxl", "index.apxl.gz"} {
		if a.has(name) {
			return true
		}
	}
	return a.has("index.xml") && a.has("buildversionhistory.plist")
}

// refuse says why an archive is not read.
func (a *archive) refuse() error {
	switch {
	case a.apple():
		return unsupported("the file is of Pages, Numbers or Keynote; export it to Word, Excel, PowerPoint or PDF and add that")
	case a.has("xl/workbook.bin"):
		return unsupported("the file is a binary Excel workbook (.xlsb); save it as .xlsx and add that")
	case a.has("FixedDocSeq.fdseq") || a.has("FixedDocumentSequence.fdseq"):
		return unsupported("the file is an XPS document; save it as PDF and add that")
	}
	return unsupported("the file is an archive of other files; unpack it and add the folder")
}

// protected reports whether an OpenDocument file is encrypted.
func (a *archive) protected() bool {
	const manifest = "META-INF/manifest.xml"
	if !a.has(manifest) {
		return false
	}
	found := false
	a.each(manifest, func(x *scan, _ element) error { //nolint:errcheck // what is damaged says nothing
		return x.children(func(e element) error {
			if e.name != "file-entry" || !strings.HasSuffix(e.get("full-path"), "content.xml") && e.get("full-path") != "encrypted-package" {
				return nil
			}
			return x.children(func(e element) error {
				found = found || e.name == "encryption-data"
				return nil
			}, nil)
		}, nil)
	})
	return found
}
