package backend

import (
	"context"
	"errors"
	"strings"

	"golang.org/x/text/cases"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/knowledgebank"
)

func wireDocument(ids percached.PublicIDs, d percached.Document) api.Document {
	return api.Document{
		ID: ids.Document(d.ID), Title: d.Title, Source: d.Source, Format: d.Format, Date: d.Date, Path: d.Path, Added: d.Added.UTC(),
		Words: d.Words, Chunks: len(d.Chunks),
	}
}

func wireChunk(ids percached.PublicIDs, c percached.Chunk) api.ChunkText {
	return api.ChunkText{Chunk: ids.Chunk(c.ID), About: strings.TrimPrefix(c.Head, "### "), Body: c.Body}
}

// documentsRead is how many documents are read at once when some are looked for.
const documentsRead = 500

// documents is a page of a space's documents, in an order that stays. Beside an error that is
// knowledgebank.ErrDamaged it holds those that can be read.
func (b *Backend) pageOfDocuments(ctx context.Context, p api.DocumentPage) (api.Documents, error) {
	out := api.Documents{Documents: []api.Document{}}
	var from percached.DocumentID
	if p.After != "" && from.UnmarshalText([]byte(p.After)) != nil {
		return out, invalid("query:after", "it must be the next of a page before")
	}
	st, err := b.Knowledge.Stats(p.Space)
	if err != nil {
		return out, err
	}
	out.Total = st.Documents
	ids, err := b.Knowledge.PublicIDs(p.Space)
	if err != nil {
		return out, err
	}
	if p.After != "" {
		from = ids.DocumentOf(from)
	}
	fold := cases.Fold()
	words := fold.String(string(p.Find))
	read := p.Limit + 1
	if words != "" {
		read = max(read, documentsRead)
	}
	var damaged error
	for {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		found, err := b.Knowledge.Documents(p.Space, from, read)
		if err != nil && !errors.Is(err, knowledgebank.ErrDamaged) {
			return out, err
		}
		damaged = errors.Join(damaged, err)
		for _, d := range found {
			from = d.ID
			if !strings.Contains(fold.String(d.Title), words) && !strings.Contains(fold.String(d.Source), words) {
				continue
			}
			if len(out.Documents) == p.Limit {
				out.Next = out.Documents[p.Limit-1].ID.String()
				return out, damaged
			}
			out.Documents = append(out.Documents, wireDocument(ids, d))
		}
		if len(found) < read {
			return out, damaged
		}
	}
}

// document is a document with its text, by its public id.
func (b *Backend) document(_ context.Context, o api.OneDocument) (api.DocumentText, error) {
	space, id := o.Space, o.Document
	ids, err := b.Knowledge.PublicIDs(space)
	if err != nil {
		return api.DocumentText{}, err
	}
	d, err := b.Knowledge.Document(space, ids.DocumentOf(id))
	if err != nil {
		return api.DocumentText{}, err
	}
	chunks, err := b.Knowledge.Chunks(space, d.Chunks)
	out := api.DocumentText{Document: wireDocument(ids, d), Text: []api.ChunkText{}}
	for _, c := range chunks {
		out.Text = append(out.Text, wireChunk(ids, c))
	}
	return out, err
}

func (b *Backend) documents(ctx context.Context, p api.DocumentPage) (api.Documents, error) {
	page, err := b.pageOfDocuments(ctx, p)
	if errors.Is(err, knowledgebank.ErrDamaged) && len(page.Documents) > 0 {
		b.Logger.Warn("documents are left out of a list", "error", err)
		err = nil
	}
	return page, err
}
