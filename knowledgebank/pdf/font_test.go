package pdf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSimpleFonts(t *testing.T) {
	for _, tt := range []struct{ name, font, shown, want string }{
		{"WinAnsi", "/Subtype /Type1 /Encoding /WinAnsiEncoding", `\200 gr\374n \226 \223x\224 \225`, "€ grün – “x” •"},
		{"MacRoman", "/Subtype /Type1 /Encoding /MacRomanEncoding", `gr\237n \333`, "grün €"},
		{"standard", "/Subtype /Type1", `'x` + "`" + ` e\256cient \341sop \261`, "’x‘ eficient Æsop –"},
		{"TrueType without encoding", "/Subtype /TrueType", `gr\374n`, "grün"},
		{"Symbol", "/Subtype /Type1 /BaseFont /Symbol", `abc \243`, "αβχ ≤"},
		{"Dingbats", "/Subtype /Type1 /BaseFont /ZapfDingbats", "4 lH", "✔ ●★"},
		{"differences", "/Subtype /Type1 /Encoding << /Differences [65 /Zcaron /f_f_i /uni20AC 70 /afii10017 /a.sc /u1F600 /c73 /nonsense] >>", "AB C FGHIJ", "Žffi € Аa😀I"},
		{"to the left", "/Subtype /Type1 /Encoding << /Differences [65 /afii57664 /afii57665 /afii57666] >>", "AB C", "\u05d2 \u05d1\u05d0"},
		{"base and differences", "/Subtype /Type1 /Encoding << /BaseEncoding /WinAnsiEncoding /Differences [65 /eacute] >>", `A\374`, "éü"},
		{"drawn characters", "/Subtype /Type3 /FontMatrix [0.01 0 0 0.01 0 0] /FirstChar 65 /Widths [50 60] /Encoding << /Differences [65 /H /i] >>", "AB", "Hi"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := document("/Font << /F1 << /Type /Font "+tt.font+" >> >>", showLines(tt.shown))
			want(t, d.bytes(), tt.want)
		})
	}
}

const cmapHead = "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def\n"

func TestToUnicode(t *testing.T) {
	for _, tt := range []struct{ name, cmap, want string }{
		{"characters", "1 begincodespacerange <00> <FF> endcodespacerange 3 beginbfchar <41> <0048> <42> <0065006C> <43> <D83DDE00> endbfchar", "Hel😀"},
		{"ranges", "1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <41> <43> <0061> endbfrange", "abc"},
		{"range with an array", "1 beginbfrange <41> <43> [<0078> <0079> <0066006C>] endbfrange", "xyfl"},
		{"range of strings", "1 beginbfrange <41> <43> <00660061> endbfrange", "fafbfc"},
		{"ranges that overlap", "2 beginbfrange <00> <FF> <0000> <42> <42> <0078> endbfrange", "AxC"},
		{"codes of two bytes", "2 beginbfchar <0041> <0048> <0042> <0069> endbfchar", "HiC"},
		{"names", "1 beginbfchar <41> /Aacute endbfchar", "ÁBC"},
		{"ligature", "1 beginbfchar <41> <FB01> endbfchar", "fiBC"},
		{"no character", "2 beginbfchar <41> <FFFD> <42> <0000> endbfchar", "ABC"},
		{"damaged", "1 beginbfrange <43> <41> <0061> <41> endbfrange <41> 7 (x endbfchar", "ABC"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := document("/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /X /ToUnicode 5 0 R >> >>", showLines("ABC"))
			d.flated("", []byte(cmapHead+tt.cmap+"\nendcmap"))
			want(t, d.bytes(), tt.want)
		})
	}
}

func TestCompositeFonts(t *testing.T) {
	identity := cmapHead + "1 begincodespacerange <0000> <FFFF> endcodespacerange 3 beginbfrange <8001> <8001> <007A> <0001> <0003> <0061> <0010> <0012> <6F22> endbfrange"
	embedded := cmapHead + "2 begincodespacerange <00> <7F> <8000> <FFFF> endcodespacerange 2 begincidrange <00> <7F> 1 <8000> <80FF> 200 endcidrange"
	for _, tt := range []struct{ name, font, encoding, program, want string }{
		{"identity", "/Encoding /Identity-H /ToUnicode 5 0 R", "", "<0001000200100011> Tj", "ab漢漣"},
		{"widths of their own", "/Encoding /Identity-H /ToUnicode 5 0 R", "", "<00010001> Tj 10 0 Td <0002> Tj 20 0 Td <0003> Tj", "aab c"},
		{"embedded encoding", "/Encoding 6 0 R /ToUnicode 5 0 R", embedded, "<01 8001 02> Tj", "azb"},
		{"vertical", "/Encoding /Identity-V /ToUnicode 5 0 R", "", "<0010> Tj <0011> Tj 0 -60 TD <0012> Tj", "漢漣 漤"},
		{"Shift-JIS", "/Encoding /90ms-RKSJ-H", "", "<93FA967B 41> Tj", "日本A"},
		{"GBK", "/Encoding /GBK-EUC-H", "", "<D6D0 41> Tj", "中A"},
		{"Big5", "/Encoding /ETen-B5-H", "", "<A4A4> Tj", "中"},
		{"EUC-KR", "/Encoding /KSCms-UHC-H", "", "<C7D1> Tj", "한"},
		{"EUC-JP", "/Encoding /EUC-H", "", "<C6FC> Tj", "日"},
		{"JIS", "/Encoding /H", "", "<467C> Tj", "日"},
		{"UCS-2", "/Encoding /UniGB-UCS2-H", "", "<4E2D0041> Tj", "中A"},
		{"UTF-16", "/Encoding /UniJIS-UTF16-H", "", "<4E2DD842DFB7> Tj", "中𠮷"},
		{"code cut off", "/Encoding /UniJIS-UTF16-H", "", "<4E2DD8> Tj", "中"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := document("/Font << /F1 << /Type /Font /Subtype /Type0 "+tt.font+
				" /DescendantFonts [<< /Subtype /CIDFontType2 /DW 1000 /W [1 [500 400] 3 3 500] >>] >> >>",
				"BT /F1 10 Tf 72 700 Td "+tt.program+" ET")
			d.flated("", []byte(identity))
			d.flated("/Type /CMap", []byte(tt.encoding))
			want(t, d.bytes(), tt.want)
		})
	}
}

// A font may define its own codes.
func TestBuiltInEncoding(t *testing.T) {
	type1 := "%!PS-AdobeFont-1.0: X\n/Encoding 256 array\n0 1 255 {1 index exch /.notdef put} for\ndup 65 /fi put\ndup 66 /Omega put\nreadonly def\ncurrentfile eexec"
	for _, tt := range []struct{ name, entry, file, want string }{
		{"Type 1", "FontFile", type1, "fiΩC"},
		{"Type 1, standard", "FontFile", "/Encoding StandardEncoding def dup 65 /fi put", "ABC"},
		{"compact", "FontFile3", compactFont(), "fiΩC"},
		{"compact, cut", "FontFile3", compactFont()[:30], "ABC"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := document("/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /X /FontDescriptor << /"+tt.entry+" 5 0 R >> >> >>", showLines("ABC"))
			d.flated("", []byte(tt.file))
			want(t, d.bytes(), tt.want)
		})
	}
}

// compactFont has three glyphs: .notdef, fi (a standard string), Omega (its own).
func compactFont() string {
	index := func(items ...string) string {
		if len(items) == 0 {
			return "\x00\x00"
		}
		s := fmt.Sprintf("\x00%c\x01\x01", len(items))
		at := 1
		for _, item := range items {
			at += len(item)
			s += string(rune(at))
		}
		return s + strings.Join(items, "")
	}
	offset := func(n int) string { return "\x1c" + string([]byte{byte(n >> 8), byte(n)}) }
	head := "\x01\x00\x04\x01" + index("X")
	top := func(charset, encoding, glyphs int) string {
		return offset(charset) + "\x0f" + offset(encoding) + "\x10" + offset(glyphs) + "\x11"
	}
	names, none := index("Omega"), index()
	at := len(head) + len(index(top(0, 0, 0))) + len(names) + len(none)
	charset := "\x00\x00\x6d\x01\x87" // fi is 109, the first own string 391
	encoding := "\x00\x02AB"
	return head + index(top(at, at+len(charset), at+len(charset)+len(encoding))) + names + none +
		charset + encoding + index("\x0e", "\x0e", "\x0e")
}

// Without ToUnicode, the table of an embedded TrueType font is used.
func TestOutlines(t *testing.T) {
	sub := "\x00\x04\x00\x28\x00\x00\x00\x04\x00\x04\x00\x01\x00\x00" + // two segments
		"\x00\x42\xff\xff\x00\x00" + "\x00\x41\xff\xff" + "\xff\xc2\x00\x01" + "\x00\x00\x00\x00" // A, B are glyphs 3, 4
	long := "\x00\x0c\x00\x00\x00\x00\x00\x1c\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x41\x00\x00\x00\x42\x00\x00\x00\x03"
	for name, table := range map[string]string{
		"format 4":  "\x00\x00\x00\x01\x00\x03\x00\x01\x00\x00\x00\x0c" + sub,
		"format 12": "\x00\x00\x00\x01\x00\x03\x00\x0a\x00\x00\x00\x0c" + long,
	} {
		font := "\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00cmap\x00\x00\x00\x00\x00\x00\x00\x1c\x00\x00\x00\x40" + table
		t.Run(name, func(t *testing.T) {
			d := document("/Font << /F1 << /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<< /FontDescriptor << /FontFile2 5 0 R >> /CIDToGIDMap 6 0 R >>] >> >>",
				"BT /F1 10 Tf 72 700 Td <000300050001> Tj ET")
			d.stream("", []byte(font))
			d.stream("", []byte("\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x04"))
			want(t, d.bytes(), "AB")
		})
	}
}

// Accents that are separate characters, drawn over letters, are joined to them.
func TestAccents(t *testing.T) {
	d := document("/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /Encoding << /Differences [1 /acute /dotlessi /cedilla /caron] >> >> >>",
		`BT /F1 10 Tf 72 700 Td [(Caf) (\001) 388 (e, na) (\002) 305 (\001, c) 388 (\003a, \004) 361 (c)] TJ ET`)
	want(t, d.bytes(), "Café, naí, ça, č")
}

func TestGlyphNames(t *testing.T) {
	got := map[string]string{}
	expect := map[string]string{
		"A": "A", "space": " ", "eacute": "é", "Scaron": "Š", "ccedilla": "ç", "Tcommaaccent": "Ț", "kcommaaccent": "ķ",
		"ohungarumlaut": "ő", "fi": "fi", "ffl": "ffl", "uni00660069": "fi", "u10FFFF": "", "afii10048": "Ю", "afii10070": "е",
		"afii57664": "א", "f_f_l": "ffl", "one.oldstyle": "1", "alphatonos": "ά", ".notdef": "", "g17": "", "_": "_", "a_": "",
		"uniD800": "", "dotlessi": "ı", "Euro": "€", "quoteright": "’", "acute": "´", "zdotaccent": "ż", "uring": "ů", "lslash": "ł",
	}
	for name := range expect {
		got[name] = clean(glyphText(name))
	}
	if diff := cmp.Diff(expect, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	for i, s := range []struct {
		encoding [256]rune
		code     int
		want     rune
	}{
		{standardEncoding(), 0xfb, 'ß'},
		{standardEncoding(), 0xe1, 'Æ'},
		{standardEncoding(), 0xcf, 'ˇ'},
		{symbolEncoding(), 0x7e, '∼'},
		{symbolEncoding(), 0xfe, '⎭'},
		{symbolEncoding(), 0xa0, '€'},
		{symbolEncoding(), 0xd0, '∠'},
		{dingbatEncoding(), 0xfe, '➾'},
	} {
		if got := s.encoding[s.code]; got != s.want {
			t.Errorf("%d: code %x is %c, want %c", i, s.code, got, s.want)
		}
	}
	if n := len(cffTexts()); n != 229 {
		t.Errorf("%d standard strings, want 229", n)
	}
}
