package backend

import (
	"strings"
	"testing"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node/nodetest"
)

// A search returns passages of the documents that say it, without asking the model.
func TestSearchDocuments(t *testing.T) {
	b := scriptedBackend(t).API()
	in := api.InSpace{Space: nodetest.Space}
	found := given[api.Passages](t)(b.SearchDocuments(t.Context(), api.PassageSearch{InSpace: in, Query: "budget of Otter", Limit: 3})).Passages
	if len(found) != 3 || !strings.Contains(found[0].Quote, "Otter") || found[0].About == "" {
		t.Fatalf("%+v", found)
	}
	doc := given[api.DocumentText](t)(b.Document(t.Context(), api.OneDocument{InSpace: in, Document: found[0].Document}))
	if !strings.Contains(doc.Title, "Otter") {
		t.Errorf("%+v", doc)
	}
	_, err := b.SearchDocuments(t.Context(), api.PassageSearch{InSpace: api.InSpace{Space: "none"}, Query: "a", Limit: 1})
	wantFault(t, "no such space", err, fault.NotFound)
}
