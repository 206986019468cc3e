package pdf

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/percached/percached/internal/base/fault"
)

var update = flag.Bool("update", false, "write the expected texts anew")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text returns a file's pages.
func text(data []byte, o Options) ([]Page, error) {
	d, err := whole(data, o)
	return d.Pages, err
}

func whole(data []byte, o Options) (Document, error) {
	files, err := NewFiles(o)
	if err != nil {
		return Document{}, err
	}
	return files.Read(context.Background(), data)
}

// texts returns the paragraphs of all pages.
func texts(t *testing.T, data []byte) []string {
	t.Helper()
	pages, err := text(data, Default())
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, p := range pages {
		all = append(all, p.Paragraphs...)
	}
	return all
}

func want(t *testing.T, data []byte, paragraphs ...string) {
	t.Helper()
	if diff := cmp.Diff(paragraphs, texts(t, data)); diff != "" {
		t.Errorf("paragraphs (-want +got):\n%s", diff)
	}
}

// The files of testdata were made by programs that people use, and are read completely.
// README.md there says how they were made.
func TestProducers(t *testing.T) {
	files, err := filepath.Glob("testdata/*.pdf")
	if err != nil || len(files) < 15 {
		t.Fatal(len(files), err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			d, err := whole(data, Default())
			if err != nil {
				fmt.Fprintf(&got, "%v: %v\n", fault.KindOf(err), err)
			} else {
				fmt.Fprintf(&got, "title: %s\n", d.Title)
			}
			for _, p := range d.Pages {
				fmt.Fprintf(&got, "page %d\n%s\n", p.Number, strings.Join(p.Paragraphs, "\n"))
			}
			golden := strings.TrimSuffix(path, ".pdf") + ".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			expect, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(expect), got.String()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPages(t *testing.T) {
	d := document("/Font << /F1 "+helveticaFont+" >>", showLines("One"), "0 0 m 9 9 l S", showLines("Three"))
	got, err := text(d.bytes(), Default())
	if err != nil {
		t.Fatal(err)
	}
	expect := []Page{{Number: 1, Paragraphs: []string{"One"}}, {Number: 2}, {Number: 3, Paragraphs: []string{"Three"}}}
	if diff := cmp.Diff(expect, got); diff != "" {
		t.Errorf("pages (-want +got):\n%s", diff)
	}
}

func TestTitle(t *testing.T) {
	for _, tt := range []struct{ info, want string }{
		{"", ""},
		{"/Info << /Title (The Heron Plan) >>", "The Heron Plan"},
		{"/Info << /Title (Caf\xe9 \\222tis) >>", "Café ™tis"},
		{"/Info << /Title <FEFF0048006900200160> >>", "Hi Š"},
		{"/Info << /Title <FFFE48006900> >>", "Hi"},
		{"/Info << /Title (\xef\xbb\xbfgr\xc3\xbcn\\n\\001 x) >>", "grün x"},
		{"/Info << /Title 12 >>", ""},
	} {
		d := plainText("x")
		d.extra = tt.info
		if got, err := whole(d.bytes(), Default()); err != nil || got.Title != tt.want {
			t.Errorf("%s: title %q, %v, want %q", tt.info, got.Title, err, tt.want)
		}
	}
}

// The kind of an error tells a caller what to do.
func TestRefused(t *testing.T) {
	encrypted := plainText("x")
	encrypted.extra = "/Encrypt << /Filter /Standard /V 9 >>"
	certified := plainText("x")
	certified.extra = "/Encrypt << /Filter /Adobe.PubSec /V 4 >>"
	blind := document("/Font << /F1 << /Subtype /Type0 /Encoding /Identity-H /DescendantFonts [<< >>] >> >>", showLines("ABCD"))
	for _, tt := range []struct {
		name string
		data []byte
		kind fault.Kind
		says string
	}{
		{"empty", nil, fault.Invalid, "not a PDF"},
		{"other", []byte("Dear Ana, this is a letter."), fault.Invalid, "not a PDF"},
		{"header alone", []byte("%PDF-1.4\n"), fault.Invalid, "damaged"},
		{"no pages", []byte("%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Kids [] >>\nendobj"), fault.Invalid, "damaged"},
		{"pictures", document("", "q 10 0 0 10 0 0 cm BI /W 1 /H 1 /BPC 8 /CS /G ID x EI Q").bytes(), fault.Unsupported, "no text"},
		{"fonts without meaning", blind.bytes(), fault.Unsupported, "no readable text"},
		{"unknown encryption", encrypted.bytes(), fault.Unsupported, "encrypted"},
		{"encrypted for certificates", certified.bytes(), fault.Unsupported, "encrypted"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pages, err := text(tt.data, Default())
			if fault.KindOf(err) != tt.kind || !strings.Contains(fmt.Sprint(err), tt.says) || pages != nil {
				t.Errorf("%v, %v (%v), want %v with %q", pages, err, fault.KindOf(err), tt.kind, tt.says)
			}
		})
	}
}

func TestOptions(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	_, err := text(plainText("x").bytes(), Options{MaxPages: 1})
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "MaxBytes") || !strings.Contains(err.Error(), "MaxSteps") {
		t.Errorf("%v, want both faults", err)
	}
}
