package retrieval

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// analysts is how many goroutines cut texts into terms while a batch is written.
const analysts = 2

// unfinished ends the name of a folder in which an index is being built, and of a file that
// durable.Write has not finished.
const unfinished = durable.Unfinished

var errClosed = errors.New("the index is closed")

// Index finds chunks. It is safe for concurrent use.
type Index struct {
	o     Options
	queue *index.AnalysisQueue
	quit  chan struct{} // closed by Close

	mu     sync.Mutex // guards what follows, and the last field of each space
	closed bool
	clock  uint64
	spaces map[string]*space
	open   map[*space]bool // those of spaces whose files are open: few of perhaps many
}

// Open makes the folder if it is missing and removes what a crash left. Spaces are
// opened on first use.
func Open(o Options) (*Index, error) {
	const op = "retrieval.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), unfinished) {
			if err := os.RemoveAll(filepath.Join(o.Dir, e.Name())); err != nil {
				return nil, fault.New(fault.Unavailable, op, "%w", err)
			}
		}
	}
	hooked().set(o.Dir, o.Key)
	return &Index{
		o: o, queue: index.NewAnalysisQueue(analysts), quit: make(chan struct{}), spaces: map[string]*space{}, open: map[*space]bool{},
	}, nil
}

// Close stops running work, waits for it, and closes all files.
func (x *Index) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	close(x.quit)
	spaces := make([]*space, 0, len(x.spaces))
	for _, sp := range x.spaces {
		spaces = append(spaces, sp)
	}
	x.mu.Unlock()
	var errs []error
	for _, sp := range spaces {
		sp.write <- struct{}{}
		sp.filesInUse.Lock()
		errs = append(errs, sp.closeFiles())
		sp.filesInUse.Unlock()
		<-sp.write
	}
	x.queue.Close()
	if err := errors.Join(errs...); err != nil {
		return fault.New(fault.Internal, "retrieval.Close", "%w", err)
	}
	return nil
}

// ended returns an error if work must stop.
func (x *Index) ended(ctx context.Context) error {
	select {
	case <-x.quit:
		return fault.New(fault.Unavailable, "retrieval", "%w", errClosed)
	case <-ctx.Done():
		return fault.New(fault.Timeout, "retrieval", "%w", context.Cause(ctx))
	default:
		return nil
	}
}

// findKnown finds a space that the feed knows.
func (x *Index) findKnown(name string) (*space, error) {
	x.mu.Lock()
	there := x.spaces[name] != nil
	x.mu.Unlock()
	if !there { // without this check, every name that anybody asks for would stay in memory
		if _, err := x.o.Feed.Seq(name); err != nil {
			return nil, err
		}
	}
	return x.findNamed(name)
}

// findNamed finds a space by name and notes that it is in use now.
func (x *Index) findNamed(name string) (*space, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil, fault.New(fault.Unavailable, "retrieval", "%w", errClosed)
	}
	sp := x.spaces[name]
	if sp == nil {
		sp = newSpace(name, x.o.Dir, x.o.Key)
		x.spaces[name] = sp
	}
	x.clock++
	sp.used = x.clock
	return sp, nil
}

// openToRead opens a space for reading. The caller calls sp.life.RUnlock.
func (x *Index) openToRead(name string) (*space, error) {
	sp, err := x.findKnown(name)
	if err != nil {
		return nil, err
	}
	for {
		sp.filesInUse.RLock()
		if sp.text != nil {
			return sp, nil
		}
		sp.filesInUse.RUnlock()
		if err := x.openFiles(sp); err != nil {
			return nil, err
		}
	}
}

// openToChange opens a space for one writer at a time. The caller calls done.
func (x *Index) openToChange(ctx context.Context, name string) (sp *space, done func(), err error) {
	if err := x.ended(ctx); err != nil {
		return nil, nil, err
	}
	if sp, err = x.findKnown(name); err != nil {
		return nil, nil, err
	}
	select {
	case sp.write <- struct{}{}:
	case <-x.quit:
		return nil, nil, x.ended(ctx)
	case <-ctx.Done():
		return nil, nil, x.ended(ctx)
	}
	if err := x.openFiles(sp); err != nil {
		<-sp.write
		return nil, nil, err
	}
	return sp, func() { <-sp.write }, nil
}

// openFiles opens the space's files if they are closed, and closes spaces that were not used
// for longer.
func (x *Index) openFiles(sp *space) error {
	sp.filesInUse.RLock()
	there := sp.text != nil
	sp.filesInUse.RUnlock()
	if there {
		return nil
	}
	sp.filesInUse.Lock()
	defer sp.filesInUse.Unlock()
	if sp.text != nil {
		return nil
	}
	if err := sp.load(x); err != nil {
		return err
	}
	x.mu.Lock()
	x.open[sp] = true
	closed := x.closed
	x.mu.Unlock()
	if closed { // Close may have missed this space
		return errors.Join(fault.New(fault.Unavailable, "retrieval", "%w", errClosed), sp.closeFiles())
	}
	x.closeOldest(sp)
	return nil
}

// closeOldest closes the spaces used longest ago until at most Options.OpenSpaces are open.
// It leaves spaces at work alone, so more may stay open for a while.
func (x *Index) closeOldest(keep *space) {
	for {
		x.mu.Lock()
		var oldest *space
		for sp := range x.open {
			if sp != keep && (oldest == nil || sp.used < oldest.used) && sp.idle() {
				if oldest != nil {
					oldest.unidle()
				}
				oldest = sp
			}
		}
		if oldest == nil || len(x.open) <= x.o.OpenSpaces {
			if oldest != nil {
				oldest.unidle()
			}
			x.mu.Unlock()
			return
		}
		delete(x.open, oldest)
		x.mu.Unlock()
		if err := oldest.closeFiles(); err != nil {
			x.log("cannot close an index", "error", err)
		}
		oldest.unidle()
	}
}

func (x *Index) log(message string, args ...any) {
	if x.o.Logger != nil {
		x.o.Logger.Warn("retrieval: "+message, args...)
	}
}
