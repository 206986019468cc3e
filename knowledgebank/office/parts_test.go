package office

import (
	"archive/zip"
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packed is an archive of files: names and contents in turn.
func packed(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	wordSpace = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:wps="x" xmlns:v="y" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"`
	typeOf    = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
)

// wordFile is a docx file with this body; more are other parts of it.
func wordFile(t testing.TB, body string, more ...string) []byte {
	return packed(t, append([]string{
		"_rels/.rels", `<Relationships><Relationship Id="a" Type="` + typeOf + `officeDocument" Target="word/document.xml"/></Relationships>`,
		"word/document.xml", `<?xml version="1.0" encoding="UTF-8" standalone="yes"?><w:document ` + wordSpace + `><w:body>` + body + `</w:body></w:document>`,
		"word/_rels/document.xml.rels", `<Relationships>` +
			`<Relationship Id="r1" Type="` + typeOf + `styles" Target="styles.xml"/>` +
			`<Relationship Id="r2" Type="` + typeOf + `numbering" Target="numbering.xml"/>` +
			`<Relationship Id="r3" Type="` + typeOf + `footnotes" Target="/word/footnotes.xml"/>` +
			`<Relationship Id="r4" Type="` + typeOf + `comments" Target="comments.xml"/></Relationships>`,
	}, more...)...)
}

// paragraphsOf are all paragraphs of a file that is read without an error.
func paragraphsOf(t testing.TB, data []byte) []string {
	t.Helper()
	d, err := readAll(t, data, Default())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range d.Parts {
		out = append(out, p.Paragraphs...)
	}
	return out
}

func run(text string) string { return `<w:r><w:t xml:space="preserve">` + text + `</w:t></w:r>` }

func para(inner string) string { return `<w:p>` + inner + `</w:p>` }

func item(list, level, text string) string {
	return para(`<w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + list + `"/></w:numPr></w:pPr>` + run(text))
}

// Word writes much that people do not see, and splits words into runs.
func TestWord(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"a word in several runs", para(run("The depo") + `<w:proofErr w:type="spellStart"/>` + run("sit is 9") + run("00.")), []string{"The deposit is 900."}},
		{"tabs and breaks", para(`<w:pPr><w:tabs><w:tab w:val="left" w:pos="720"/></w:tabs></w:pPr><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r>`), []string{"a\tb\nc-d"}},
		{"deleted and inserted", para(run("Rent: ") + `<w:del w:id="1" w:author="A"><w:r><w:delText>500</w:delText></w:r></w:del><w:ins w:id="2"><w:r><w:t>550</w:t></w:r></w:ins>`), []string{"Rent: 550"}},
		{"moved", para(`<w:moveFrom>`+run("old place")+`</w:moveFrom>`) + para(`<w:moveTo>`+run("new place")+`</w:moveTo>`), []string{"new place"}},
		{"a deleted end of a paragraph", para(`<w:pPr><w:rPr><w:del w:id="3"/></w:rPr></w:pPr>`+run("one ")) + para(run("two")), []string{"onetwo"}},
		{"hidden", para(run("seen") + `<w:r><w:rPr><w:vanish/></w:rPr><w:t> unseen</w:t></w:r><w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> again</w:t></w:r><w:r><w:rPr><w:rStyle w:val="Gone"/></w:rPr><w:t> styled</w:t></w:r>`), []string{"seen again"}},
		{"a field", para(`<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>` + run("7") + `<w:r><w:fldChar w:fldCharType="end"/></w:r>`), []string{"7"}},
		{"a link and a content control", para(`<w:hyperlink r:id="x">`+run("our page")+`</w:hyperlink>`) + `<w:sdt><w:sdtPr><w:alias w:val="x"/></w:sdtPr><w:sdtContent>` + para(run("filled in")) + `</w:sdtContent></w:sdt>`, []string{"our page", "filled in"}},
		{"a text box, once", para(run("Anchor") + `<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx><w:txbxContent>` + para(run("Boxed")) + `</w:txbxContent></wps:txbx></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox><w:txbxContent>` + para(run("Boxed")) + `</w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>` + run(" text")), []string{"Anchor text", "Boxed"}},
		{"a footnote and a comment", para(run("Paid monthly") + `<w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:commentReference w:id="5"/></w:r>` + run(".")), []string{"Paid monthly.", "Footnote: On the fifth.", "Comment by Bo Falk: Why?"}},
		{"numbered clauses", para(`<w:pPr><w:pStyle w:val="Clause"/></w:pPr>`+run("Term")) + item("1", "1", "One year.") + item("1", "1", "May be renewed.") + para(`<w:pPr><w:pStyle w:val="Clause"/></w:pPr>`+run("Rent")) + item("1", "1", "480 euros.") + item("1", "2", "In cash."), []string{"1. Term\n1.1 One year.\n1.2 May be renewed.\n2. Rent\n2.1 480 euros.\n(a) In cash."}},
		{"a list that starts anew", item("1", "0", "One") + item("3", "0", "Anew") + item("2", "0", "Dot"), []string{"1. One\n5. Anew\n- Dot"}},
		{"a contents list", para(`<w:pPr><w:pStyle w:val="TOC1"/></w:pPr>`+run("Rent 3")) + para(run("Rent")), []string{"Rent"}},
		{"a table with merged cells", `<w:tbl><w:tr>` + cells("Day", "Boat", "Hour") + `</w:tr><w:tr><w:tc><w:tcPr><w:vMerge w:val="restart"/></w:tcPr>` + para(run("Monday")) + `</w:tc>` + cells("Heron", "9") + `</w:tr><w:tr><w:tc><w:tcPr><w:vMerge/></w:tcPr>` + para("") + `</w:tc>` + cells("Tern", "11") + `</w:tr><w:tr><w:trPr><w:del w:id="9"/></w:trPr>` + cells("Sunday", "Gone", "1") + `</w:tr></w:tbl>`, []string{"Day: Monday; Boat: Heron; Hour: 9\nDay: Monday; Boat: Tern; Hour: 11"}},
		{"a table that arranges text", `<w:tbl><w:tr><w:tc>` + para(run("Left text.")) + `</w:tc><w:tc>` + para(run("Right text.")) + `</w:tc></w:tr></w:tbl>`, []string{"Left text.\nRight text."}},
		{"a table of years", `<w:tbl><w:tr>` + cells("Boat", "2023", "2024") + `</w:tr><w:tr>` + cells("heron", "5 €", "6 €") + `</w:tr></w:tbl>`, []string{"Boat: heron; 2023: 5 €; 2024: 6 €"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := paragraphsOf(t, wordFile(t, tt.body,
				"word/styles.xml", `<w:styles `+wordSpace+`><w:style w:type="character" w:styleId="Gone"><w:name w:val="Gone"/><w:rPr><w:vanish/></w:rPr></w:style><w:style w:styleId="TOC1"><w:name w:val="toc 1"/></w:style>`+
					`<w:style w:styleId="Base"><w:name w:val="Base"/><w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style><w:style w:styleId="Clause"><w:name w:val="Clause"/><w:basedOn w:val="Base"/></w:style></w:styles>`,
				"word/numbering.xml", `<w:numbering `+wordSpace+`><w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl><w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl><w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl></w:abstractNum>`+
					`<w:abstractNum w:abstractNumId="8"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="·"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="8"/></w:num><w:num w:numId="3"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="0"><w:startOverride w:val="5"/></w:lvlOverride></w:num></w:numbering>`,
				"word/footnotes.xml", `<w:footnotes `+wordSpace+`><w:footnote w:type="separator" w:id="0">`+para(run("line"))+`</w:footnote><w:footnote w:id="2">`+para(`<w:r><w:footnoteRef/></w:r>`+run(" On the fifth."))+`</w:footnote></w:footnotes>`,
				"word/comments.xml", `<w:comments `+wordSpace+`><w:comment w:id="5" w:author="Bo Falk">`+para(run("Why?"))+`</w:comment></w:comments>`,
			))
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func cells(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		b.WriteString(`<w:tc>` + para(run(text)) + `</w:tc>`)
	}
	return b.String()
}

// Cells show values as people see them.
func TestValues(t *testing.T) {
	for _, tt := range []struct{ code, raw, want string }{
		{"General", "0.30000000000000004", "0.3"},
		{"General", "1234567", "1234567"},
		{"General", "-0.5", "-0.5"},
		{"General", "1E+30", "1e+30"},
		{"0.00", "2.005", "2.01"},
		{"#,##0.00", "-1234567.891", "-1,234,567.89"},
		{`#,##0.00\ "€"`, "12", "12.00 €"},
		{`[$€-407]\ #,##0`, "1200", "€ 1,200"},
		{`"$"#,##0_);[Red]("$"#,##0)`, "-1200", "-$1,200"},
		{"0%", "0.256", "26%"},
		{"00000", "1067", "01067"},
		{"# ?/?", "0.5", "0.5"},
		{"0.00E+00", "12345", "1.23E+04"},
		{"dd.mm.yy", "45730", "14 March 2025"},
		{"mmm-yy", "45730", "March 2025"},
		{"yyyy", "45730", "2025"},
		{`[$-407]d. mmmm yyyy`, "45730", "14 March 2025"},
		{"d/m/yyyy h:mm", "45730.75", "14 March 2025 18:00"},
		{"h:mm AM/PM", "0.5", "12:00"},
		{"mm:ss", "0.001", "00:01:26"},
		{"[h]:mm", "1.5", "36:00"},
		{"d mmm yyyy", "1", "1 January 1900"},
		{"d mmm yyyy", "61", "1 March 1900"},
		{"d mmm yyyy", "1e300", "1e+300"},
		{"General", "many", "many"},
	} {
		if got := parseFormat(tt.code).show(tt.raw, excelDay0()); got != tt.want {
			t.Errorf("%s in %s: %q, want %q", tt.raw, tt.code, got, tt.want)
		}
	}
}

// Rows are lines that make sense alone.
func TestTable(t *testing.T) {
	for _, tt := range []struct {
		name string
		rows string // cells behind commas; numbers and dates are values
		want string
	}{
		{"a header", "Item,Where,count\nRope,Shed,3\nOar,,4", "Item: Rope; Where: Shed; Count: 3\nItem: Oar; Count: 4"},
		{"names and values", "Owner,Ana\nPhone,555", "Owner: Ana\nPhone: 555"},
		{"no header", "1,2,3\n4,5,6", "1; 2; 3\n4; 5; 6"},
		{"a title, a gap and two tables", "Stores\n\nItem,Where,Count\nRope,Shed,3\n\nOar,Boat,4\n\nName,Since,Fee\nAna,2020,9", "Stores\nItem: Rope; Where: Shed; Count: 3\nItem: Oar; Where: Boat; Count: 4\nName: Ana; Since: 2020; Fee: 9"},
		{"only a header", "Item,Where,Count", "Item; Where; Count"},
		{"long cells", "Item,What,Where\nRope," + strings.Repeat("long ", 100) + ",Shed", "Item: Rope\nWhat: " + strings.TrimSpace(strings.Repeat("long ", 100)) + "\nWhere: Shed"},
	} {
		var lines []string
		tb := &table{add: func(l string) { lines = append(lines, l) }}
		for r := range strings.SplitSeq(tt.rows, "\n") {
			var row []cell
			for i, c := range strings.Split(r, ",") {
				row = append(row, cell{i, c, valueText.MatchString(c)})
			}
			tb.row(row)
		}
		tb.flush()
		if got := strings.Join(lines, "\n"); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}
