package ingest

import (
	"log/slog"
	"sync"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
)

// history forgets questions.
type history interface {
	Cited(space string) ([]percached.ChunkID, error)
	Forget(space string, chunks []percached.ChunkID) (int, error)
	DropSpace(space string) (int, error)
}

// predictions are made from documents.
type predictions interface {
	Cited(space string) ([]percached.ChunkID, error)
	Forget(space string, chunks []percached.ChunkID) (parts, predictions int, err error)
	DropSpace(space string) (parts, predictions int, err error)
}

// jobs are idle work that is to be done.
type jobs interface {
	Changed(space string)
	Forget(space string) error
	DropSpace(space string) error
}

// asker answers questions.
type asker interface {
	// Settle waits for what is being stored of chunks that were there a moment
	// ago: from then on nothing is stored of chunks that are gone.
	Settle()
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
	Predictor predictions
	Jobs      jobs
	Asker     asker
	Logger    *slog.Logger
}

// Library changes what the layers hold. It is safe for concurrent use: each space
// is changed by one at a time.
type Library struct {
	Layers
	turns *turns

	mu sync.Mutex // guards behind
	// behind: the layers of a space could not follow its knowledge bank in whole.
	behind map[string]bool
}

// New makes a library of these layers. Call Recover before anything else.
func New(l Layers) *Library {
	return &Library{Layers: l, turns: newTurns(), behind: map[string]bool{}}
}

// Behind says that layers of some space could not follow the knowledge bank: then
// the folder is as after a crash, and the next Recover makes that good. Nothing may
// be changed at the same time.
func (l *Library) Behind() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.behind) > 0
}

// isBehind says that layers of a space could not follow; setBehind notes it.
func (l *Library) isBehind(space string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.behind[space]
}

func (l *Library) setBehind(space string, behind bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if behind {
		l.behind[space] = true
	} else {
		delete(l.behind, space)
	}
}
