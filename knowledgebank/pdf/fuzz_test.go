package pdf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/percached/percached/internal/base/fault"
)

// small limits keep the fuzzer fast.
func small() Options { return Options{MaxPages: 20, MaxBytes: 1 << 20, MaxSteps: 50_000} }

// check compares a result with the promises of the package.
func check(t *testing.T, pages []Page, err error) {
	t.Helper()
	if kind := fault.KindOf(err); kind != 0 && kind != fault.Invalid && kind != fault.Unsupported {
		t.Fatalf("%v is %v", err, kind)
	}
	for i, p := range pages {
		if p.Number != i+1 {
			t.Fatalf("page %d is numbered %d", i+1, p.Number)
		}
		for _, s := range p.Paragraphs {
			if !utf8.ValidString(s) || !norm.NFC.IsNormalString(s) || s != strings.TrimSpace(s) || s == "" || strings.ContainsFunc(s, unicode.IsControl) {
				t.Fatalf("a paragraph of page %d is not clean: %q", i+1, s)
			}
		}
	}
}

func FuzzText(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pdf")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if len(data) < 5000 { // larger files are fonts and slow the fuzzer down
			f.Add(data)
		}
	}
	d := plainText("Hello there", "boats")
	f.Add(d.bytes())
	f.Add(d.packed(12))
	f.Add([]byte("%PDF-1.4\n1 0 obj<</Pages 2 0 R/Type/Catalog>>endobj 2 0 obj<</Kids[3 0 R]>>endobj 3 0 obj<</Contents 4 0 R>>endobj 4 0 obj<<>>stream\nBT(x)Tj\nendstream"))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := whole(data, small())
		check(t, d.Pages, err)
		if !utf8.ValidString(d.Title) || strings.ContainsFunc(d.Title, unicode.IsControl) {
			t.Fatalf("title %q", d.Title)
		}
	})
}

// FuzzParts feeds the programs and tables inside a file without the file around
// them.
func FuzzParts(f *testing.F) {
	f.Add("BT /F1 10 Tf 72 700 Td [(Hel) -20 (lo)] TJ T* (x) ' ET /X1 Do", cmapHead+"1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfrange <41> <43> <0061> endbfrange", compactFont(), 3)
	f.Add("q 1 0 0 -1 0 792 cm BI /W 1 ID x EI /Span <</ActualText (x)>> BDC <41> Tj EMC Q", "2 begincidrange <00> <7F> 1 <8000> <80FF> 200 endcidrange", "/Encoding 256 array dup 65 /fi put def", 0)
	f.Add("BT /F1 10 Tf 0 1 -1 0 72 300 Tm (\xe9\x80) Tj ET", "1 beginbfchar <41> <D83DDE00> endbfchar", "\x00\x01\x00\x00\x00\x01", 1)
	f.Fuzz(func(t *testing.T, program, table, font string, kind int) {
		fonts := []string{
			"<< /Subtype /Type1 /ToUnicode 6 0 R /FontDescriptor << /FontFile 7 0 R >> >>",
			"<< /Subtype /Type0 /Encoding /Identity-V /DescendantFonts [<< /FontDescriptor << /FontFile2 7 0 R >> /W [1 [500 0] 3 9 200] >>] >>",
			"<< /Subtype /Type0 /Encoding 6 0 R /ToUnicode 6 0 R /DescendantFonts [<< /DW 300 >>] >>",
			"<< /Subtype /Type1 /FontDescriptor << /FontFile3 7 0 R >> /Encoding << /Differences [65 /a /eacute] >> >>",
		}
		d := document("/Font << /F1 "+fonts[uint(kind)%uint(len(fonts))]+" >> /XObject << /X1 5 0 R >>", program)
		d.stream("/Subtype /Form", []byte(program))
		d.stream("", []byte(table))
		d.stream("", []byte(font))
		pages, err := text(d.bytes(), small())
		check(t, pages, err)
	})
}

// FuzzFilters decodes any bytes with any chain of filters.
func FuzzFilters(f *testing.F) {
	f.Add(deflate([]byte("Hello there, Hello there")), byte(1), 12, 4)
	f.Add(lzw([]byte("Hello there, Hello there"), true), byte(2), 2, 3)
	f.Add([]byte(base85("Hello there")), byte(3), 1, 1)
	f.Fuzz(func(t *testing.T, data []byte, chain byte, predictor, columns int) {
		names := []name{"Crypt", "FlateDecode", "LZWDecode", "ASCII85Decode", "ASCIIHexDecode", "RunLengthDecode"}
		parms := dict{"Predictor": predictor, "Columns": columns, "Colors": int(chain)}
		s := &stream{raw: data, dict: dict{"Filter": array{names[int(chain)%6], names[int(chain)/6%6]}, "DecodeParms": array{parms, parms}}}
		file := &file{budget: newBudget(small())}
		file.reset()
		if out := file.decode(s); len(out) > small().MaxBytes {
			t.Fatalf("%d bytes come out", len(out))
		}
	})
}
