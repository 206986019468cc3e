package ingest

import (
	"log/slog"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/retrieval"
)

// history forgets questions, or turns of conversations.
type history interface {
	Cited(space string) ([]percached.ChunkID, error)
	Forget(space string, chunks []percached.ChunkID) (int, error)
	DropSpace(space string) (int, error)
}

// predictions forgets what was predicted from documents.
type predictions interface {
	Cited(space string) ([]percached.ChunkID, error)
	Forget(space string, chunks []percached.ChunkID) (parts, predictions int, err error)
	DropSpace(space string) (parts, predictions int, err error)
}

// facts knows which documents are facts about the user.
type facts interface {
	DropSpace(space string) error
}

// jobs is the queue of idle work.
type jobs interface {
	Changed(space string)
	Forget(space string) error
	DropSpace(space string) error
}

// asker answers questions.
type asker interface {
	// Settle waits until results based on recently existing chunks are stored. From then
	// on nothing is stored about deleted chunks.
	Settle()
}

// Layers are all layers that hold parts of documents.
type Layers struct {
	Meta      *kv.DB
	Tensors   *kv.DB
	Knowledge *knowledgebank.Bank
	Index     *retrieval.Index
	Bank      *qabank.Bank
	Tree      *qkvtree.Tree
	History   history
	Predictor predictions
	// Conversations forget the turns that rest on forgotten chunks. Their tensors bear no
	// chunk's name, so that they count as orphans: all are forgotten with any document.
	Conversations history
	Facts         facts // nil: none
	Jobs          jobs
	// Loads make the layers that hold records of a space in memory read those of an imported one.
	Loads  []func(space string) error
	Asker  asker
	Logger *slog.Logger
	// Key is the folder's, for the marks of deleted documents. Now is time.Now if it is nil.
	Key []byte
	Now func() time.Time
}

// Library changes the layers. It is safe for concurrent use: one caller at a time changes
// a space.
type Library struct {
	Layers
	turns *turns

	mu sync.Mutex // guards behind, importing, unclean and uncleanAll
	// behind holds the spaces whose layers failed to follow the knowledge bank.
	behind map[string]bool
	// importing holds the spaces that are being imported.
	importing map[string]bool
	// unclean holds the spaces of which something was deleted since the last CleanUp: a token
	// of one space must not see that another deleted something. After a crash it may be any.
	unclean    map[string]bool
	uncleanAll bool
	// deleted has an element if KeepClean does not know of the last deletion.
	deleted chan struct{}
}

// New creates a library of these layers. Call Recover before anything else.
func New(l Layers) *Library {
	if l.Now == nil {
		l.Now = time.Now
	}
	return &Library{Layers: l, turns: newTurns(), behind: map[string]bool{}, importing: map[string]bool{}, unclean: map[string]bool{}, deleted: make(chan struct{}, 1)}
}

// Behind reports whether the layers of some space failed to follow the knowledge bank.
// The folder is then as after a crash, and the next Recover repairs it. Nothing may
// change at the same time.
func (l *Library) Behind() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.behind) > 0
}

// isBehind reports whether the layers of a space failed to follow; setBehind records it.
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
