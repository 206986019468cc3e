package reader

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/knowledgebank"
)

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// archived is a zip archive of files: names and texts in turn.
func archived(t *testing.T, files ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = io.WriteString(w, files[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// outcomes lists the documents of a file, and what could not be read, in order.
func outcomes(t *testing.T, b Bounds, o Options, name, text string) (all []string, err error) {
	t.Helper()
	rd, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	err = rd.StreamWithin(context.Background(), b, name, strings.NewReader(text), func(s *knowledgebank.Source) error {
		all = append(all, s.Key)
		return nil
	}, func(name string, err error) { all = append(all, name+": "+err.Error()) })
	return all, err
}

// manyFiles are files with several documents each, some of them unreadable.
func manyFiles(t *testing.T) map[string]string {
	mail := func(n int, text string) string {
		return fmt.Sprintf("From a@b.example Mon Jan  2 15:04:05 2006\nFrom: a@b.example\nSubject: s\nMessage-ID: <%d@x>\n\n%s\n\n", n, text)
	}
	lines := `{"id": "1", "text": "One."}` + "\n" + `{"id": "2", "text": ""}` + "\n\nnone\n" + `{"id": "3", "text": "` + strings.Repeat("long ", 1000) + `"}` + "\n" + `{"id": "4", "text": "Four."}`
	return map[string]string{
		"a.mbox":     mail(1, "One.") + mail(2, "Two.") + mail(3, strings.Repeat("Long. ", 1000)) + mail(4, "Four."),
		"a.jsonl":    lines,
		"b.jsonl.gz": zipped(t, lines),
		"c.jsonl.gz": zipped(t, lines)[:100], // damaged
		"a.json":     "[" + `{"id": "1", "text": "One."},` + "\n" + `{"id": "2", "text": ""}, {"id": "3", "text": "Three."}]`,
		"a.txt":      "One.",
		"b.txt":      strings.Repeat("Long. ", 1000),
		"c.txt":      "",
		"a.zip":      archived(t, "one.txt", "One.", "long.txt", strings.Repeat("Long. ", 1000), "lines.jsonl", lines, "none.txt", "", ".hidden", "x"),
		"b.zip":      archived(t),
	}
}

// Reading that skips documents returns the rest, whatever happened to the first ones.
// It can be ended before each document.
func TestSkip(t *testing.T) {
	o := Default()
	o.MaxBytes = 2000
	for name, text := range manyFiles(t) {
		all, err := outcomes(t, Bounds{}, o, name, text)
		if err != nil || len(all) == 0 {
			t.Fatal(name, all, err)
		}
		end := errors.New("enough")
		for n := range len(all) + 1 {
			if got, err := outcomes(t, Bounds{Skip: n}, o, name, text); err != nil || !cmp.Equal(got, all[n:], cmp.Transformer("some", func(s []string) string { return fmt.Sprint(s) })) {
				t.Errorf("%s behind %d: %q, want %q, %v", name, n, got, all[n:], err)
			}
			left := n
			got, err := outcomes(t, Bounds{Next: func() error {
				if left--; left < 0 {
					return end
				}
				return nil
			}}, o, name, text)
			if fmt.Sprint(got) != fmt.Sprint(all[:n]) || errors.Is(err, end) != (n < len(all)) {
				t.Errorf("%s ended behind %d: %q, %v", name, n, got, err)
			}
		}
	}
}

// Bytes from a compressed file are counted as they come, and reading ends when they are
// too many.
func TestExpand(t *testing.T) {
	var lines strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&lines, `{"id": "%d", "text": "One."}`+"\n", i)
	}
	over, total := errors.New("too much"), 0
	got, err := outcomes(t, Bounds{Expand: func(n int) error {
		if total += n; total > 1_000_000 {
			return over
		}
		return nil
	}}, Default(), "a.jsonl.gz", zipped(t, lines.String()))
	if !errors.Is(err, over) || total > 1_000_000+window || len(got) < 20_000 || len(got) > 50_000 {
		t.Errorf("%d documents out of %d bytes: %v", len(got), total, err)
	}
	if got, err := outcomes(t, Bounds{Expand: func(int) error { return over }}, Default(), "a.txt", "One."); err != nil || len(got) != 1 {
		t.Error("what is not compressed counts", got, err)
	}
}

// room counts the bytes that documents hold.
type room struct {
	*testing.T
	asked []int64
	held  int64
}

func (r *room) hold(_ context.Context, n int64) (Room, error) {
	if r.held != 0 {
		r.Error("a document is held beside another")
	}
	r.asked, r.held = append(r.asked, n), n
	return r, nil
}

func (r *room) Shrink(n int64) {
	if n > r.held {
		r.Errorf("%d bytes are held, and %d were asked for", n, r.held)
	}
	r.held = n
}

func (r *room) Release() { r.held = 0 }

// packedPDF is a small PDF file with much text.
func packedPDF(t *testing.T, lines int) []byte {
	t.Helper()
	var text, b bytes.Buffer
	text.WriteString("BT /F1 10 Tf 12 TL 9 9 Td")
	for range lines {
		fmt.Fprintf(&text, " (%s) '", strings.Repeat("The heron stands in the pond. ", 20))
	}
	text.WriteString(" ET")
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	if _, err := z.Write(text.Bytes()); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "%%PDF-1.4\n1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj\n2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj\n"+
		"3 0 obj << /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >> endobj\n"+
		"4 0 obj << /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream endobj\ntrailer << /Root 1 0 R >>\n", packed.Len(), packed.Bytes())
	return b.Bytes()
}

// A PDF, as a file or attached, is read when Unpack allows it, and done is called
// afterwards, whatever the result.
func TestUnpack(t *testing.T) {
	file := packedPDF(t, 1)
	mail := "From: a@b.example\nSubject: s\nMessage-ID: <1@x>\nContent-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: application/pdf; name=a.pdf\nContent-Transfer-Encoding: base64\n\n" +
		base64.StdEncoding.EncodeToString(file) + "\n--x--\n"
	for name, text := range map[string]string{"a.pdf": string(file), "b.pdf": string(file[:200]), "a.eml": mail} {
		begun, done := 0, 0
		b := Bounds{Unpack: func(context.Context) (func(), error) { begun++; return func() { done++ }, nil }}
		if got, err := outcomes(t, b, Default(), name, text); err != nil || len(got) != 1 || begun != 1 || done != 1 {
			t.Errorf("%s: %q, %d begun, %d done, %v", name, got, begun, done, err)
		}
	}
	if _, err := outcomes(t, Bounds{Unpack: func(context.Context) (func(), error) { t.Error("a text waits for its turn"); return func() {}, nil }}, Default(), "a.txt", "One."); err != nil {
		t.Error(err)
	}
}

// A large document is read once there is room for the most it may take. It holds its
// room until it was passed on. A small one asks for none.
func TestHold(t *testing.T) {
	big := strings.Repeat("The heron stands in the pond. ", 2<<20/30)
	line := `{"text": "` + big + `"}` + "\n"
	mail := "From: a@b.example\nSubject: s\nMessage-ID: <1@x>\n\n" + big
	box := "From a@b.example Mon Jan  2 15:04:05 2006\n" + mail + "\n\n"
	for _, tc := range []struct {
		name, text string
		size       int64
		asked      []int64
	}{
		{"a.txt", big, int64(len(big)), []int64{int64(len(big))}},
		{"a.txt", big, 0, []int64{32 << 20}},
		{"a.txt.gz", zipped(t, big), 1000, []int64{32 << 20}},
		{"a.jsonl", line + `{"text": "One."}` + "\n" + line, 0, []int64{32 << 20, 32 << 20}},
		{"a.mbox", box + box, 0, []int64{32 << 20, 32 << 20}},
		{"a.eml", mail, 0, []int64{32 << 20}},
		{"b.txt", big[:1<<20], 0, nil},
		{"b.jsonl", strings.Repeat(line[:1000]+`"}`+"\n", 3000), 0, nil},
	} {
		r := &room{T: t}
		rd, err := New(Default())
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = rd.StreamWithin(context.Background(), Bounds{Size: tc.size, Hold: r.hold}, tc.name, strings.NewReader(tc.text), func(s *knowledgebank.Source) error {
			if n++; len(s.Blocks[0].Text) > large && (r.held < int64(len(s.Blocks[0].Text)) || r.held > 3<<20) {
				t.Errorf("%s: %d bytes are held", tc.name, r.held)
			}
			return nil
		}, func(name string, err error) { t.Error(name, err) })
		if d := cmp.Diff(tc.asked, r.asked); d != "" || err != nil || r.held != 0 || n == 0 {
			t.Errorf("%s: %s, %d documents, %d held, %v", tc.name, d, n, r.held, err)
		}
	}
	// An archive holds room for itself and one file of it.
	packed := &room{T: t}
	if err := newReader(t, Default()).StreamWithin(context.Background(), Bounds{Hold: packed.hold}, "a.zip", strings.NewReader(archived(t, "a.txt", big, "b.txt", big)), func(*knowledgebank.Source) error {
		if packed.held < 32<<20 {
			t.Errorf("%d bytes are held", packed.held)
		}
		return nil
	}, func(name string, err error) { t.Error(name, err) }); err != nil || packed.held != 0 || len(packed.asked) != 1 {
		t.Error(err, packed.held, packed.asked)
	}
	small := &room{T: t}
	rd, err := New(Default())
	if err != nil {
		t.Fatal(err)
	}
	if err := rd.StreamWithin(context.Background(), Bounds{Hold: small.hold}, "a.pdf", bytes.NewReader(packedPDF(t, 3000)), func(s *knowledgebank.Source) error {
		if small.held == 0 {
			t.Error("a document of much text is handed on without room")
		}
		return nil
	}, func(name string, err error) { t.Error(name, err) }); err != nil || len(small.asked) != 1 {
		t.Error(err, small.asked)
	}
	no := errors.New("none")
	if _, err := outcomes(t, Bounds{Hold: func(context.Context, int64) (Room, error) { return nil, no }}, Default(), "a.txt", big); !errors.Is(err, no) {
		t.Error(err)
	}
}
