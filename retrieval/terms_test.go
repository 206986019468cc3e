package retrieval

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func terms(s string) []string {
	var out []string
	eachTerm(s, func(t string, _ kind) { out = append(out, t) })
	return out
}

// A question finds the words of a text in any form.
func TestFindsWords(t *testing.T) {
	for _, tt := range []struct{ text, hit, miss string }{
		{text: "The Café in Zürich", hit: "cafe|CAFÉ|zurich|Zürich|cafe\u0301", miss: "cave"},
		{text: "Straße, Øre, Łódź, naïve, ﬁne, Ærø", hit: "strasse|STRASSE|ore|lodz|naive|fine|aero", miss: "straß3"},
		{text: "Ｆｕｌｌ　ｗｉｄｔｈ　１２３", hit: "full|width|123"},
		{text: "Οδός ΟΔΟΣ и Ёлка", hit: "οδος|елка|οδός"},
		{text: "İstanbul ILGIN ılgın", hit: "istanbul|ilgin"},
		{text: "so\u00adft hy\u200bphen", hit: "soft|hyphen"},
		{text: "東京都に行きました", hit: "東京|京都|行きました|京", miss: "京東|大阪"},
		{text: "サーバーの設定", hit: "サーバー|ｻｰﾊﾞｰ|設定"},
		{text: "데이터베이스를 백업", hit: "데이터|데이터베이스|백업", miss: "컴퓨터"},
		{text: "ดาวน์โหลดไฟล์", hit: "ไฟล์"},
		{text: "हिन्दी में लिखा", hit: "हिन्दी"},
		{text: "iPhone15を買った", hit: "iphone15|買った"},
		{text: "We planned meetings; she carries boxes and is filing.", hit: "plan|planned|meeting|meetings|carry|carried|box|boxes|file|filed|files", miss: "plant|met"},
		{text: "Ana’s report, the boss' keys, O'Brien's car", hit: "ana|Ana's|boss|keys|obrien|O'Brien|brien"},
		{text: "We don't know.", hit: "don't|dont|don’t"},
		{text: "mail anne-marie.ruiz@brackwater.example.com today", hit: "anne-marie.ruiz@brackwater.example.com|anne|ruiz|brackwater|anne-marie.ruiz|brackwater.example.com|annemarie", miss: "anna"},
		{text: "write to j_smith+x@x.org.", hit: "j_smith+x@x.org|smith"},
		{text: "rent is $1,185 a month", hit: "1185|1,185|$1,185|1.185,00|1,185.00|$1,185.00", miss: "185|1186"},
		{text: "costs 1185.00 or €2.500,75", hit: "1,185|2500.75|2,500.75", miss: "750075"},
		{text: "1.185 metres, 3.5 kg, 2,5 l", hit: "1185|1.185|3.5|2.5|2,5"},
		{text: "budget 46,000,000 and 12,34,56", hit: "46000000|34"},
		{text: "$46k at 10am, the 4th, 49MW", hit: "46k|46|10am|10 am|4|4th|49 mw", miss: "th"},
		{text: "call 916-996-2291 now", hit: "916-996-2291|9169962291|916 996 2291|2291", miss: "9169962292"},
		{text: "call (916) 996-2291 or +1 916.996.2291", hit: "916-996-2291|996-2291|916.996.2291"},
		{text: "at 10:30am or 14:05", hit: "10:30|10:30am|14:05"},
		{text: "due 2025-02-04", hit: "2025-02-04|20250204|february 4|2025|feb", miss: "march"},
		{text: "Tue 4 February 2025", hit: "tuesday|feb|4 Feb 2025|Tue|04", miss: "monday"},
		{text: "on 02/04/2025 and 24/7", hit: "02/04/2025|24/7|2025"},
		{text: "a follow-up on the no–show", hit: "follow-up|followup|follow up|no-show|noshow"},
		{text: "see Q1-budget_final.xlsx and IMG_2034.JPG", hit: "Q1-budget_final.xlsx|budget|xlsx|final|IMG_2034.JPG|2034|q1"},
		{text: "https://www.example.com/a/page?id=7", hit: "www.example.com|example|page"},
		{text: "PG&E, AT&T, R&D, U.S. and v1.2.3", hit: "PG&E|pge|at&t|r&d|u.s.|us|v1.2.3"},
		{text: "flat 3B, unit 007", hit: "3b|007|7"},
	} {
		have := map[string]bool{}
		eachTerm(tt.text, func(s string, _ kind) { have[s] = true })
		found := func(q string) bool { // each word of the question in some form
			for _, w := range strings.Fields(q) {
				if !slices.ContainsFunc(question(w), func(a questionTerm) bool { return have[a.term] }) {
					return false
				}
			}
			return true
		}
		for _, q := range strings.Split(tt.hit, "|") {
			if !found(q) {
				t.Errorf("%q is not found by %q\n%q\n%+v", tt.text, q, terms(tt.text), question(q))
			}
		}
		if tt.miss == "" {
			continue
		}
		for _, q := range strings.Split(tt.miss, "|") {
			if found(q) {
				t.Errorf("%q is found by %q\n%q\n%+v", tt.text, q, terms(tt.text), question(q))
			}
		}
	}
}

// The terms themselves, where the form matters.
func TestTerms(t *testing.T) {
	for _, tt := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{" .,;'- ", nil},
		{"Ana's", []string{"ana"}},
		{"don't", []string{"dont", "don"}},
		{"$1,185.50", []string{"1185.50"}},
		{"1,185", []string{"1185"}},
		{"10:30am", []string{"10:30am", "10:30", "10", "30am", "30", "am"}},
		{"a@b.co", []string{"a@b.co", "a", "b.co", "b", "co"}},
		{"follow-up", []string{"followup", "follow", "up"}},
		{"2025-02-04", []string{"20250204", "february", "2025", "02", "2", "04", "4"}},
		{"京", []string{"京"}},
		{"東京都", []string{"東", "東京", "京", "京都", "都"}},
		{"it's", []string{"it"}},
		{"end.Next", []string{"end.next", "end", "next"}},
		{"rock'n'roll", []string{"rocknroll", "rock", "roll"}},
	} {
		if d := cmp.Diff(tt.want, terms(tt.text)); d != "" {
			t.Errorf("%q: %s", tt.text, d)
		}
	}
}

func TestStem(t *testing.T) {
	same := [][]string{
		{"plan", "plans", "planned", "planning"},
		{"meeting", "meetings", "meet", "meets"},
		{"file", "files", "filed", "filing"},
		{"carry", "carries", "carried", "carrying"},
		{"box", "boxes", "boxed"},
		{"invoice", "invoices", "invoiced", "invoicing"},
		{"agree", "agrees"},
	}
	for _, words := range same {
		for _, w := range words {
			if stem(w) != stem(words[0]) {
				t.Errorf("%s is %s, %s is %s", w, stem(w), words[0], stem(words[0]))
			}
		}
	}
	for _, w := range []string{"bus", "this", "thing", "red", "bed", "king", "tree", "die", "boss", "gas", "café", "3b", "need", "a", ""} {
		if s := stem(w); s != w {
			t.Errorf("%s became %s", w, s)
		}
	}
}

func TestStopWordsAreSorted(t *testing.T) {
	if !slices.IsSorted(stopWords) || len(slices.Compact(slices.Clone(stopWords))) != len(stopWords) {
		t.Error("they cannot be searched by halves")
	}
}

// For any text, terms are short and well-formed, equal texts have equal terms, and a
// question has a limited number.
func FuzzTerms(f *testing.F) {
	for _, s := range []string{
		"The Café in Zürich", "東京都に", "a@b.co 1,185.50 10:30am", "\xff\xfe", "ｻｰﾊﾞｰ", strings.Repeat("a-", 500), strings.Repeat("x", 500),
		"body:secret +must -not \"phrase\"~2 /re.*/ (a OR b)^9 *", "\u0301\u0301", "1,2,3.4,5", "'''", "a'", "@@", "0,000",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		eachTerm(s, func(term string, _ kind) {
			if term == "" || len(term) > maxTermBytes || term[0] == 0 || !utf8.ValidString(term) {
				t.Errorf("%q has the term %q", s, term)
			}
		})
		if d := cmp.Diff(terms(s), terms(s)); d != "" {
			t.Error(d)
		}
		if n := len(question(s)); n > maxTerms {
			t.Errorf("%d terms", n)
		}
	})
}
