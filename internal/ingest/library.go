package ingest

import (
	"context"
	"log/slog"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/kv"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
)

// history forgets questions.
type history interface {
	Forget(space string, chunks []percached.ChunkID) (int, error)
	DropSpace(space string) (int, error)
}

// freshener marks the stored answers of a space that newer chunks bear on.
type freshener interface {
	Freshen(ctx context.Context, space string) (stale int, err error)
}

// Layers are all that holds something of a document.
type Layers struct {
	Meta      *kv.DB
	Tensors   *kv.DB
	Knowledge *knowledgebank.Bank
	Index     *retrieval.Index
	Bank      *qabank.Bank
	Tree      *qkvtree.Tree
	History   history
	Freshener freshener
	Logger    *slog.Logger
}

// Library changes what the layers hold. It is safe for concurrent use: one
// change is made at a time.
type Library struct {
	Layers
	changing sync.Mutex
}

// New makes a library of these layers. Call Recover before anything else.
func New(l Layers) *Library { return &Library{Layers: l} }
