package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
)

// Text behind a limit is left out, and the error names the limit.
func TestLimits(t *testing.T) {
	three := document("/Font << /F1 "+helveticaFont+" >>", showLines("One"), showLines("Two"), showLines("Three")).bytes()
	long := plainText()
	long.objects[2] = fmt.Sprintf("<< /Filter /RunLengthDecode /Length 1 >>\nstream\n%s\nendstream", strings.Repeat("\x81 ", maxStream/128+1))
	for _, tt := range []struct {
		name  string
		data  []byte
		set   func(*Options)
		says  string
		pages int
	}{
		{"pages", three, func(o *Options) { o.MaxPages = 2 }, "pages", 2},
		{"bytes", three, func(o *Options) { o.MaxBytes = 300 }, "bytes", 3},
		{"steps", three, func(o *Options) { o.MaxSteps = 1030 }, "steps", 2},
		{"one stream", long.bytes(), func(*Options) {}, "bytes", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := Default()
			tt.set(&o)
			pages, err := text(tt.data, o)
			if fault.KindOf(err) != fault.Unsupported || !strings.Contains(fmt.Sprint(err), "too large") || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, want too large: %s", err, tt.says)
			}
			if len(pages) != tt.pages || tt.pages > 1 && pages[0].Paragraphs == nil {
				t.Errorf("%d pages, want %d: %v", len(pages), tt.pages, pages)
			}
		})
	}
	for n := range 3 {
		o := Default()
		o.MaxPages = 3 + n
		if pages, err := text(three, o); err != nil || len(pages) != 3 {
			t.Errorf("at most %d pages: %d, %v", o.MaxPages, len(pages), err)
		}
	}
}

// Files made to be costly end soon, with any result. Without limits, each would run for
// hours or take all memory.
func TestHostile(t *testing.T) {
	loop := func(resources, program string, more ...string) []byte {
		d := document(resources, program)
		d.objects = append(d.objects, more...)
		return d.bytes()
	}
	form := func(resources, program string) string {
		return fmt.Sprintf("<< /Subtype /Form /Resources << %s >> /Length %d >>\nstream\n%s\nendstream", resources, len(program), program)
	}
	var doubling []string
	for i := range 30 {
		doubling = append(doubling, form(fmt.Sprintf("/Font << /F1 %s >> /XObject << /X %d 0 R >>", helveticaFont, 6+i), "/X Do /X Do BT /F1 1 Tf (x) Tj ET /X Do"))
	}
	many := func(object string) []byte {
		b := []byte("%PDF-1.4 ")
		for i := range 50_000 {
			b = fmt.Appendf(b, "%d 0 obj %s", i+1, object)
		}
		return b
	}
	kids := plainText("x")
	kids.objects[1] = "<< /Kids [" + strings.Repeat("<< /Kids [", 5000) + " >>"
	wide := document("", "")
	wide.objects[1] = "<< /Kids [" + strings.Repeat("4 0 R 2 0 R ", 100_000) + "] >>"
	prev := plainText("Hello").bytes()
	prev = bytes.Replace(prev, []byte("/Root 1 0 R"), []byte(fmt.Sprintf("/Root 1 0 R /Prev %d", bytes.LastIndex(prev, []byte("xref\n0")))), 1)
	for name, data := range map[string][]byte{
		"form in itself":        loop("/XObject << /X 5 0 R >>", "/X Do", form("/XObject << /X 5 0 R >>", "/X Do /X Do /X Do")),
		"forms that double":     loop("/XObject << /X 5 0 R >>", "/X Do", doubling...),
		"strings without end":   many("("),
		"streams without end":   many("<< /Type /ObjStm /N 9 /First 1 >> stream\n"),
		"comments":              many("%"),
		"nesting":               loop("", strings.Repeat("[", 1_000_000)),
		"nested dictionaries":   []byte("%PDF-1.4 trailer " + strings.Repeat("<< /A ", 300_000)),
		"tree too deep":         kids.bytes(),
		"tree in a circle":      wide.bytes(),
		"tables in a circle":    prev,
		"length in a circle":    bytes.ReplaceAll(plainText("Hello").bytes(), []byte("/Length "), []byte("/Length 3 0 R /L ")),
		"references":            loop("/Font 5 0 R", showLines("x"), "6 0 R", "5 0 R"),
		"object streams":        bytes.ReplaceAll(plainText("x").packed(0), []byte("/Type /ObjStm"), []byte("/Type /ObjStm /Extends 5 0 R")),
		"table of a billion":    []byte("%PDF-1.4 xref\n0 1000000000\n" + strings.Repeat("0000000009 00000 n \n", 1000) + "trailer << /Root 1 0 R >> startxref 9"),
		"a million operands":    loop("", strings.Repeat("1 ", 1_000_000)+"Td"),
		"saved states":          loop("", strings.Repeat("q ", 300_000)),
		"marks":                 loop("", strings.Repeat("/A BMC ", 300_000)),
		"images":                loop("", strings.Repeat("BI ID ", 300_000)),
		"lines":                 loop("/Font << /F1 "+helveticaFont+" >>", "BT /F1 1 Tf "+strings.Repeat("0 -3 Td (x) Tj 0 3 Td 9 0 Td (y) Tj ", 100_000)),
		"filters":               loop("", "", "<< /Filter ["+strings.Repeat("/Fl ", 1000)+"] >>\nstream\nx\nendstream"),
		"drawn over and over":   loop("/Font << /F1 "+helveticaFont+" >>", "BT /F1 10 Tf 9 9 Td "+strings.Repeat("(abcdefgh) Tj -40 0 Td ", 50_000)),
		"a range of all codes":  loop("/Font << /F1 << /Subtype /Type0 /Encoding 5 0 R /ToUnicode 5 0 R >> >>", showLines("x"), cmapStream("1 beginbfrange <00000000> <FFFFFFFF> <0041> endbfrange 1 begincidrange <00000000> <FFFFFFFF> 0 endcidrange")),
		"an encoding of itself": loop("/Font << /F1 << /Subtype /Type0 /Encoding 5 0 R >> >>", showLines("x"), "<< /UseCMap 5 0 R /Length 1 >>\nstream\n1\nendstream"),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBudget(Default())
			b.steps, b.values = b.steps/10, b.values/10
			d, err := read(context.Background(), data, Default().MaxPages, b)
			check(t, d.Pages, err)
		})
	}
}

// impatient is a context that ends after a number of checks.
type impatient struct {
	context.Context
	looks, most int
}

func (i *impatient) Err() error {
	if i.looks++; i.looks > i.most {
		return context.Canceled
	}
	return nil
}

// Reading a costly file stops when the context ends, also inside a page and inside a
// stream.
func TestReadEnds(t *testing.T) {
	long := plainText()
	long.objects[2] = fmt.Sprintf("<< /Filter /RunLengthDecode /Length 1 >>\nstream\n%s\nendstream", strings.Repeat("\x81 ", 1<<18))
	for name, data := range map[string][]byte{
		"operators": document("/Font << /F1 "+helveticaFont+" >>", "BT /F1 10 Tf 9 9 Td "+strings.Repeat("(abcdefgh) Tj -40 0 Td ", 50_000)+" ET").bytes(),
		"a stream":  long.bytes(),
	} {
		t.Run(name, func(t *testing.T) {
			all := &impatient{Context: context.Background(), most: 1 << 60}
			files, err := NewFiles(Default())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := files.Read(all, data); err != nil && fault.KindOf(err) != fault.Unsupported {
				t.Fatal(err)
			}
			if all.looks < 100 {
				t.Errorf("it looks %d times", all.looks)
			}
			for most := 0; most < all.looks-3; most += 1 + all.looks/7 {
				ctx := &impatient{Context: context.Background(), most: most}
				if d, err := files.Read(ctx, data); !errors.Is(err, context.Canceled) || ctx.looks-most > 10 {
					t.Errorf("ended at look %d of %d, it looks %d times more: %d pages, %v", most, all.looks, ctx.looks-most, len(d.Pages), err)
				}
			}
		})
	}
}

func cmapStream(s string) string {
	return fmt.Sprintf("<< /Length %d >>\nstream\n%s\nendstream", len(s), s)
}

// Of characters drawn over each other, only some are compared to find repeated ones: a
// page may have millions at one place.
func TestDrawnOver(t *testing.T) {
	l := &layout{budget: newBudget(Default())}
	over := func(first, last rune) {
		for r := first; r <= last; r++ {
			l.add(glyph{text: string(r), frame: frame{ux: 1, size: 10}})
		}
	}
	over(0x4e00, 0x4e00+maxAlike-1)
	over(0x4e00, 0x4e00+maxAlike-1)
	if got := len([]rune(string(l.cur.out))); got != maxAlike {
		t.Errorf("%d characters, want %d", got, maxAlike)
	}
	over(0x4e00+maxAlike, 0x4e00+maxAlike)
	over(0x4e00+maxAlike, 0x4e00+maxAlike)
	if got := len([]rune(string(l.cur.out))); got != maxAlike+2 {
		t.Errorf("%d characters, want %d: the last of them was looked for too far", got, maxAlike+2)
	}
}

// Several files together may cost no more than one.
func TestFiles(t *testing.T) {
	o := Default()
	o.MaxSteps = 2500 // a font costs a thousand
	files, err := NewFiles(o)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []fault.Kind{0, 0, fault.Unsupported, fault.Unsupported} {
		d, err := files.Read(context.Background(), plainText("x").bytes())
		if fault.KindOf(err) != want || want == 0 && len(d.Pages) != 1 {
			t.Errorf("file %d: %v, %v", n, d, err)
		}
	}
	if _, err := files.Read(context.Background(), nil); fault.KindOf(err) != fault.Invalid {
		t.Errorf("what is no file: %v", err)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := read(ended, plainText("x").bytes(), 1, newBudget(o)); err != context.Canceled {
		t.Errorf("when nobody waits any more: %v", err)
	}
}

// A small file that unpacks to much takes memory in proportion to the limit.
func TestBombMemory(t *testing.T) {
	o := Default()
	o.MaxBytes = 16 << 20
	d := plainText("x")
	zeros := deflate(make([]byte, 3<<20))
	numbers := deflate(bytes.Repeat([]byte("0 "), 2<<20))
	d.objects[2] = fmt.Sprintf("<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream", len(numbers), numbers)
	for range 10 {
		d.stream("/Type /ObjStm /N 1000000 /First 1 /Filter /FlateDecode", zeros)
	}
	data := d.bytes()
	data = data[:bytes.LastIndex(data, []byte("xref\n0"))] // so that all object streams are searched
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	pages, err := text(data, o)
	runtime.ReadMemStats(&after)
	check(t, pages, err)
	if err == nil {
		t.Error("no limit was hit")
	}
	if total := after.TotalAlloc - before.TotalAlloc; total > 12*uint64(o.MaxBytes) {
		t.Errorf("%d MiB were taken in all", total>>20)
	}
}

// Fonts that share a long array or stream cost each time what they keep of it.
func TestSharedFontMemory(t *testing.T) {
	o := Default()
	o.MaxBytes = 16 << 20
	const fonts = 200
	for name, shared := range map[string]string{
		"widths":      "[0 [" + strings.Repeat("0 ", 1<<16) + "]]",
		"ranges":      "[" + strings.Repeat("1 2 3 ", 1<<15) + "]",
		"differences": "[" + strings.Repeat("/a ", 1<<16) + "]",
	} {
		var resources, program strings.Builder
		for i := range fonts {
			fmt.Fprintf(&resources, "/F%d << /Type /Font /Subtype /Type0 /DescendantFonts [5 0 R] /Encoding << /Differences 6 0 R >> >> ", i)
			fmt.Fprintf(&program, "/F%d 1 Tf ", i)
		}
		d := document("/Font << "+resources.String()+" >>", "BT "+program.String()+"(x) Tj ET")
		d.add("<< /Subtype /CIDFontType2 /W 6 0 R >>")
		d.objects = append(d.objects, shared)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		pages, err := text(d.bytes(), o)
		runtime.ReadMemStats(&after)
		check(t, pages, err)
		if total := after.TotalAlloc - before.TotalAlloc; total > 8*uint64(o.MaxBytes) {
			t.Errorf("%s: %d MiB were taken in all, %v", name, total>>20, err)
		}
	}
}

// A font of a few bytes may name its table of characters as often as it likes.
func TestRepeatedTablesOfCharacters(t *testing.T) {
	font := "\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00cmap\x00\x00\x00\x00\x00\x00\x00\x1c\x00\x00\x00\x20" +
		"\x00\x04\xff\xff\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"
	if out := trueTypeGlyphs(table(font)); len(out) > 0 { // it ended
		t.Error(out)
	}
}
