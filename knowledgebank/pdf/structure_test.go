package pdf

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// The same document in different arrangements of its objects.
func TestLayouts(t *testing.T) {
	d := func() *draft { return plainText("The harbour office moves.") }
	for name, data := range map[string][]byte{
		"table":               d().bytes(),
		"streams":             d().packed(0),
		"PNG filters mixed":   d().packed(15),
		"PNG up":              d().packed(12),
		"TIFF":                d().packed(2),
		"lines before":        append([]byte("From: ana@heron.example\r\n\r\n"), d().bytes()...),
		"bytes behind":        append(d().bytes(), make([]byte, 500)...),
		"line ends of a Mac":  bytes.ReplaceAll(plainText("The harbour office moves.").bytes(), []byte("\nendobj\n"), []byte("\rendobj\r")),
		"no line ends at all": bytes.ReplaceAll(d().bytes(), []byte("\nendobj\n"), []byte(" endobj ")),
	} {
		t.Run(name, func(t *testing.T) { want(t, data, "The harbour office moves.") })
	}
}

// A search finds what is broken.
func TestRepair(t *testing.T) {
	good := plainText("The harbour office moves.").bytes()
	packed := plainText("The harbour office moves.").packed(12)
	cut := func(data []byte, at string) []byte { return data[:bytes.Index(data, []byte(at))] }
	replace := func(data []byte, old, repl string) []byte {
		if !bytes.Contains(data, []byte(old)) {
			t.Fatalf("%q is not there", old)
		}
		return bytes.ReplaceAll(data, []byte(old), []byte(repl))
	}
	for name, data := range map[string][]byte{
		"no table":           cut(good, "xref\n"),
		"no end":             cut(good, "startxref"),
		"wrong start":        replace(good, "startxref\n", "startxref\n9"),
		"wrong offsets":      replace(good, "xref\n0 5\n0000000000 65535 f \n0000000", "xref\n0 5\n0000000000 65535 f \n0000001"),
		"one wrong offset":   replace(good, fmt.Sprintf("%010d 00000 n", bytes.Index(good, []byte("3 0 obj"))), "0000000017 00000 n"),
		"shifted":            replace(good, "%PDF-1.7\n", "%PDF-1.7\n%comment\n"),
		"objects off by one": replace(good, "xref\n0 5", "xref\n1 5"),
		"no trailer root":    replace(good, "/Root 1 0 R", "/Roof 1 0 R"),
		"wrong length":       replace(good, "/Length ", "/Length 9"),
		"length too short":   replace(good, "/Length ", "/Length 0"),
		"no endobj":          replace(good, "endobj", ""),
		"no endstream":       replace(good, "endstream", ""),
		"packed, no end":     cut(packed, "startxref"),
		"packed, no table":   replace(packed, "/Type /XRef", "/Type /Xref"),
		"no header":          replace(good, "%PDF-1.7", "%------"),
	} {
		t.Run(name, func(t *testing.T) { want(t, data, "The harbour office moves.") })
	}
}

// A file that was updated in place gives the text of its newest version.
func TestIncrementalUpdate(t *testing.T) {
	base := plainText("Old").bytes()
	update := func(prev []byte, num int, text string) []byte {
		program := showLines(text)
		at := len(prev)
		out := append(bytes.Clone(prev), fmt.Sprintf("%d 0 obj\n<< /Length %d >>\nstream\n%s\nendstream\nendobj\n", num, len(program), program)...)
		start := bytes.LastIndex(prev, []byte("xref\n0"))
		if i := bytes.LastIndex(prev, []byte("\nxref\n3")); i >= 0 {
			start = i + 1
		}
		return append(out, fmt.Sprintf("xref\n%d 1\n%010d 00000 n \ntrailer\n<< /Size 5 /Root 1 0 R /Prev %d >>\nstartxref\n%d\n%%%%EOF\n",
			num, at, start, len(out))...)
	}
	once := update(base, 3, "New")
	want(t, once, "New")
	want(t, update(once, 3, "Newest"), "Newest")
	want(t, bytes.ReplaceAll(update(once, 3, "Newest"), []byte("startxref"), []byte("startxxxx")), "Newest")
}

// In a hybrid file, the table lists objects as free that a stream has.
func TestHybrid(t *testing.T) {
	d := plainText("Hidden from old readers")
	out, at := d.body(nil)
	b := bytes.NewBuffer(out)
	hidden := b.Len()
	rows := []byte{1, byte(at[3] >> 8), byte(at[3]), 0}
	fmt.Fprintf(b, "9 0 obj\n<< /Type /XRef /Size 5 /W [1 2 1] /Index [3 1] /Length 4 >>\nstream\n%s\nendstream\nendobj\n", rows)
	start := b.Len()
	fmt.Fprintf(b, "xref\n0 5\n0000000000 65535 f \n%010d 00000 n \n%010d 00000 n \n0000000000 00000 f \n%010d 00000 n \n", at[1], at[2], at[4])
	fmt.Fprintf(b, "trailer\n<< /Size 5 /Root 1 0 R /XRefStm %d >>\nstartxref\n%d\n%%%%EOF\n", hidden, start)
	want(t, b.Bytes(), "Hidden from old readers")
}

func TestFilters(t *testing.T) {
	program := showLines("Efficient offices find affluent customers")
	hex := fmt.Sprintf("%x>", program)
	flate := string(deflate([]byte(program)))
	runs := ""
	for rest := program; rest != ""; {
		n := min(len(rest), 100)
		runs += string(rune(n-1)) + rest[:n]
		rest = rest[n:]
	}
	for _, tt := range []struct{ name, entries, data string }{
		{"none", "", program},
		{"hexadecimal", "/Filter /ASCIIHexDecode", hex},
		{"base 85", "/Filter /ASCII85Decode", base85(program)},
		{"runs", "/Filter /RunLengthDecode", runs + "\x80"},
		{"flate", "/Filter /FlateDecode", flate},
		{"short names", "/Filter [/AHx /Fl]", fmt.Sprintf("%x>", flate)},
		{"flate, wrong checksum", "/Filter /FlateDecode", flate[:len(flate)-4] + "abcd"},
		{"flate, no header", "/Filter /FlateDecode", flate[2:]},
		{"flate, wrong header", "/Filter /FlateDecode", "\x00\x00" + flate[2:]},
		{"two filters", "/Filter [/ASCII85Decode /FlateDecode] /DecodeParms [null << >>]", base85(flate)},
		{"predicted", "/Filter /FlateDecode /DecodeParms << /Predictor 15 /Columns 7 >>", string(deflate(predict([]byte(program), 7, 15)))},
		{"lzw", "/Filter /LZWDecode", string(lzw([]byte(program), true))},
		{"lzw, late change", "/Filter /LZWDecode /DecodeParms << /EarlyChange 0 >>", string(lzw([]byte(program), false))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := plainText("")
			d.objects[2] = fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", tt.entries, len(tt.data), tt.data)
			want(t, d.bytes(), "Efficient offices find affluent customers")
		})
	}
}

// Of equal distances, PNG takes the pixel above rather than the corner.
func TestPaeth(t *testing.T) {
	for _, tt := range [][4]byte{{1, 4, 2, 4}, {5, 9, 9, 5}, {9, 5, 9, 5}, {2, 4, 3, 3}, {7, 7, 7, 7}, {200, 10, 5, 200}} {
		if got := paeth(tt[0], tt[1], tt[2]); got != tt[3] {
			t.Errorf("left %d, up %d, corner %d: %d, want %d", tt[0], tt[1], tt[2], got, tt[3])
		}
	}
}

// Long texts use codes of all sizes, and more than one table.
func TestLZWLong(t *testing.T) {
	var text []byte
	for i := range 30000 {
		text = fmt.Appendf(text, "%d,", i*i)
	}
	for _, early := range []bool{true, false} {
		out := &sink{budget: newBudget(Default())}
		out.lzw(lzw(text, early), early)
		if !bytes.Equal(out.data, text) {
			t.Errorf("early %v: %d bytes of %d come back", early, len(out.data), len(text))
		}
	}
}

// Damaged compression yields the text before the damage.
func TestDamagedFlate(t *testing.T) {
	var text []byte
	for i := range 5000 {
		text = fmt.Appendf(text, "Boat %d costs %d\n", i, i*i*7919)
	}
	whole := deflate(text)
	bad := bytes.Clone(whole)
	for i := range 40 {
		bad[len(bad)/2+i] ^= 0x5a
	}
	for name, data := range map[string][]byte{"cut": whole[:len(whole)/2], "overwritten": bad} {
		out := &sink{budget: newBudget(Default())}
		out.inflate(data)
		if n := len(out.data); n < len(text)/3 || !bytes.HasPrefix(text, out.data[:len(text)/3]) {
			t.Errorf("%s: %d bytes of %d come out", name, n, len(text))
		}
	}
}

func base85(s string) string {
	var out strings.Builder
	for len(s) > 0 {
		n := min(4, len(s))
		var group uint32
		for i := range 4 {
			group <<= 8
			if i < n {
				group |= uint32(s[i])
			}
		}
		s = s[n:]
		var digits [5]byte
		for i := 4; i >= 0; i-- {
			digits[i] = byte(group%85) + '!'
			group /= 85
		}
		out.Write(digits[:n+1])
	}
	return out.String() + "~>"
}

// lzw compresses with codes of 9 to 12 bits.
func lzw(data []byte, early bool) []byte {
	var out []byte
	var acc, bits uint
	width := uint(9)
	emit := func(code int) {
		acc, bits = acc<<width|uint(code), bits+width
		for ; bits >= 8; bits -= 8 {
			out = append(out, byte(acc>>(bits-8)))
		}
	}
	codes := map[string]int{}
	next := 258
	code := func(s string) int {
		if len(s) == 1 {
			return int(s[0])
		}
		return codes[s]
	}
	emit(256)
	word := ""
	for _, c := range data {
		longer := word + string([]byte{c})
		if _, known := codes[longer]; known || len(longer) == 1 {
			word = longer
			continue
		}
		emit(code(word))
		codes[longer] = next
		next++
		// The decoder knows one entry less and changes when that is full.
		limit := next - 1
		if early {
			limit++
		}
		if limit >= 1<<width && width < 12 {
			width++
		}
		if next == 4095 {
			emit(256)
			codes, next, width = map[string]int{}, 258, 9
		}
		word = string([]byte{c})
	}
	emit(code(word))
	emit(257)
	return append(out, byte(acc<<(8-bits)), 0)
}
