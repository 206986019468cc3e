package knowledgebank

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

// prose makes about words words: paragraphs of sentences.
func prose(seed uint64, words, paragraph int) [][]string {
	r := rand.New(rand.NewPCG(seed, 7))
	vocabulary := make([]string, 900)
	for i := range vocabulary {
		vocabulary[i] = fmt.Sprintf("w%c%c%d", 'a'+r.IntN(26), 'a'+r.IntN(26), i)
	}
	var out [][]string
	for n := 0; n < words; {
		var p []string
		for range 1 + r.IntN(paragraph) {
			s := []string{"The"}
			for range 3 + r.IntN(30) {
				s = append(s, vocabulary[min(r.IntN(900), r.IntN(900), r.IntN(900))])
			}
			n += len(s)
			p = append(p, strings.Join(s, " ")+".")
		}
		out = append(out, p)
	}
	return out
}

func blocks(text [][]string) []Block {
	var out []Block
	for _, p := range text {
		out = append(out, Block{Text: strings.Join(p, " ")})
	}
	return out
}

func bodies(s *Source) []string {
	var out []string
	for _, p := range cut(context.Background(), units(context.Background(), s), 100) {
		out = append(out, p.body)
	}
	return out
}

// without counts the elements of b that are not in a.
func without(a, b []string) int {
	n := 0
	for _, s := range b {
		if !slices.Contains(a, s) {
			n++
		}
	}
	return n
}

func TestEditKeepsOtherChunks(t *testing.T) {
	for _, paragraph := range []int{5, 1000} {
		text := prose(uint64(paragraph), 5000, paragraph)
		was := bodies(&Source{Blocks: blocks(text)})
		edits, sum := 0, 0
		check := func(what string, p, at int, now []string) {
			n := max(without(was, now), without(now, was))
			edits, sum = edits+1, sum+n
			if n > 6 {
				t.Errorf("paragraphs of %d: %s at %d.%d changes %d of %d chunks", paragraph, what, p, at, n, len(was))
			}
		}
		for p := range text {
			keep := text[p]
			for at := p % 5; at <= len(keep); at += 5 {
				text[p] = slices.Insert(slices.Clone(keep), at, "This sentence is new here.")
				check("a new sentence", p, at, bodies(&Source{Blocks: blocks(text)}))
				if at < len(keep) {
					text[p] = slices.Delete(slices.Clone(keep), at, at+1)
					check("a lost sentence", p, at, bodies(&Source{Blocks: blocks(text)}))
				}
			}
			text[p] = keep
		}
		if sum > 2*edits {
			t.Errorf("paragraphs of %d: %d edits change %d chunks", paragraph, edits, sum)
		}
	}
}

func TestSizes(t *testing.T) {
	for _, paragraph := range []int{1, 5, 1000} {
		text := blocks(prose(9, 20_000, paragraph))
		n, good, words := 0, 0, 0
		for _, p := range cut(t.Context(), units(t.Context(), &Source{Blocks: text}), 100) {
			n, words = n+1, words+p.words
			if p.words >= 70 && p.words <= 130 {
				good++
			}
			if p.words < 30 || p.words > 160 {
				t.Errorf("a chunk of %d words", p.words)
			}
		}
		if good*100 < 75*n || words < 90*n || words > 110*n {
			t.Errorf("paragraphs of %d: %d chunks of %d words, %d of a good size", paragraph, n, words, good)
		}
	}
}

func TestShortTexts(t *testing.T) {
	for words, most := range map[int]int{1: 1, 29: 1, 99: 1, 120: 1, 159: 2, 210: 3} {
		var s []string
		for i := range words {
			w := fmt.Sprint("word", i)
			if i%10 == 9 {
				w += "."
			}
			s = append(s, w)
		}
		got := cut(t.Context(), units(t.Context(), &Source{Blocks: []Block{{Text: strings.Join(s, " ")}}}), 100)
		if len(got) < 1 || len(got) > most {
			t.Errorf("%d words make %d chunks", words, len(got))
		}
		for _, p := range got {
			if p.words < 30 && words >= 30 {
				t.Errorf("of %d words, a chunk of %d", words, p.words)
			}
		}
	}
}

// For any text, the chunks hold all of it in order, and no chunk is long.
func TestNothingIsLost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("abcde  ABC .!?,;\n\n\n-:\"'()0123会議は。！、，월요일é🙂…")
	for range 200 {
		s := &Source{Format: []string{"text", "transcript"}[r.IntN(2)]}
		want := ""
		for range 1 + r.IntN(4) {
			var b strings.Builder
			for range r.IntN(2000) {
				b.WriteRune(alphabet[r.IntN(len(alphabet))])
				if r.IntN(300) == 0 {
					b.WriteString(strings.Repeat("x", r.IntN(2000)))
				}
			}
			s.Blocks = append(s.Blocks, Block{Text: b.String()})
			want += b.String()
		}
		got := ""
		for _, p := range cut(t.Context(), units(t.Context(), s), 20) {
			got += p.body
			if n := size(p.body); n > 2*20*16/10 {
				t.Errorf("a chunk of %d half words", n)
			}
		}
		if d := cmp.Diff(letters(want), letters(got)); d != "" {
			t.Fatal(d)
		}
	}
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return r
		}
		return -1
	}, s)
}

func TestLongSentences(t *testing.T) {
	var s []string
	for i := range 500 {
		s = append(s, fmt.Sprint("word", i))
	}
	got := bodies(&Source{Blocks: []Block{{Text: strings.Join(s, " ")}}})
	if d := cmp.Diff(strings.Join(s, " "), strings.Join(got, " ")); d != "" || len(got) < 4 {
		t.Error(len(got), "chunks", d)
	}
	wide := strings.Repeat("私たちは来週の会議で予算について話し合う予定です。", 40)
	for _, b := range bodies(&Source{Blocks: []Block{{Text: wide}}}) {
		if n := utf8.RuneCountInString(b); n < 60 || n > 320 || !strings.HasSuffix(b, "。") {
			t.Errorf("%d characters: %s", n, b)
		}
	}
	wide = strings.Repeat("我们下周在会议上讨论预算", 100)
	if got := bodies(&Source{Blocks: []Block{{Text: wide}}}); strings.Join(got, "") != wide || len(got) < 4 {
		t.Error(len(got), "chunks of 1200 characters without a mark")
	}
}

func TestTranscript(t *testing.T) {
	s := &Source{Format: "transcript", Blocks: []Block{
		{Speaker: "Ana Ruiz", At: "00:59:31", Text: "Good morning. Let us\nbegin."},
		{Speaker: "Ana Ruiz", At: "00:59:40", Text: "The budget first."},
		{Speaker: "Bo: ", At: "01:00:02", Text: "It is fine."},
		{At: "01:00:09", Text: "(laughter)"},
	}}
	got := cut(t.Context(), units(t.Context(), s), 100)
	want := []piece{{
		body:  "Ana Ruiz: Good morning. Let us begin. The budget first.\nBo: It is fine.\n(laughter)",
		place: "minute 59",
		words: 15,
	}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(piece{})); d != "" {
		t.Error(d)
	}
	long := &Source{Format: "transcript"}
	for i, p := range prose(3, 3000, 12) {
		long.Blocks = append(long.Blocks, Block{Speaker: []string{"Ana", "Bo"}[i%2], Text: strings.Join(p, " ")})
	}
	for _, b := range bodies(long) {
		for l := range strings.SplitSeq(b, "\n") {
			if !strings.HasPrefix(l, "Ana: The") && !strings.HasPrefix(l, "Bo: The") {
				t.Errorf("a line without its speaker: %.60s", l)
			}
		}
	}
}

// Captions split sentences; chunks do not.
func TestCaptions(t *testing.T) {
	for _, speaker := range []string{"", "Ana"} {
		s := &Source{Format: "transcript"}
		for _, p := range prose(5, 3000, 4) {
			words := strings.Fields(strings.Join(p, " "))
			for c := range slices.Chunk(words, 7) {
				s.Blocks = append(s.Blocks, Block{Speaker: speaker, Text: strings.Join(c, " ")})
			}
		}
		for _, b := range bodies(s) {
			if !strings.HasSuffix(b, ".") || strings.Contains(b, "\n") {
				t.Errorf("speaker %q: %s", speaker, b)
			}
		}
	}
}

func BenchmarkCut(b *testing.B) {
	s := &Source{Blocks: blocks(prose(1, 5000, 6))}
	for b.Loop() {
		cut(b.Context(), units(b.Context(), s), 100)
	}
}

// A text of too many words is refused before it is split. The cost of a text whose
// lines all continue is proportional to its length.
func TestLongTexts(t *testing.T) {
	b, _ := newBank(t)
	var before, after runtime.MemStats
	text := strings.Repeat("a ", maxChunks*100+1)
	runtime.ReadMemStats(&before)
	_, err := b.prepare(t.Context(), note("a", text))
	runtime.ReadMemStats(&after)
	wantKind(t, fault.Invalid, err)
	if n := after.TotalAlloc - before.TotalAlloc; n > uint64(len(text)) {
		t.Errorf("%d bytes were taken", n)
	}
	takes := func(n int) uint64 {
		text := strings.Repeat(strings.Repeat("again and ", 8)+"\n", n)
		runtime.ReadMemStats(&before)
		lines := unwrap(t.Context(), text)
		runtime.ReadMemStats(&after)
		if len(lines) != 1 || len(lines[0]) != len(text)-1-n {
			t.Errorf("%d lines", len(lines))
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	if few, many := takes(1<<11), takes(1<<13); many > 8*few {
		t.Errorf("four times the lines take %d bytes for %d", many, few)
	}
}
