package main

import (
	"context"
	"errors"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/knowledgebank"
)

func wireDocument(d percached.Document) api.Document {
	return api.Document{
		ID: d.ID, Title: d.Title, Source: d.Source, Format: d.Format, Date: d.Date, Path: d.Path, Added: d.Added.UTC(),
		Words: d.Words, Chunks: len(d.Chunks),
	}
}

func wireChunk(c percached.Chunk) api.ChunkText {
	return api.ChunkText{Chunk: c.ID, About: strings.TrimPrefix(c.Head, "### "), Body: c.Body}
}

// documents is a page of a space's documents, by ID. Beside an error that is
// knowledgebank.ErrDamaged it holds those that can be read.
func (s *service) documents(space string, limit int, after string) (api.Documents, error) {
	out := api.Documents{Documents: []api.Document{}}
	var from percached.DocumentID
	if after != "" && from.UnmarshalText([]byte(after)) != nil {
		return out, invalid("query:after", "it must be the next of a page before")
	}
	found, err := s.knowledge.Documents(space, from, limit+1)
	for i, d := range found {
		if i == limit {
			out.Next = found[i-1].ID.String()
			break
		}
		out.Documents = append(out.Documents, wireDocument(d))
	}
	return out, err
}

// document is a document with its text.
func (s *service) document(space string, id percached.DocumentID) (api.DocumentText, error) {
	d, err := s.knowledge.Document(space, id)
	if err != nil {
		return api.DocumentText{}, err
	}
	chunks, err := s.knowledge.Chunks(space, d.Chunks)
	out := api.DocumentText{Document: wireDocument(d), Text: []api.ChunkText{}}
	for _, c := range chunks {
		out.Text = append(out.Text, wireChunk(c))
	}
	return out, err
}

func (f *face) documents(_ context.Context, p api.Page) (api.Documents, error) {
	page, err := f.service.documents(p.Space, p.Limit, p.After)
	if errors.Is(err, knowledgebank.ErrDamaged) && len(page.Documents) > 0 {
		f.log.Warn("documents are left out of a list", "error", err)
		err = nil
	}
	return page, err
}

func (f *face) document(_ context.Context, o api.OneDocument) (api.DocumentText, error) {
	return f.service.document(o.Space, o.Document)
}
