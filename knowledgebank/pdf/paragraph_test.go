package pdf

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// set makes lines of text as a page has them. Each is written as "0 2 text": the column
// in which it begins, its distance from the line above in half lines, and its text.
// Characters are half a size wide.
func set(lines ...string) []line {
	var out []line
	y := 700.0
	for _, s := range lines {
		parts := strings.SplitN(s, " ", 3)
		column, rows := 0.0, 0.0
		for _, c := range parts[0] {
			column = column*10 + float64(c-'0')
		}
		for _, c := range parts[1] {
			rows = rows*10 + float64(c-'0')
		}
		y -= rows * 6
		text, size := parts[2], 10.0
		if head, ok := strings.CutPrefix(text, "# "); ok {
			text, size = head, 16
		}
		start := 72 + column*5
		word, _, _ := strings.Cut(text, " ")
		out = append(out, line{
			ux: 1, base: y, start: start, end: start + float64(len(text))*size/2, wordEnd: start + float64(len(word))*size/2, size: size,
			text: text, tabular: strings.Contains(text, "   "),
		})
	}
	return out
}

func TestParagraphs(t *testing.T) {
	for _, tt := range []struct {
		name  string
		lines []line
		want  []string
	}{
		{"none", nil, nil},
		{
			"larger gap",
			set("0 2 The harbour office moves in", "0 2 September, and all must pack.", "0 3 The budget is in the other", "0 2 letter that Ana wrote."),
			[]string{"The harbour office moves in September, and all must pack.", "The budget is in the other letter that Ana wrote."},
		},
		{
			"double spacing",
			set("0 2 The harbour office moves in", "0 4 September, and all must go", "0 4 and pack their things now", "0 6 Then there is the budget."),
			[]string{"The harbour office moves in September, and all must go and pack their things now", "Then there is the budget."},
		},
		{
			"indents",
			set("3 2 The harbour office moves", "0 2 in September, and all must", "3 2 The budget is in the letter", "0 2 that Ana wrote."),
			[]string{"The harbour office moves in September, and all must", "The budget is in the letter that Ana wrote."},
		},
		{
			"heading in larger letters",
			set("0 2 # The plan", "0 3 The harbour office moves in", "0 2 September."),
			[]string{"The plan", "The harbour office moves in September."},
		},
		{
			"short line ends a paragraph",
			set("0 2 The harbour office moves in", "0 2 September.", "0 2 The budget is in the other", "0 2 letter."),
			[]string{"The harbour office moves in September.", "The budget is in the other letter."},
		},
		{
			"lines broken on purpose",
			set("0 2 From: Ana Ruiz", "0 2 To: Ben", "0 2 Date: Monday", "0 4 The harbour office moves in September"),
			[]string{"From: Ana Ruiz", "To: Ben", "Date: Monday", "The harbour office moves in September"},
		},
		{
			"bullets",
			set("0 2 These things must be there:", "0 2 • the boats that are at the", "2 2 harbour", "0 2 • the oars"),
			[]string{"These things must be there:", "• the boats that are at the harbour", "• the oars"},
		},
		{
			"numbers",
			set("0 2 1. The office moves to the", "3 2 warehouse in September 2025", "0 2 2. Everybody packs boxes"),
			[]string{"1. The office moves to the warehouse in September 2025", "2. Everybody packs boxes"},
		},
		{
			"a number is no item",
			set("0 2 The harbour office moved in", "0 2 12. That was its number then"),
			[]string{"The harbour office moved in 12. That was its number then"},
		},
		{
			"table",
			set("0 2 Name         Boats        Price", "0 2 Ana          3           12,000", "0 2 Ben          14           5,600"),
			[]string{"Name Boats Price", "Ana 3 12,000", "Ben 14 5,600"},
		},
		{
			"centred",
			set("4 2 The plan for the harbour of", "13 2 the north", "0 4 The harbour office moves in September"),
			[]string{"The plan for the harbour of the north", "The harbour office moves in September"},
		},
		{
			"next column",
			append(set("0 2 The harbour office moves in", "0 2 September to the old and very", "0 2 wide and deep and empty and"), set("40 2 large warehouse by the river", "40 2 that was empty.")...),
			[]string{"The harbour office moves in September to the old and very wide and deep and empty and large warehouse by the river that was empty."},
		},
		{
			"next column, new sentence",
			append(set("0 2 The harbour office moves in", "0 2 September."), set("40 2 The large warehouse by the", "40 2 river is empty.")...),
			[]string{"The harbour office moves in September.", "The large warehouse by the river is empty."},
		},
		{
			"hyphens",
			set("0 2 The ware-", "0 2 house of Jean-", "0 2 Paul has pre-", "0 2 and postwar parts in-", "0 2 side, and 20-", "0 2 30 boats, soft\u00ad", "0 2 ly"),
			[]string{"The warehouse of Jean-Paul has pre- and postwar parts inside, and 20-30 boats, softly"},
		},
		{
			"script without spaces",
			set("0 2 港の事務所は九", "0 2 月に移る。"),
			[]string{"港の事務所は九月に移る。"},
		},
		{"lone bullets", set("0 2 boats", "0 9 •", "0 9 -"), []string{"boats"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, paragraphs(tt.lines)); diff != "" {
				t.Errorf("paragraphs (-want +got):\n%s", diff)
			}
		})
	}
}

// Text that runs to the left is drawn as it is seen and stored as it is read.
func TestLogical(t *testing.T) {
	for _, tt := range []struct{ name, seen, want string }{
		{"to the right", "The boats (3)", "The boats (3)"},
		{"to the left", "םולש םלוע", "עולם שלום"},
		{"with a number", "2025 תנש", "שנת 2025"},
		{"with brackets", ".(גח) םולש", "שלום (חג)."},
		{"with words", "\u05dd\u05dc\u05d5\u05e2 Plan \u05ea\u05d0 \u05d9\u05ea\u05d7\u05dc\u05e9", "\u05e9\u05dc\u05d7\u05ea\u05d9 \u05d0\u05ea Plan \u05e2\u05d5\u05dc\u05dd"},
		{"words in a line to the right", "They say םולש םלוע to everybody", "They say עולם שלום to everybody"},
	} {
		if got := logical(tt.seen); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestClean(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"plain", "plain"},
		{"a\u00a0b\u2003c\td", "a b c d"},
		{"\ufb01ne \ufb03", "fine ffi"},
		{"a\x00b\x1f\u200bc\ufeff\ue123\u009f", "abc"},
		{"\uf0b7 x", "• x"},
		{"ＡＢ１", "AB1"},
		{"港，の", "港，の"},
		{"\ufee1", "م"},
		{"soft\u00adly", "soft\u00adly"},
		{"\xff\xfe", ""},
	} {
		if got := clean(tt.in); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.in, got, tt.want)
		}
	}
}
