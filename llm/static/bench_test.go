package static

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

// mail is a text of about 100 words.
const mail = `From: Anna Meyer. The quarterly report is due on Tuesday, and we still have not received the numbers
from the office in Zürich. Could you please ask Thomas whether the meeting at nine will take place, or if it has been
moved to the afternoon? I have attached the latest version of the document with all changes that were discussed last
week. If there is anything missing, let me know before Friday so that we can fix it in time. The train leaves at 7:45
from platform 3, and the tickets (order x4471) are paid for. Best regards, and see you soon.`

// large has the measures of a real table. It knows nine in ten words of the
// mail, and the letters as pieces.
func large() recipe {
	r := recipe{dim: 256, hashed: 2048, context: 512, typ: gguf.Q8_0}
	for i, w := range wordsOf(mail) {
		if i%10 != 0 && !slices.Contains(r.tokens, mark+w) {
			r.tokens = append(r.tokens, mark+w)
		}
	}
	for _, c := range "abcdefghijklmnopqrstuvwxyz0123456789" {
		r.tokens = append(r.tokens, string(c))
		if head := mark + string(c); !slices.Contains(r.tokens, head) {
			r.tokens = append(r.tokens, head)
		}
	}
	for i := len(r.tokens); i < 22000; i++ {
		// What stands between makes them differ from all above, and from each other.
		r.tokens = append(r.tokens, fmt.Sprintf("%s%c%c_%dx%d", mark, 'a'+i*7%26, 'a'+i*5%23, i*2654435761>>20&255, i))
	}
	return r
}

// Every token of a large vocabulary is found.
func TestLargeVocabulary(t *testing.T) {
	r := large()
	v := newVocabulary(r.tokens, 0)
	for i, token := range r.tokens {
		if row, n := v.longest(root, []byte(token)); row != int32(i) || n != len(token) {
			t.Fatalf("token %d %q: row %d, %d bytes", i, token, row, n)
		}
	}
}

func BenchmarkEmbed(b *testing.B) {
	for _, typ := range []gguf.Type{gguf.Q8_0, gguf.F16, gguf.F32} {
		b.Run(typ.String(), func(b *testing.B) {
			r := large()
			r.typ = typ
			e := r.open(b)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := e.Embed(context.Background(), percached.Foreground, []string{mail}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(e.words.tokenize(nil, mail, 512))), "rows")
		})
	}
}

func BenchmarkTokenize(b *testing.B) {
	r := large()
	v := newVocabulary(r.tokens, r.hashed)
	for name, text := range map[string]string{
		"mail":    mail,
		"umlauts": strings.ReplaceAll(mail, "a", "ä"),
		"chinese": strings.Repeat("會議在星期二 ", 17),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var rows []int32
			for b.Loop() {
				rows = v.tokenize(rows[:0], text, 512)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	data := large().encode(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := Parse(context.Background(), "large", data); err != nil {
			b.Fatal(err)
		}
	}
}
