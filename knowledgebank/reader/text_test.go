package reader

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestDate(t *testing.T) {
	for text, want := range map[string]string{
		"Tue, 4 Feb 2025 09:15:00 +0100":       "2025-02-04T09:15:00+01:00",
		"Tue,  4 Feb 2025 09:15 -0700 (PDT)":   "2025-02-04T09:15:00-07:00",
		"4 Feb 25 9:15:00 GMT":                 "2025-02-04T09:15:00Z",
		"Thu, 4-Feb-1999 09:15:00 EST":         "1999-02-04T09:15:00-05:00",
		"Tue Feb  4 09:15:00 2025":             "2025-02-04T09:15:00Z",
		"Tue Feb  4 09:15:00 PST 2025":         "2025-02-04T09:15:00-08:00",
		"2025-02-04T09:15:00Z":                 "2025-02-04T09:15:00Z",
		"2025-02-04 09:15:00.123 +05:30":       "2025-02-04T09:15:00+05:30",
		"2025-02-04":                           "2025-02-04T00:00:00Z",
		"2025/2/4":                             "2025-02-04T00:00:00Z",
		"Tuesday, February 4th, 2025 at 9 pm":  "2025-02-04T00:00:00Z",
		"February 4, 2025 9:15 PM":             "2025-02-04T21:15:00Z",
		"Pump review, Tuesday 4 February 2025": "2025-02-04T00:00:00Z",
		"Di, 4. Februar 2025 12:05":            "2025-02-04T12:05:00Z",
		"mar. 4 févr. 2025 à 16:12":            "2025-02-04T16:12:00Z",
		"Tue, 4 Feb 2025 25:61:00 +0100":       "2025-02-04T00:00:00Z",
		"Tue, 4 Feb 2025 12:00:00 +9999":       "2025-02-04T12:00:00Z",
		"31 Feb 2025":                          "",
		"4 Feb 0025":                           "",
		"Tue, 4 Foo 2025 09:15:00":             "",
		"yesterday":                            "",
		"":                                     "",
		"12 chairs 2025":                       "",
		strings.Repeat("4 Feb 2025 ", 40):      "",
	} {
		got := ""
		if d := date(text, time.UTC); !d.IsZero() {
			got = d.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%.60q is %q, want %q", text, got, want)
		}
	}
}

func TestPerson(t *testing.T) {
	for from, want := range map[string]string{
		`Ana Ruiz <ana@example.com>`:                      "Ana Ruiz",
		`"Ruiz, Ana" <ana@example.com>, b@example.com`:    "Ruiz, Ana",
		`Ruiz, Ana <ana@example.com>`:                     "Ruiz, Ana",
		`"Ana \"Annie\" Ruiz" <ana@example.com>`:          `Ana "Annie" Ruiz`,
		`ana@example.com (Ana Ruiz)`:                      "Ana Ruiz",
		`ana@example.com`:                                 "ana@example.com",
		`<ana@example.com>`:                               "ana@example.com",
		`"ana@example.com" <ana@example.com>`:             "ana@example.com",
		`'Ana Ruiz' <ana@example.com>`:                    "Ana Ruiz",
		`=?utf-8?Q?Ana_Ru=C3=ADz?= <ana@example.com>`:     "Ana Ruíz",
		`"=?utf-8?Q?Ruiz=2C_Ana?=" <ana@example.com>`:     "Ruiz, Ana",
		`a@example.com, b@example.com`:                    "a@example.com",
		`"Ana <unclosed`:                                  "Ana",
		`Undisclosed`:                                     "Undisclosed",
		``:                                                "",
		"Ana\n Ruiz\n\t<ana@example.com>":                 "Ana Ruiz",
		`Ana Ruiz (Works) <ana@example.com>`:              "Ana Ruiz",
		`Ana Ruiz <ana@example.com> <ana@example.com>`:    "Ana Ruiz",
		`"Ana Ruiz" </O=EX/OU=NA/CN=RECIPIENTS/CN=ARUIZ>`: "Ana Ruiz",
	} {
		if got := person(from); got != want {
			t.Errorf("%q is %q, want %q", from, got, want)
		}
	}
}

func TestUnwrap(t *testing.T) {
	for name, tt := range map[string]struct{ in, want string }{
		"a paragraph": {
			"The committee met in the boathouse on Tuesday. Five of the seven members\nwere there. Kofi said that the money is enough for this year and for the\nnext.",
			"The committee met in the boathouse on Tuesday. Five of the seven members were there. Kofi said that the money is enough for this year and for the next.",
		},
		"verse": {"The wind is in the willow tree\nthe water in the well", "The wind is in the willow tree\nthe water in the well"},
		"a sentence that ends at the margin": {
			"The committee met in the boathouse on Tuesday. Five of seven members came\nand Kofi said that the money is enough. The treasurer had all the numbers.\nNobody asked for them.",
			"The committee met in the boathouse on Tuesday. Five of seven members came and Kofi said that the money is enough. The treasurer had all the numbers. Nobody asked for them.",
		},
		"a name below": {
			"The committee met in the boathouse on Tuesday. Five of seven members came\nand Kofi said that the money is enough for this year and all others too.\nGerda Lysholm",
			"The committee met in the boathouse on Tuesday. Five of seven members came and Kofi said that the money is enough for this year and all others too.\nGerda Lysholm",
		},
		"lines of their own": {
			"Meeting of the steering group in room Basalt on Tuesday the fourth\nMinutes taken by Samir Devaux and read by nobody\nPages: two",
			"Meeting of the steering group in room Basalt on Tuesday the fourth\nMinutes taken by Samir Devaux and read by nobody\nPages: two",
		},
		"a hyphen": {
			"The harbour of Port Ellery was built in the last century with a long-\nterm loan from the bank.",
			"The harbour of Port Ellery was built in the last century with a long-term loan from the bank.",
		},
		"a list": {
			"- the long ladder and both of the short ones, because the gutter on the\n  north side is higher\n- rope",
			"- the long ladder and both of the short ones, because the gutter on the north side is higher\n- rope",
		},
		"columns": {
			"Gutter of the long side, in copper        4      12.50 apiece or more\nbracket                                  16       1.20 apiece",
			"Gutter of the long side, in copper        4      12.50 apiece or more\nbracket                                  16       1.20 apiece",
		},
	} {
		if diff := cmp.Diff(tt.want, unwrap(strings.Split(tt.in, "\n"))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestSeparates(t *testing.T) {
	for _, tt := range []struct {
		line, next string
		want       bool
	}{
		{"From ana@example.com Mon Feb  3 09:12:40 2025", "anything", true},
		{"From MAILER-DAEMON Fri Nov 20 07:41:21 2026", "Message-ID: <x>", true},
		{"From - Tue Feb 04 10:00:00 2025", "X-Mozilla-Status: 0001", true},
		{"From ana@example.com 2025-02-03 09:12", "Subject: x", true},
		{"From ana@example.com", "Received: from x", true},
		{"From 9:00 until 2025 we were closed", "and then we were not", false},
		{"From here on", "it is about ships", false},
		{"From here on", "Note: it is about ships", false},
		{"from ana@example.com Mon Feb  3 09:12:40 2025", "Subject: x", false},
		{">From ana@example.com Mon Feb  3 09:12:40 2025", "Subject: x", false},
	} {
		if got := separates([]byte(tt.line), []byte(tt.next)); got != tt.want {
			t.Errorf("%q before %q: %v", tt.line, tt.next, got)
		}
	}
}

// Deep nesting costs neither the stack nor much time.
func TestDeep(t *testing.T) {
	for name, text := range map[string]string{
		"elements": strings.Repeat("<div><b><table><tr><td>", 100000) + "end",
		"quotes":   strings.Repeat("<blockquote type=cite>", 100000) + "end",
		"lists":    strings.Repeat("<ul><li>", 100000) + "end",
		"ends":     strings.Repeat("<div>", 300) + strings.Repeat("</b></i></div>", 100000) + "end",
	} {
		if got := web(text, true).text; !strings.Contains(got, "end") {
			t.Errorf("%s: %.100q", name, got)
		}
	}
	r := newReader(t, Default())
	deep := `{"text":"x","a":` + strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20001)
	if got := story(t, r, "a.jsonl", []byte(deep)); !strings.HasPrefix(got, "failed: a.jsonl: line 1") {
		t.Errorf("%.100q", got)
	}
}
