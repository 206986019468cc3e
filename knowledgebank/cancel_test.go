package knowledgebank

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/percached/percached"
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

// For any text, adding it checks the context again and again; when that ends, adding
// ends at once and stores nothing.
func TestAddEnds(t *testing.T) {
	const size = 1 << 20
	for name, part := range map[string]string{
		"sentences":          "The heron stands in the pond and waits. ",
		"words":              "heron ",
		"lines":              "the heron stands\n",
		"short lines":        "heron\n",
		"wide characters":    "漢字仮名交文",
		"one word":           "heron",
		"long lines":         strings.Repeat("heron ", 600) + "\n",
		"paragraphs":         "The heron waits.\n\n",
		"wrapped lines":      "the heron stands in the pond and waits for a fish that\nis slow. ",
		"marks without ends": "heron, pond; fish, ",
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := newBank(t)
			text := strings.Repeat(part, size/len(part))
			all := &impatient{Context: context.Background(), most: 1 << 60}
			s := &Source{Key: "a", Title: "a", Format: "text", Blocks: []Block{{Text: text}}}
			if _, err := b.Add(all, "home", s); err != nil {
				t.Fatal(err)
			}
			if all.looks < 20 {
				t.Fatalf("it looks %d times while it takes in 1 MiB", all.looks)
			}
			if _, err := b.Delete(context.Background(), "home", percached.NewDocumentID("a")); err != nil {
				t.Fatal(err)
			}
			for most := 0; most < all.looks; most += 1 + all.looks/7 {
				ctx := &impatient{Context: context.Background(), most: most}
				if _, err := b.Add(ctx, "home", s); !errors.Is(err, context.Canceled) {
					t.Fatalf("at look %d of %d: %v", most, all.looks, err)
				}
				if more := ctx.looks - most; more > 20 {
					t.Errorf("ended at look %d, it looks %d times more", most, more)
				}
				if _, err := b.Document("home", percached.NewDocumentID("a")); err == nil {
					t.Errorf("ended at look %d of %d, it is in", most, all.looks)
				}
			}
		})
	}
}

// Whenever the context ends, splitting long units ends with it.
func TestShortenEnds(t *testing.T) {
	long := unit{text: strings.Repeat("heron ", 600) + "heron"}
	long.size = int32(size(long.text))
	for most := range 8 {
		shorten(&impatient{Context: context.Background(), most: most}, []unit{long, long, long}, 260)
	}
}
