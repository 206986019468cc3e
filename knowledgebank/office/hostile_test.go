package office

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/percached/percached/internal/base/fault"
)

// Files that are not read say why, and what to do.
func TestUnread(t *testing.T) {
	ole := func(stream string) []byte {
		b := bytes.Clone(oleStart)
		b = append(b, make([]byte, 600)...)
		for _, u := range utf16.Encode([]rune(stream)) {
			b = append(b, byte(u), byte(u>>8))
		}
		return b
	}
	odt := "application/vnd.oasis.opendocument.text"
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"protected":    {ole("EncryptedPackage"), "protected by a password"},
		"doc":          {ole("WordDocument"), "old Word document (.doc); save it as .docx"},
		"xls":          {ole("Workbook"), "old Excel workbook (.xls); save it as .xlsx"},
		"ppt":          {ole("PowerPoint Document"), "old PowerPoint presentation (.ppt); save it as .pptx"},
		"msg":          {ole("__properties_version1.0"), "mail of Outlook (.msg); save it as .eml"},
		"pages":        {packed(t, "Index/Document.iwa", "x"), "Pages, Numbers or Keynote; export it"},
		"xlsb":         {packed(t, "xl/workbook.bin", "x"), "binary Excel workbook (.xlsb)"},
		"any archive":  {packed(t, "a.txt", "x"), "an archive of other files; unpack it"},
		"locked odt":   {packed(t, "mimetype", odt, "content.xml", "", "META-INF/manifest.xml", `<manifest><file-entry full-path="content.xml"><encryption-data/></file-entry></manifest>`), "protected by a password"},
		"drawing":      {packed(t, "mimetype", "application/vnd.oasis.opendocument.graphics", "content.xml", "<a/>"), "a drawing"},
		"locked book":  {packed(t, "mimetype", "application/epub+zip", "META-INF/container.xml", `<c><r><rootfile full-path="o.opf"/></r></c>`, "o.opf", `<p><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></p>`, "a.xhtml", "x", "META-INF/encryption.xml", `<e><CipherReference URI="a.xhtml"/></e>`), "protected against copying"},
		"other office": {packed(t, "_rels/.rels", `<R><Relationship Id="a" Type="x/officeDocument" Target="visio/document.xml"/></R>`, "visio/document.xml", "<VisioDocument/>"), "unpack it"},
	} {
		_, err := readAll(t, tt.data, Default())
		if fault.KindOf(err) != fault.Unsupported || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// A damaged file is read up to the damage.
func TestDamaged(t *testing.T) {
	d, err := readAll(t, wordFile(t, para(run("One."))+para(run("Two."))+"<w:p><w:r><w:t>Three"), Default())
	if got := strings.Join(d.Parts[0].Paragraphs, " "); !strings.HasPrefix(got, "One. Two.") || fault.KindOf(err) != fault.Invalid {
		t.Error(got, err)
	}
	whole := wordFile(t, para(run("One.")))
	if _, err := readAll(t, whole[:len(whole)-30], Default()); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if d, err := readAll(t, []byte(`{\rtf1 One.\par Two`), Default()); strings.Join(d.Parts[0].Paragraphs, " ") != "One. Two" || fault.KindOf(err) != fault.Invalid {
		t.Error(d, err)
	}
}

// Files made to be costly end at a limit, with the text before it.
func TestBombs(t *testing.T) {
	small := Options{MaxBytes: 1 << 20, MaxText: 128 << 10}
	shared := packed(t,
		"xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="S" r:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels", `<R><Relationship Id="a" Type="x/worksheet" Target="s.xml"/><Relationship Id="b" Type="x/sharedStrings" Target="t.xml"/></R>`,
		"xl/t.xml", `<sst><si><t>`+strings.Repeat("word ", 5_000)+`</t></si></sst>`,
		"xl/s.xml", `<worksheet><sheetData><row>`+strings.Repeat(`<c t="s"><v>0</v></c>`, 1_000)+strings.Repeat(`</row><row><c t="s"><v>0</v></c>`, 1_000)+`</row></sheetData></worksheet>`)
	for name, data := range map[string][]byte{
		"unpacks to much":   wordFile(t, strings.Repeat(para(run("Again.")), 25_000)),
		"much text":         wordFile(t, strings.Repeat(para(run(strings.Repeat("Again. ", 100))), 300)),
		"deep":              wordFile(t, strings.Repeat("<w:sdt>", 10_000)),
		"deep groups":       []byte(`{\rtf1 ` + strings.Repeat("{", 10_000)),
		"repeated string":   shared,
		"many files":        bytes.Repeat([]byte("PK\x01\x02"), maxEntries+1),
		"repeated columns":  packed(t, "mimetype", "application/vnd.oasis.opendocument.spreadsheet", "content.xml", `<d><body><spreadsheet><table name="a"><table-row number-rows-repeated="1000000">`+strings.Repeat(`<table-cell number-columns-repeated="1000000"><p>`+strings.Repeat("word ", 100)+`</p></table-cell>`, 100)+`</table-row></table></spreadsheet></body></d>`),
		"cells without end": wordFile(t, "<w:tbl><w:tr>"+strings.Repeat("<w:tc/>", 20_000)+"</w:tr></w:tbl>"),
	} {
		d, err := readAll(t, data, small)
		n := 0
		for _, p := range d.Parts {
			for _, text := range p.Paragraphs {
				n += len(text)
			}
		}
		if k := fault.KindOf(err); k != fault.Unsupported && k != fault.Invalid || n > small.MaxText {
			t.Errorf("%s: %d bytes of text, %v", name, n, err)
		}
	}
	if _, err := readAll(t, overlong(t), small); fault.KindOf(err) != fault.Unsupported {
		t.Error(err)
	}
	if _, err := io.ReadAll(&runs{r: strings.NewReader(strings.Repeat("x", maxRun+1))}); !errors.Is(err, errRun) {
		t.Error(err)
	}
	// Files of one mail share the limits.
	files, err := NewFiles(small)
	if err != nil {
		t.Fatal(err)
	}
	book := wordFile(t, strings.Repeat(para(run("Again.")), 2_000))
	for i := range 3 {
		if _, err := files.Read(context.Background(), book); (err != nil) != (i == 2) {
			t.Errorf("file %d: %v", i, err)
		}
	}
}

// overlong is an archive whose list of files gives a small size for a large file.
func overlong(t *testing.T) []byte {
	var text, b bytes.Buffer
	f, err := flate.NewWriter(&text, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	zeros := bytes.Repeat([]byte(" "), 2<<20)
	if _, err := f.Write(zeros); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(&b)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "word/document.xml", Method: zip.Deflate, CRC32: crc32.ChecksumIEEE(zeros), CompressedSize64: uint64(text.Len()), UncompressedSize64: 2 << 20})
	if err == nil {
		_, err = w.Write(text.Bytes())
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Entities of a document type are not expanded.
func TestEntities(t *testing.T) {
	data := packed(t, "word/document.xml", `<!DOCTYPE d [<!ENTITY a "boom"><!ENTITY b "&a;&a;"><!ENTITY f SYSTEM "file:///etc/passwd">]><document><body><p><r><t>One.</t></r></p><p><r><t>&b;&f;</t></r></p></body></document>`)
	d, err := readAll(t, data, Default())
	if got := story(d, err); strings.Contains(got, "boom") || strings.Contains(got, "root") || !strings.Contains(got, "One.") {
		t.Error(got)
	}
}

// Reading ends soon after the context.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	files, err := NewFiles(Default())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"docx": wordFile(t, strings.Repeat(para(run("Again.")), 1_500)),
		"rtf":  []byte(`{\rtf1 ` + strings.Repeat(`Again.\par `, 3000) + `}`),
	} {
		if d, err := files.Read(ctx, data); !errors.Is(err, context.Canceled) || len(d.Parts) > 0 && len(d.Parts[0].Paragraphs) > 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Any file yields text within the limits, or a reason.
func FuzzRead(f *testing.F) {
	files, err := filepath.Glob("testdata/*.*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(wordFile(f, para(run("One."))))
	f.Fuzz(func(t *testing.T, data []byte) { fit(t, data) })
}

// FuzzWord reads any XML as the text of a docx file, FuzzSheet and FuzzODF as those of others.
func FuzzWord(f *testing.F) {
	f.Add(para(run("One.")+`<w:r><w:br/></w:r>`), para(run("Note")), item("1", "0", "One"))
	f.Fuzz(func(t *testing.T, body, notes, numbers string) {
		fit(t, wordFile(t, body, "word/footnotes.xml", notes, "word/numbering.xml", numbers, "word/styles.xml", notes, "word/comments.xml", notes))
	})
}

func FuzzSheet(f *testing.F) {
	f.Add(`<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c s="1"><v>45730</v></c></row></sheetData>`, `<si><t>x</t></si>`, `[$€-407]\ #,##0.00;d mmm "x"`)
	f.Fuzz(func(t *testing.T, sheet, strings, code string) {
		parseFormat(code).show("45730.5", excelDay0())
		fit(t, packed(t, "xl/workbook.xml", `<workbook xmlns:r="r"><sheets><sheet name="S" r:id="a"/></sheets></workbook>`,
			"xl/_rels/workbook.xml.rels", `<R><Relationship Id="a" Type="x/worksheet" Target="s.xml"/><Relationship Id="b" Type="x/sharedStrings" Target="t.xml"/></R>`,
			"xl/s.xml", "<worksheet>"+sheet+"</worksheet>", "xl/t.xml", "<sst>"+strings+"</sst>"))
	})
}

func FuzzODF(f *testing.F) {
	f.Add("text", `<p>One<s c="3"/></p><list style-name="L"><list-item start-value="4"><p>x</p></list-item></list>`, `<list-style name="L"><list-level-style-number level="1" num-format="i"/></list-style>`)
	f.Add("spreadsheet", `<table name="a"><table-row><table-cell value-type="date" date-value="2025-01-01"><p>x</p></table-cell></table-row></table>`, "")
	f.Add("presentation", `<page><frame class="title"><text-box><p>x</p></text-box></frame></page>`, "")
	f.Fuzz(func(t *testing.T, kind, body, styles string) {
		fit(t, packed(t, "mimetype", "application/vnd.oasis.opendocument."+kind, "content.xml", "<d><automatic-styles>"+styles+"</automatic-styles><body><b>"+body+"</b></body></d>"))
	})
}

func FuzzRTF(f *testing.F) {
	f.Add(`\ansi\ansicpg1252{\fonttbl{\f0\fcharset204 A;}}\trowd\intbl a\cell\row\pard{\footnote x}\u8364?\'e9\bin3 abc\par`)
	f.Fuzz(func(t *testing.T, text string) { fit(t, []byte(`{\rtf1`+text)) })
}

// fit checks what must hold of any file.
func fit(t *testing.T, data []byte) {
	t.Helper()
	d, err := readAll(t, data, Options{MaxBytes: 4 << 20, MaxText: 1 << 20})
	if k := fault.KindOf(err); k != 0 && k != fault.Invalid && k != fault.Unsupported {
		t.Errorf("%v is %v", err, k)
	}
	n := 0
	for _, p := range d.Parts {
		for _, text := range p.Paragraphs {
			n += len(text)
		}
	}
	if n > 1<<20 {
		t.Errorf("%d bytes of text", n)
	}
}

// A note is kept once, however many places refer to it.
func TestSharedNoteMemory(t *testing.T) {
	data := wordFile(t, para(strings.Repeat(`<w:r><w:footnoteReference w:id="1"/></w:r>`, 1_000)),
		"word/footnotes.xml", `<w:footnotes `+wordSpace+`><w:footnote w:id="1">`+para(run(strings.Repeat("x", 1<<20)))+`</w:footnote></w:footnotes>`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	d, err := readAll(t, data, Default())
	runtime.ReadMemStats(&after)
	if total := after.TotalAlloc - before.TotalAlloc; total > 64<<20 {
		t.Errorf("%d MiB were taken in all", total>>20)
	}
	if err == nil || len(d.Parts) != 1 || len(d.Parts[0].Paragraphs) == 0 || !strings.HasPrefix(d.Parts[0].Paragraphs[0], "Footnote: x") {
		t.Errorf("%d parts, %v", len(d.Parts), err)
	}
}

// Paragraphs whose ends were deleted are joined up to a limit, since each join copies.
func TestEndlessParagraph(t *testing.T) {
	p := para(`<w:pPr><w:rPr><w:del w:id="3"/></w:rPr></w:pPr>` + run(strings.Repeat("x", 1<<10)))
	var before, after runtime.MemStats
	data := wordFile(t, strings.Repeat(p, 4_000))
	runtime.ReadMemStats(&before)
	d, err := readAll(t, data, Default())
	runtime.ReadMemStats(&after)
	if total := after.TotalAlloc - before.TotalAlloc; total > 1<<30 {
		t.Errorf("%d MiB were taken in all", total>>20)
	}
	n := 0
	for _, text := range d.Parts[0].Paragraphs {
		n += len(text)
	}
	if err != nil || n < 4_000<<10 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
