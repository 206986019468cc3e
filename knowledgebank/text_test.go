package knowledgebank

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
)

func TestSentences(t *testing.T) {
	for text, want := range map[string][]string{
		"One. Two! Three? Four":                                 {"One.", "Two!", "Three?", "Four"},
		"Mr. Lee met Dr. J. Kim at 3 p.m. Tuesday. Fine.":       {"Mr. Lee met Dr. J. Kim at 3 p.m. Tuesday.", "Fine."},
		"The U.S. Senate, e.g. The House, i.e. That. It passed": {"The U.S. Senate, e.g. The House, i.e. That.", "It passed"},
		"It costs 3.5 euros. See www.example.com. Or ask.":      {"It costs 3.5 euros.", "See www.example.com.", "Or ask."},
		"See https://a.b/c?d=e.f!g and reply. Now.":             {"See https://a.b/c?d=e.f!g and reply.", "Now."},
		"\"Go!\" she said. \"Now.\" He went. (It rained.) Then.": {
			"\"Go!\" she said.", "\"Now.\"", "He went.", "(It rained.)", "Then.",
		},
		"1. Buy milk. 2 eggs":                        {"1. Buy milk.", "2 eggs"},
		"See No. 5 and p. 12. No. Really? Yes... ok": {"See No. 5 and p. 12.", "No.", "Really?", "Yes... ok"},
		"We left in 2024. It was Jan. 5. Sat. Then":  {"We left in 2024.", "It was Jan. 5.", "Sat. Then"},
		"会議は来週です。予算は？「はい。」了解！OK. 次":                  {"会議は来週です。", "予算は？", "「はい。」", "了解！", "OK.", "次"},
		"Wait... What?! So":                          {"Wait...", "What?!", "So"},
		"":                                           nil,
		".":                                          {"."},
	} {
		var got []string
		for _, s := range sentences(text) {
			got = append(got, text[s.start:s.end])
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func TestUnwrap(t *testing.T) {
	long := "This line is as long as the lines that mail programs break"
	for text, want := range map[string][]string{
		"Ana\nMain Street 5\nBoston": {"Ana", "Main Street 5", "Boston"},
		long + "\nand it goes on.":   {long + " and it goes on."},
		long + "\nNew York":          {long, "New York"},
		long + ".\nand so on":        {long + ".", "and so on"},
		"To do:\n- milk\n- eggs":     {"To do:", "- milk", "- eggs"},
		long + "\n- and a point":     {long, "- and a point"},
		long + "\n\nand a paragraph": {long, "and a paragraph"},
		"a  b\t c\n-----\nd":         {"a b c", "d"},
		"私たちは来週の会議で予算について話し合う予定があります\nそして終わり": {"私たちは来週の会議で予算について話し合う予定がありますそして終わり"},
	} {
		if d := cmp.Diff(want, unwrap(t.Context(), text)); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}

func TestHead(t *testing.T) {
	day := time.Date(2025, 2, 4, 23, 30, 0, 0, time.FixedZone("", -5*3600))
	words := []Block{{Text: "one two three four five six seven eight nine ten"}}
	for _, c := range []struct {
		name, want string
		s          Source
	}{
		{"all", "### Budget (mail from Ana Ruiz, Tue 4 February 2025)", Source{Title: "Budget", Source: "mail from Ana Ruiz", Date: day}},
		{"no date", "### Budget (note)", Source{Title: "Budget"}},
		{"no title", "### plan.md (note)", Source{Path: "notes/plan.md"}},
		{"no title, another system's path", "### plan.md (note)", Source{Path: `notes\plan.md`}},
		{"no title, and the name of what was sent", "### one two three four five six seven eight (note)", Source{File: "plan.md", Blocks: words}},
		{"no title nor path", "### one two three four five six seven eight (note)", Source{Blocks: words}},
		{"a mail without a subject", "### No subject (mail)", Source{Format: "mail", Path: "inbox.mbox", Blocks: words}},
		{"a transcript", "### Weekly (meeting)", Source{Title: "Weekly", Format: "transcript"}},
		{"nothing", "### Untitled (note)", Source{Title: " -- "}},
		{"lines and controls", "### a b c (note)", Source{Title: " a\r\nb\x00\u202e\tc \xff"}},
		{"long", "### " + strings.Repeat("é", 120) + " (note)", Source{Title: strings.Repeat("é", 500)}},
		{"long words", "### " + strings.TrimSpace(strings.Repeat("wörter ", 17)) + " (note)", Source{Title: strings.Repeat("wörter ", 100)}},
	} {
		d := percached.Document{Title: title(&c.s), Source: about(&c.s), Date: c.s.Date}
		if d := cmp.Diff(c.want, head(&d, "")); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
	if got := head(&percached.Document{Title: "T"}, ""); got != "### T" {
		t.Error(got)
	}
}

func TestMinute(t *testing.T) {
	for at, want := range map[string]string{
		"": "", "00:12:31": "minute 12", "01:02:03.500": "minute 62", "02:03": "minute 2", "noon": "", "a:b": "", "-1:00:00": "", "1:2:3:4": "",
	} {
		if got := minute(at); got != want {
			t.Errorf("%q: %q", at, got)
		}
	}
}
