package reader

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"go.uber.org/goleak"
	"golang.org/x/text/unicode/norm"

	"github.com/percached/percached/knowledgebank"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fit checks what must hold of every document.
func fit(t testing.TB, s *knowledgebank.Source) {
	t.Helper()
	if s.Key == "" || s.Title == "" || s.Source == "" || s.Format == "" || len(s.Blocks) == 0 {
		t.Fatalf("something is missing: key %q, title %q, source %q, format %q, %d blocks", s.Key, s.Title, s.Source, s.Format, len(s.Blocks))
	}
	switch s.Format {
	case "text", "markdown", "html", "mail", "transcript", "pdf", "json", "docx", "odt", "rtf", "xlsx", "ods", "pptx", "odp", "epub":
	default:
		t.Errorf("format %q", s.Format)
	}
	if !s.Date.IsZero() && !sane(s.Date) {
		t.Errorf("date %v", s.Date)
	}
	for _, text := range append([]string{s.Key, s.Title, s.Source}, s.Notes...) {
		fitText(t, text)
		if strings.Contains(text, "\n") {
			t.Errorf("%q has more than one line", text)
		}
	}
	if utf8.RuneCountInString(s.Title) > 201 {
		t.Errorf("the title has %d characters", utf8.RuneCountInString(s.Title))
	}
	words := false
	for _, b := range s.Blocks {
		fitText(t, b.Text)
		fitText(t, b.Speaker)
		fitText(t, b.At)
		if strings.TrimSpace(b.Text) == "" || strings.Contains(b.Text, "\n\n\n") {
			t.Errorf("blank lines in %q", b.Text)
		}
		words = words || !wordless(b.Text)
	}
	if !words {
		t.Error("no words")
	}
}

func fitText(t testing.TB, s string) {
	t.Helper()
	if !utf8.ValidString(s) || !norm.NFC.IsNormalString(s) {
		t.Errorf("%q is not composed UTF-8", s)
	}
	for _, r := range s {
		if unicode.IsControl(r) && r != '\n' || r == '\u200b' || r == '\ufeff' || r == '\u00ad' || r == '\u00a0' {
			t.Errorf("%q has %U in it", s, r)
		}
	}
}
