package static

import (
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestRows(t *testing.T) {
	tokens := []string{"▁the", "▁train", "▁x", "s", "44", "447", "1", "▁.", "tr", "▁un", "do", "able", "▁議", "ab"}
	hash := func(word string) int32 {
		h := fnv.New32a()
		h.Write([]byte(word))
		return int32(len(tokens)) + int32(h.Sum32()%100)
	}
	for _, c := range []struct {
		name, text string
		limit      int
		want       []int32
	}{
		{"words", "The train.", 9, []int32{0, 1, 7}},
		{"pieces and hash", "trains", 9, []int32{1, 3, hash("trains")}},
		{"the longest piece first", "x4471", 9, []int32{2, 5, 6, hash("x4471")}},
		{"the longest may lead astray", "x44s", 9, []int32{2, 4, 3, hash("x44s")}},
		{"two pieces in a row", "undoable", 9, []int32{9, 10, 11, hash("undoable")}},
		{"the end is not covered", "trainz", 9, []int32{hash("trainz")}},
		{"the head is not covered", "able", 9, []int32{hash("able")}},
		{"inner pieces are no heads", "s 1", 9, []int32{hash("s"), hash("1")}},
		{"a prefix of a token is none", "trai", 9, []int32{hash("trai")}},
		{"singles", "議漢", 9, []int32{12, hash("漢")}},
		{"again and again", "the the", 9, []int32{0, 0}},
		{"cut between words", "the the the", 2, []int32{0, 0}},
		{"cut within a word", "x4471 the", 2, []int32{2, 5}},
		{"cut before the hash", "trains the", 2, []int32{1, 3}},
		{"whether a word is covered does not depend on the cut", "x4471z the", 2, []int32{hash("x4471z"), 0}},
		{"nothing", "", 9, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := newVocabulary(tokens, 100)
			if got := v.tokenize(nil, c.text, c.limit); !slices.Equal(got, c.want) {
				t.Errorf("%q: got %v, want %v", c.text, got, c.want)
			}
			want := slices.DeleteFunc(slices.Clone(c.want), func(r int32) bool { return int(r) >= len(tokens) })
			got := newVocabulary(tokens, 0).tokenize(nil, c.text, c.limit)
			if got = got[:min(len(got), len(want))]; !slices.Equal(got, want) {
				t.Errorf("%q without hashed rows: got %v, want %v", c.text, got, want)
			}
		})
	}
}

// The mark may be a token itself, and is then the first piece of any word.
func TestMarkAlone(t *testing.T) {
	v := newVocabulary([]string{"▁", "a", "b", "▁▁"}, 1)
	for text, want := range map[string][]int32{"ab": {0, 1, 2, 4}, "▁": {3}, "c": {4}} {
		if got := v.tokenize(nil, text, 9); !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}

// A vocabulary without heads of words covers none.
func TestNoMark(t *testing.T) {
	if got := newVocabulary([]string{"a", "\xe2\x96\x80"}, 0).tokenize(nil, "a aa", 9); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// plainRows are rows by the letter of FORMAT.md.
func plainRows(tokens []string, hashed int, text string, limit int) []int32 {
	var out []int32
	for _, w := range plainWords(text) {
		var pieces []int32
		rest := mark + w
		for rest != "" {
			n := len(rest)
			for n > 0 && !slices.Contains(tokens, rest[:n]) {
				_, size := utf8.DecodeLastRuneInString(rest[:n])
				n -= size
			}
			if n == 0 {
				pieces = nil
				break
			}
			pieces = append(pieces, int32(slices.Index(tokens, rest[:n])))
			rest = rest[n:]
		}
		if hashed > 0 && (rest != "" || len(pieces) != 1) {
			h := fnv.New32a()
			h.Write([]byte(w))
			pieces = append(pieces, int32(len(tokens))+int32(h.Sum32()%uint32(hashed)))
		}
		out = append(out, pieces...)
	}
	return out[:min(len(out), limit)]
}

// FuzzTokenize: whatever the text, its rows are those of the plain rules.
func FuzzTokenize(f *testing.F) {
	for _, text := range []string{
		"", "When does the train leave at nine?", "x4471", "anna@example.com", "Zürich, 3. März 🚆", "a\xff\xfeb\x00c",
		"會議在星期二", "회의\u1100\u1161\u11a8", "▁the ▁", "vormittags", "İ ǅ ﬁ ½", "\u302e\U0001d165", strings.Repeat("e\u0301", 40),
	} {
		for limit := range uint8(3) {
			f.Add(text, limit*7+1)
		}
	}
	tokens := small().tokens
	with, without := newVocabulary(tokens, 40), newVocabulary(tokens, 0)
	f.Fuzz(func(t *testing.T, text string, limit uint8) {
		for hashed, v := range map[int]*vocabulary{40: with, 0: without} {
			got, want := v.tokenize(nil, text, int(limit)+1), plainRows(tokens, hashed, text, int(limit)+1)
			if !slices.Equal(got, want) {
				t.Errorf("%q, %d hashed: got %v, want %v", text, hashed, got, want)
			}
		}
	})
}
