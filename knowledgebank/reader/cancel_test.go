package reader

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/percached/percached/knowledgebank"
)

// impatient is a context that ends after a number of checks.
type impatient struct {
	context.Context
	looks, most int
}

func (i *impatient) Err() error {
	if i.looks++; i.looks > i.most {
		return context.Canceled
	}
	return nil
}

// Reading any large file checks the context again and again, and ends soon after it.
func TestStreamEnds(t *testing.T) {
	const size = 1 << 18
	const header = "From: a@b.example\nTo: c@d.example\nSubject: Ducks\nMessage-ID: <1@x>\nDate: Mon, 2 Jan 2006 15:04:05 +0000\n"
	for name, f := range map[string]struct{ file, head, part, end string }{
		"mail":         {"a.eml", header + "\n", "Ducks swim:\n", ""},
		"quotes":       {"a.eml", header + "\n", "Ducks swim.\n> Do they?\n", ""},
		"attributions": {"a.eml", header + "\n", "On 2 May 2025 at 10:07 Ana wrote:\nDucks.\n", ""},
		"page in mail": {"a.eml", header + "Content-Type: text/html\n\n", "<p>Ducks<br>swim", ""},
		"text":         {"a.txt", "", "ducks swim\n", ""},
		"markdown":     {"a.md", "", "- [ducks](swim)\n", ""},
		"page":         {"a.html", "<!doctype html><body>", "<p>Ducks<br>swim", ""},
		"WebVTT":       {"a.vtt", "WEBVTT\n\n", "00:01.000 --> 00:02.000\n<v Ana>Ducks swim.\n\n", ""},
		"chat":         {"a.json", `{"messages": [{"from": "Ana", "text": "Ducks."}`, `, {"text": "They swim."}`, "]}"},
	} {
		t.Run(name, func(t *testing.T) {
			rd, err := New(Default())
			if err != nil {
				t.Fatal(err)
			}
			text := f.head + strings.Repeat(f.part, size/len(f.part)) + f.end
			read := func(ctx context.Context) (n int, err error) {
				err = rd.Stream(ctx, f.file, strings.NewReader(text), func(*knowledgebank.Source) error { n++; return nil }, func(name string, err error) { t.Error(name, err) })
				return n, err
			}
			all := &impatient{Context: context.Background(), most: 1 << 60}
			if n, err := read(all); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			if all.looks < 20 {
				t.Errorf("it looks %d times while it reads 256 KiB", all.looks)
			}
			for most := 0; most < all.looks; most += 1 + all.looks/11 {
				ctx := &impatient{Context: context.Background(), most: most}
				if n, err := read(ctx); n > 0 || !errors.Is(err, context.Canceled) || ctx.looks-most > 30 {
					t.Errorf("ended at look %d of %d, it looks %d times more: %d documents, %v", most, all.looks, ctx.looks-most, n, err)
				}
			}
		})
	}
}
