package office

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// RTF as Word, LibreOffice, WordPad and macOS write it.
func TestRTF(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"paragraphs", `{\rtf1\ansi\deff0{\fonttbl{\f0 Arial;}}{\colortbl;\red0;}\pard One\b  two\b0 .\par Three\line four\tab five\par}`, []string{"One two.", "Three\nfour\tfive"}},
		{"characters", `{\rtf1\ansi\ansicpg1252\uc1 caf\'e9 \u8364?5 \emdash  \ldblquote x\rdblquote\~\{y\}\\ \u-10179?\u-8704?\par}`, []string{"café €5 — “x” {y}\\ 😀"}},
		{"characters that stand in for another", `{\rtf1\uc2 \u1046\'e6\'e6!\uc0\u1047 .\par}`, []string{"Ж!З."}},
		{"code pages of fonts", `{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}{\f2\fcharset128 Gothic;}}\f1\'ca\'eb\'fe\'f7\f0  \f2\'82\'a9\'82\'ac\par}`, []string{"Ключ かぎ"}},
		{"hidden and deleted", `{\rtf1 seen{\v  hidden}{\deleted  deleted} more\plain  text\par}`, []string{"seen more text"}},
		{"what is not text", `{\rtf1{\stylesheet{\s0 Normal;}}{\*\generator X;}{\pict\pngblip 89504e47}{\header Head}{\*\unknown words}{\object{\*\objdata 01}{\result shown}}{\field{\*\fldinst HYPERLINK "x"}{\fldrslt link}}\bin5 }}}}} text\par}`, []string{"shownlink text"}},
		{"lists", `{\rtf1{\listtext\f0 1.\tab}First\par{\listtext\f3\'b7\tab}Second\par{\pntext 3)\tab}Third\par}`, []string{"1. First\n- Second\n3) Third"}},
		{"a table", `{\rtf1\trowd\trhdr\intbl Boat\cell Berth\cell Price\cell\row\intbl Heron\cell 12\cell 480\cell\row\pard After\par}`, []string{"Boat: Heron; Berth: 12; Price: 480", "After"}},
		{"two columns", `{\rtf1\trowd\pard\intbl Owner\cell Ana\par Ruiz\cell\row\pard\intbl Phone\cell 555\cell\row\pard\par}`, []string{"Owner: Ana\nRuiz\nPhone: 555"}},
		{"a footnote and a comment", `{\rtf1 Paid{\footnote\pard On the fifth.} monthly.{\*\atnid BF}{\*\atnauthor Bo Falk}\chatn{\*\annotation Why?}\par Next.\par}`, []string{"Paid monthly.", "Footnote: On the fifth.", "Comment by Bo Falk: Why?", "Next."}},
		{"a text box, once", `{\rtf1 Text{\shp{\*\shpinst\shpleft0{\sp{\sn x}{\sv y}}{\shptxt\pard Boxed\par}}{\shprslt Boxed}}.\par}`, []string{"Text.", "Boxed"}},
		{"a text in two forms", `{\rtf1 {\upr{a?b}{\*\ud{a\u8364?b}}}\par}`, []string{"a€b"}},
		{"a backslash before a line end", "{\\rtf1 One\\\nTwo\\\nThree}", []string{"One", "Two", "Three"}},
		{"text behind the end", `{\rtf1 One\par}trailing`, []string{"One"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, paragraphsOf(t, []byte(tt.text))); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
	d, err := readAll(t, []byte(`{\rtf1{\info{\title Lease}{\author Ana Ruiz}{\creatim\yr2025\mo3\dy14\hr9\min30}}Text\par}`), Default())
	if got := story(d, err); got != "format: rtf\ntitle: Lease\nauthor: Ana Ruiz\ndate: 2025-03-14 09:30\n\nText\n" {
		t.Error(got)
	}
}
