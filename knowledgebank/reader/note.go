package reader

import (
	"context"
	"strings"

	"github.com/percached/percached/knowledgebank"
)

// note reads a file of text that is one document. label names its charset if it is
// known.
func (f *file) note(ctx context.Context, of format, data []byte, label string) (*knowledgebank.Source, error) {
	text := decode(data, or(label, metaCharset(data)))
	s := &knowledgebank.Source{Key: f.key(), Title: oneLine(stem(f.base)), Source: "note"}
	if title := oneLine(of.text(f, ctx, s, text)); title != "" && !wordless(title) {
		s.Title = title
	}
	if allWordless(s.Blocks) {
		return nil, errEmpty
	}
	return s, nil
}

// plain reads text without markup.
func (f *file) plain(ctx context.Context, s *knowledgebank.Source, text string) string {
	s.Format = "text"
	s.Blocks = blocksOf(ctx, strings.Split(clean(text), "\n"), false)
	return ""
}

func or(a, b string) string {
	if strings.TrimSpace(a) != "" {
		return a
	}
	return b
}

func allWordless(blocks []knowledgebank.Block) bool {
	for _, b := range blocks {
		if !wordless(b.Text) {
			return false
		}
	}
	return true
}
