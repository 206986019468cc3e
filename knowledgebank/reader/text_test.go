package reader

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/knowledgebank"
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
		"3. März 2025":                         "2025-03-03T00:00:00Z",
		"samedi 9 août 2025 14:05":             "2025-08-09T14:05:00Z",
		"12 de março":                          "",
		"12 março 2025":                        "2025-03-12T00:00:00Z",
		"Août 9, 2025":                         "2025-08-09T00:00:00Z",
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
		if diff := cmp.Diff(tt.want, unwrap(t.Context(), strings.Split(tt.in, "\n"))); diff != "" {
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
		if got := htmlText(t.Context(), text, true).text; !strings.Contains(got, "end") {
			t.Errorf("%s: %.100q", name, got)
		}
	}
	r := newReader(t, Default())
	deep := `{"text":"x","a":` + strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20001)
	if got := story(t, r, "a.jsonl", []byte(deep)); !strings.HasPrefix(got, "failed: a.jsonl: line 1") {
		t.Errorf("%.100q", got)
	}
}

// The cost of long text is proportional to its length: four times as much text takes
// four times as much memory, and not sixteen times, or hours.
func TestLong(t *testing.T) {
	r := newReader(t, Default())
	for _, tt := range []struct {
		name, head, line, tail string
		lines                  int
		want                   string
	}{
		{"blank.vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\nhi\n", "\n", "bye\nbye\n", 1 << 21, "hi bye"},
		{"turn.vtt", "WEBVTT\n\n00:00.000 --> 00:01.000\n", "<v Ana>hi\n<v Ana>ho\n", "", 1 << 16, "hi ho hi"},
		{"turn.json", `{"messages": [{"from": "Ana", "text": "hi"}`, `, {"from": "Ana", "text": "ho"}`, "]}", 1 << 14, "hi ho ho"},
		{"paragraph.md", "", "a\n", "", 1 << 16, "a a a"},
		{"comments.md", "the end", " `<!--` <!----> <!-- -->", " <!--\n", 1 << 16, "the end"},
		{"flowed.eml", "From: ana@example.com\nContent-Type: text/plain; format=flowed\n\n", "a \n", "", 1 << 16, "a a a"},
		{"footers.eml", "From: ana@example.com\n\n", "Do you Yahoo!?\n", "", 1 << 18, "Do you"},
	} {
		few := taken(func() { story(t, r, tt.name, []byte(tt.head+strings.Repeat(tt.line, tt.lines/4)+tt.tail)) })
		got := ""
		many := taken(func() { got = story(t, r, tt.name, []byte(tt.head+strings.Repeat(tt.line, tt.lines)+tt.tail)) })
		if !strings.Contains(got, tt.want) || strings.Contains(got, "failed:") {
			t.Errorf("%s: %.200q", tt.name, got)
		}
		if many > 8*few {
			t.Errorf("%s: four times the text takes %d bytes for %d", tt.name, many, few)
		}
	}
}

// taken is how many bytes a function allocates.
func taken(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A document of very many values is refused before they are in memory.
func TestManyValues(t *testing.T) {
	r := newReader(t, Default())
	many := `{"text": "hi, {you}", "a": [{}` + strings.Repeat(",{}", maxValues) + "]}"
	if got := story(t, r, "a.json", []byte(many)); !strings.Contains(got, "failed: a.json") || !strings.Contains(got, "(invalid)") {
		t.Errorf("%.200q", got)
	}
	list := "[" + strings.Repeat(`{"a": 1}, `, 10) + `{"text": "Eleven, \"{[,"}]`
	if got := story(t, r, "a.json", []byte(list)); !strings.Contains(got, "Eleven") || strings.Count(got, "failed:") != 10 {
		t.Errorf("%.200q", got)
	}
	if n := values([]byte(`{"a\"{,[": [1, 2], "b\\": {}}`)); n != 5 {
		t.Errorf("%d values", n)
	}
}

// Nested parts are read in place: the cost of a mail does not grow with depth.
func TestNestedParts(t *testing.T) {
	nested := func(levels int) uint64 {
		text := strings.Repeat("The garden is green.\n", 1<<16)
		for i := range levels {
			text = fmt.Sprintf("Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n%s\n--b%d--\n", i, i, text, i)
		}
		return taken(func() {
			s, err := fileOf(t, "a.eml").parseMail(context.Background(), []byte("From: ana@example.com\n"+text), "")
			if err != nil || len(s.Blocks) == 0 {
				t.Error(s, err)
			}
		})
	}
	flat, deep := nested(1), nested(maxNested-1)
	t.Logf("%d bytes, %d in parts of parts", flat, deep)
	if deep > flat+flat/2 {
		t.Errorf("%d bytes were taken, %d without parts of parts", deep, flat)
	}
}

// Mails with an empty Message-ID are distinguished by their content.
func TestNoMessageID(t *testing.T) {
	keys := map[string]bool{}
	for _, text := range []string{"Hello.", "Goodbye."} {
		s, err := fileOf(t, "a.eml").parseMail(context.Background(), []byte("From: ana@example.com\nMessage-ID: < >\n\n"+text), "")
		if err != nil || !strings.HasPrefix(s.Key, "mail:sha256-") {
			t.Errorf("%q, %v", s.Key, err)
		}
		keys[s.Key] = true
	}
	if len(keys) != 2 {
		t.Error(keys)
	}
}

// HTML mail without a charset in its header may name it itself.
func TestMetaCharset(t *testing.T) {
	page := "<html><head><meta charset=\"koi8-r\"></head><body><p>\xf0\xd2\xc9\xd7\xc5\xd4</p></body></html>"
	s, err := fileOf(t, "a.eml").parseMail(context.Background(), []byte("From: ana@example.com\nContent-Type: text/html\n\n"+page), "")
	if err != nil || len(s.Blocks) != 1 || s.Blocks[0].Text != "Привет" {
		t.Errorf("%q, %v", s.Blocks, err)
	}
}

// If ctx ends while a document is parsed, no part of it is passed on.
func TestEndsWhileParsing(t *testing.T) {
	ctx, end := context.WithCancel(context.Background())
	f := fileOf(t, "a.eml")
	f.emit = func(s *knowledgebank.Source) error { t.Error(s); return nil }
	f.failed = func(name string, err error) { t.Error(name, err) }
	err := f.document(ctx, "a.eml", func() (*knowledgebank.Source, error) {
		end()
		return f.parseMail(ctx, []byte("From: ana@example.com\nSubject: x\n\nHello."), "")
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
