package pdf

import (
	"context"
	"strings"
	"testing"
)

// Pages that cannot be read are named if other pages have text.
func TestUnread(t *testing.T) {
	const blind = "BT /F2 12 Tf 72 700 Td (ABCDEFGHIJKLMNOPQRSTUVWX) Tj ET"
	d := document("/Font << /F1 "+helveticaFont+" /F2 << /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<< >>] >> >> /XObject << /I 13 0 R /L 14 0 R >>",
		showLines("Hello there"), blind+" "+showLines("Hello"), "/I Do", showLines("Hello")+" /I Do", "/L Do")
	d.stream("/Subtype /Image /Width 1700 /Height 2200 /BitsPerComponent 1 /ColorSpace /DeviceGray", []byte("x"))
	d.stream("/Subtype /Image /Width 1 /Height 1 /BitsPerComponent 1 /ColorSpace /DeviceGray", []byte("x"))
	files, err := NewFiles(Default())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := files.Read(context.Background(), d.bytes())
	if err != nil || len(doc.Pages) != 5 {
		t.Fatal(doc, err)
	}
	got := ""
	for _, p := range doc.Pages {
		switch {
		case p.Picture:
			got += "P"
		case p.Unread:
			got += "U"
		default:
			got += "."
		}
	}
	if got != ".UP.." || !strings.Contains(doc.Pages[1].Paragraphs[0], "Hello") {
		t.Errorf("%s, %v", got, doc)
	}
}
