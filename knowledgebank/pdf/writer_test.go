package pdf

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
)

// draft is an unfinished PDF. Its objects are numbered from 1.
type draft struct {
	objects []string // what stands between "obj" and "endobj"
	extra   string   // more entries for the trailer
}

// add adds an object and returns its number.
func (d *draft) add(format string, args ...any) int {
	d.objects = append(d.objects, fmt.Sprintf(format, args...))
	return len(d.objects)
}

// stream adds a stream.
func (d *draft) stream(entries string, data []byte) int {
	return d.add("<< %s /Length %d >>\nstream\n%s\nendstream", entries, len(data), data)
}

// flated adds a compressed stream.
func (d *draft) flated(entries string, data []byte) int {
	return d.stream("/Filter /FlateDecode "+entries, deflate(data))
}

func deflate(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// helveticaFont is a font that every reader has.
const helveticaFont = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"

// document starts a draft with one page for each program. All pages have the same
// resources. The catalog is object 1.
func document(resources string, programs ...string) *draft {
	d := &draft{}
	d.add("<< /Type /Catalog /Pages 2 0 R >>")
	d.add("") // the pages, when their numbers are known
	var kids []string
	for _, p := range programs {
		contents := d.stream("", []byte(p))
		page := d.add("<< /Type /Page /Parent 2 0 R /Contents %d 0 R >>", contents)
		kids = append(kids, fmt.Sprintf("%d 0 R", page))
	}
	d.objects[1] = fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] /MediaBox [0 0 612 792] /Resources << %s >> >>",
		len(kids), strings.Join(kids, " "), resources)
	return d
}

// plainText is a document of one page with lines in Helvetica.
func plainText(lines ...string) *draft {
	return document("/Font << /F1 "+helveticaFont+" >>", showLines(lines...))
}

func showLines(lines ...string) string {
	var b strings.Builder
	b.WriteString("BT /F1 12 Tf 14 TL 72 700 Td\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "(%s) Tj T*\n", l)
	}
	b.WriteString("ET")
	return b.String()
}

// body writes the header and the objects, and returns where each begins.
func (d *draft) body(skip func(num int) bool) ([]byte, []int) {
	var b bytes.Buffer
	b.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	at := make([]int, len(d.objects)+1)
	for i, o := range d.objects {
		if skip != nil && skip(i+1) {
			continue
		}
		at[i+1] = b.Len()
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	return b.Bytes(), at
}

// bytes writes the file with a cross-reference table.
func (d *draft) bytes() []byte {
	out, at := d.body(nil)
	b := bytes.NewBuffer(out)
	start := b.Len()
	fmt.Fprintf(b, "xref\n0 %d\n0000000000 65535 f \n", len(at))
	for _, o := range at[1:] {
		fmt.Fprintf(b, "%010d 00000 n \n", o)
	}
	fmt.Fprintf(b, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", len(at), d.extra, start)
	return b.Bytes()
}

// packed writes the file with a cross-reference stream, and all objects except streams
// in one object stream. predictor 0: no prediction.
func (d *draft) packed(predictor int) []byte {
	var head, body bytes.Buffer
	index := map[int]int{}
	for i, o := range d.objects {
		if strings.Contains(o, "\nstream\n") {
			continue
		}
		index[i+1] = len(index)
		fmt.Fprintf(&head, "%d %d ", i+1, body.Len())
		body.WriteString(o + "\n")
	}
	pack := d.flated(fmt.Sprintf("/Type /ObjStm /N %d /First %d", len(index), head.Len()), append(head.Bytes(), body.Bytes()...))
	out, at := d.body(func(num int) bool { _, in := index[num]; return in })
	num := len(at)
	rows := []byte{0, 0, 0, 0, 0}
	for i := 1; i < len(at); i++ {
		if n, in := index[i]; in {
			rows = append(rows, 2, 0, byte(pack>>8), byte(pack), byte(n))
		} else {
			rows = append(rows, 1, byte(at[i]>>16), byte(at[i]>>8), byte(at[i]), 0)
		}
	}
	rows = append(rows, 1, byte(len(out)>>16), byte(len(out)>>8), byte(len(out)), 0)
	parms := ""
	if predictor > 0 {
		rows = predict(rows, 5, predictor)
		parms = fmt.Sprintf("/DecodeParms << /Predictor %d /Columns 5 >>", predictor)
	}
	data := deflate(rows)
	b := bytes.NewBuffer(out)
	fmt.Fprintf(b, "%d 0 obj\n<< /Type /XRef /Size %d /W [1 3 1] /Root 1 0 R %s /Filter /FlateDecode %s /Length %d >>\nstream\n",
		num, num+1, d.extra, parms, len(data))
	b.Write(data)
	fmt.Fprintf(b, "\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", len(out))
	return b.Bytes()
}

// predict does what unpredict reverses, for components of 8 bits. For PNG, kind 15 uses
// another filter for each row.
func predict(data []byte, row, kind int) []byte {
	var out []byte
	above := make([]byte, row)
	for n := 0; len(data) > 0; n++ {
		line := data[:min(row, len(data))]
		data = data[len(line):]
		filter := kind - 10
		if kind == 15 {
			filter = n % 5
		}
		if kind != 2 {
			out = append(out, byte(filter))
		}
		for i, c := range line {
			var left, corner byte
			if i > 0 {
				left, corner = line[i-1], above[i-1]
			}
			switch {
			case kind == 2 || filter == 1:
				c -= left
			case filter == 2:
				c -= above[i]
			case filter == 3:
				c -= byte((int(left) + int(above[i])) / 2)
			case filter == 4:
				c -= paeth(left, above[i], corner)
			}
			out = append(out, c)
		}
		above = line
	}
	return out
}
