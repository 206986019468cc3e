package pdf

import (
	"fmt"
	"testing"
)

// The places and sizes of characters decide about words and lines.
func TestOperators(t *testing.T) {
	const at = "BT /F1 10 Tf 72 700 Td "
	for _, tt := range []struct {
		name, program string
		want          []string
	}{
		{"one string", at + "(Hello there) Tj ET", []string{"Hello there"}},
		{"hexadecimal", at + "<48656C6C6F> Tj ET", []string{"Hello"}},
		{"escapes", at + `(\(a\\b\) \101\1022) Tj ET`, []string{`(a\b) AB2`}},
		{"kerning", at + "[(A) 80 (V) 60 (A)] TJ ET", []string{"AVA"}},
		{"space by a gap", at + "[(Hello) -280 (there)] TJ ET", []string{"Hello there"}},
		{"space by Td", at + "(Hello) Tj 26 0 Td (there) Tj ET", []string{"Hello there"}},
		{"no gap by Td", at + "(Hel) Tj 14.5 0 Td (lo) Tj ET", []string{"Hello"}},
		{"space by word spacing", at + "3 Tw (Hello there) Tj ET", []string{"Hello there"}},
		{"space squeezed to nothing", at + "-2.5 Tw (so me) Tj ET", []string{"some"}},
		{"letterspaced", at + "4 Tc (HEADING) Tj ET", []string{"HEADING"}},
		{"space by character spacing", at + "3 Tc (ot) Tj 0 Tc (he) Tj ET", []string{"o t he"}},
		{"scaled", at + "50 Tz (Hel) Tj 7.2 0 Td (lo) Tj ET", []string{"Hello"}},
		{"two lines", at + "(The boats) Tj 0 -12 Td (are here.) Tj ET", []string{"The boats are here."}},
		{"TD and T*", at + "(The boats) Tj 0 -12 TD (are) Tj T* (here.) Tj ET", []string{"The boats are here."}},
		{"quotes", at + "12 TL (The boats) Tj (are) ' 0 0 (here.) \" ET", []string{"The boats are here."}},
		{"far down", at + "(Above.) Tj 0 -40 Td (Below.) Tj ET", []string{"Above.", "Below."}},
		{"raised", at + "(difference) Tj 4 Ts /F1 6 Tf (1) Tj 0 Ts /F1 10 Tf ( between) Tj ET", []string{"difference1 between"}},
		{"matrix", "BT /F1 1 Tf 10 0 0 10 72 700 Tm (Hello) Tj 10 0 0 10 98 700 Tm (there) Tj ET", []string{"Hello there"}},
		{"turned", "BT /F1 10 Tf 0 1 -1 0 72 300 Tm (up the) Tj 0 1 -1 0 84 300 Tm (side) Tj ET", []string{"up the side"}},
		{"page matrix", "q 0.1 0 0 0.1 72 700 cm BT /F1 100 Tf (Hello) Tj 260 0 Td (there) Tj ET Q", []string{"Hello there"}},
		{"upside down", "q 1 0 0 -1 0 792 cm BT /F1 10 Tf 1 0 0 -1 72 90 Tm (One) Tj 1 0 0 -1 72 102 Tm (two) Tj ET Q", []string{"One two"}},
		{"restored", at + "ET q BT /F1 40 Tf ET Q BT 72 700 Td (Hel) Tj 14.5 0 Td (lo) Tj ET", []string{"Hello"}},
		{"Q too many", "Q Q " + at + "(Hello) Tj ET Q", []string{"Hello"}},
		{"drawn twice for bold", at + "(Hello) Tj 0.3 0 Td (Hello) Tj ET", []string{"Hello"}},
		{"double letters stay", at + "(aabbcc 1111) Tj ET", []string{"aabbcc 1111"}},
		{"inline image", "q BI /W 2 /H 2 /BPC 8 /CS /G ID ab EI EI Q " + at + "(Hello) Tj ET", []string{"Hello"}},
		{"inline image, compressed", at + "BI /W 9 /H 9 /F /Fl ID \x01\x02 EI\x03\x04 (no) Tj\nEI (Hello) Tj ET", []string{"Hello"}},
		{"damaged operands", at + "(Hello) Tj ] >> ) 1.2.3 --4 Td << /A ET", []string{"Hello"}},
		{"off the page", at + "(Hello) Tj 5000 0 Td (there) Tj ET", []string{"Hello"}},
		{"no font", "BT 72 700 Td (Hello) Tj /F1 10 Tf (there) Tj ET", []string{"there"}},
		{"numbers beyond reason", at + "1e99 Tc 99999999999999999999999999 0 Td (x) Tj ET " + at + "(Hello) Tj ET", []string{"Hello"}},
		{"actual text", "/Span << /ActualText (Heron) >> BDC " + at + "(H) Tj (3r0n) Tj EMC ( boats) Tj ET", []string{"Heron boats"}},
		{"actual text by name", "/Span /P1 BDC " + at + "(xyz) Tj EMC ET", []string{"Grüße"}},
		{"actual text, nothing shown", at + "(A) Tj /Span << /ActualText (Heron) >> BDC EMC ET", []string{"AHeron"}},
		{"actual text, empty", at + "(A) Tj /Span << /ActualText () >> BDC (-) Tj EMC (B) Tj ET", []string{"AB"}},
		{"marked content without", "/P << /MCID 0 >> BDC " + at + "/X BMC (Hello) Tj EMC ET EMC EMC", []string{"Hello"}},
		{"note with a raised number", at + "4.5 Ts /F1 6 Tf (1) Tj 0 Ts /F1 10 Tf (See the) Tj 11 TL T* (other two) Tj T* (long words) Tj T* (below it) Tj ET", []string{"1See the other two long words below it"}},
		{"form with a Q too many", at + "(Above) Tj ET q 1 0 0 1 103 700 cm /X2 Do Q", []string{"Above aside"}},
		{"form in itself", "1 0 0 1 0 400 cm /X3 Do", []string{"Once"}},
		{"form", at + "(Above) Tj ET q 1 0 0 1 72 600 cm /X1 Do Q", []string{"Above", "In the form"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := document("/Font << /F1 "+helveticaFont+" >> /XObject << /X1 5 0 R /X2 6 0 R /X3 7 0 R >> /Properties << /P1 << /ActualText <FEFF0047007200FC00DF0065> >> >>", tt.program)
			d.stream("/Subtype /Form /Resources << /Font << /F1 "+helveticaFont+" >> >>", []byte("BT /F1 10 Tf (In the form) Tj ET Q Q"))
			d.stream("/Subtype /Form", []byte("Q BT /F1 10 Tf (aside) Tj ET"))
			d.stream("/Subtype /Form", []byte("BT /F1 10 Tf (Once) Tj ET 1 0 0 1 0 -40 cm /X3 Do"))
			want(t, d.bytes(), tt.want...)
		})
	}
}

// Filled form fields and notes on the page are text, too.
func TestAnnotations(t *testing.T) {
	d := plainText("Name:")
	look := d.stream("/Subtype /Form /BBox [0 0 100 20] /Resources << /Font << /F1 "+helveticaFont+" >> >>", []byte("BT /F1 10 Tf 2 5 Td (Ana Ruiz) Tj ET"))
	hidden := d.stream("/Subtype /Form /Resources << /Font << /F1 "+helveticaFont+" >> >>", []byte("BT /F1 10 Tf (secret) Tj ET"))
	d.objects[3] = fmt.Sprintf(`<< /Type /Page /Parent 2 0 R /Contents 3 0 R /Annots [
		<< /Subtype /Widget /Rect [120 695 220 715] /AP << /N %d 0 R >> >>
		<< /Subtype /Widget /Rect [120 600 220 615] /AS /On /AP << /N << /On %[1]d 0 R /Off %d 0 R >> >> >>
		<< /Subtype /Widget /F 2 /Rect [120 500 220 515] /AP << /N %[2]d 0 R >> >>
		<< /Subtype /Link /AP << /N %[2]d 0 R >> >> null 7 ] >>`, look, hidden)
	want(t, d.bytes(), "Name: Ana Ruiz", "Ana Ruiz")
}

// A page inherits from the nodes above it, and its program may span several streams.
func TestInheritance(t *testing.T) {
	d := &draft{}
	d.add("<< /Type /Catalog /Pages 2 0 R >>")
	d.add("<< /Type /Pages /Kids [3 0 R 3 0 R null 99 0 R 2 0 R] /Resources << /Font << /F1 %s >> >> >>", helveticaFont)
	d.add("<< /Type /Pages /Parent 2 0 R /Kids [4 0 R 2 0 R] >>")
	d.add("<< /Type /Page /Parent 3 0 R /Contents [5 0 R null 6 0 R 99 0 R] >>")
	d.stream("", []byte("BT /F1 10 Tf 72 700 Td (Hello)"))
	d.flated("", []byte("Tj ET"))
	want(t, d.bytes(), "Hello")
}

// Pages are found without a tree and without a root.
func TestLoosePages(t *testing.T) {
	d := plainText("Hello")
	font := "/Resources << /Font << /F1 " + helveticaFont + " >> >>"
	d.objects[1] = "<< /Type /Pages /Kids [77 0 R] " + font + " >>"
	want(t, d.bytes(), "Hello")
	d.objects[0] = "<< /Type /Catalog >>"
	want(t, d.bytes(), "Hello")
	d.objects[1] = "<< /Type /Pages /Kids 77 0 R /Parent 2 0 R >>"
	d.objects[3] = "<< /Type /Page /Parent 2 0 R /Contents 3 0 R " + font + " >>"
	want(t, d.bytes(), "Hello")
}
