package follow

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank/reader"
)

const (
	// Files are sent in portions, so that finished portions stay.
	portionFiles = 500
	portionBytes = 64 << 20
	// saveEvery is how often the state is written while files are sent.
	saveEvery = 5 * time.Second
)

// Document is a document of the space.
type Document struct {
	ID, Key, Title, Path string
}

// File is a file to send.
type File struct {
	Path string
	Name string // to send it under; empty: Path
	Size int64  // of the file
	From int64  // where the part to send begins
	// Open opens a file that is encrypted at Path, and sent from its start. Nil: os.Open.
	Open func() (io.ReadCloser, error)
}

// space is where the documents are.
type space interface {
	// Documents calls fn with every document.
	Documents(ctx context.Context, fn func(Document)) error
	// Add returns when the files are stored, as far as they can be read. It returns those
	// that it could not send.
	Add(ctx context.Context, files []File) (unsent map[string]error, err error)
	// Delete deletes documents that have no file any more. Those that are gone are no error.
	Delete(ctx context.Context, ids []string) error
}

// What happened to a file.
type What string

// The events.
const (
	Added   What = "added"
	Changed What = "changed"
	Moved   What = "moved" // what it holds was in another file
	Removed What = "removed"
)

// Change is something that a Run did.
type Change struct {
	What    What
	Path    string
	Deleted int // documents
}

// Observer hears what a Run does. Its funcs may be nil.
type Observer struct {
	Folder  func(path string)   // is called before a folder is read
	Found   func(bytes int64)   // of all files
	Passed  func(bytes int64)   // of a file that need not be sent
	Changed func(change Change) // in the order of what was done
}

func (o Observer) folder(path string) {
	if o.Folder != nil {
		o.Folder(path)
	}
}

// Options of a Run.
type Options struct {
	Space space
	State *State
	Roots []string // absolute paths of folders or files
	// Empty: the documents of a root that is empty or missing are deleted.
	Empty bool
	// Full: compare with the documents of the space, not only with the state.
	Full bool
	// Again: documents that the space did not have after they were sent are sent again.
	Again bool
	// Settle is how long a file must have been left alone before a mail that vanished from
	// it is believed to be gone.
	Settle   time.Duration
	Now      func() time.Time
	Observer Observer
}

// Obstacle is why documents stay, or why a file has none.
type Obstacle struct {
	Path string
	Err  error
}

// Report says what a Run did.
type Report struct {
	Files     int // that were found
	Unchanged int // of these
	Deleted   int // documents
	Unread    []Obstacle
	Blocked   []Obstacle
}

// run is one Run in progress.
type run struct {
	Options
	keys    *reader.Reader
	found   scanned
	have    map[percached.DocumentID]Document // of the space; nil: not listed
	before  map[percached.DocumentID]bool     // in any file; nil: not collected
	portion []candidate
	bytes   int64
	sent    []string
	saved   time.Time
	report  Report
}

// candidate is a file to send.
type candidate struct {
	File
	next *record
	what What
}

// Run puts the space in step with the folders once. With an error the report covers what was
// done before; the next Run does the rest.
func Run(ctx context.Context, o Options) (Report, error) {
	const op = "follow.Run"
	limits := reader.Default()
	limits.MaxBytes = 1 << 30 // percached decides what is too large
	keys, err := reader.New(limits)
	if err != nil {
		return Report{}, fault.Wrap(op, err)
	}
	r := &run{Options: o, keys: keys, saved: o.Now()}
	err = r.do(ctx)
	if late := o.State.save(); err == nil {
		err = late
	}
	return r.report, fault.Wrap(op, err)
}

func (r *run) do(ctx context.Context) error {
	r.scan()
	r.report.Files = len(r.found.order)
	if r.Observer.Found != nil {
		r.Observer.Found(r.found.bytes)
	}
	if r.Full {
		if err := r.list(ctx); err != nil {
			return err
		}
	}
	r.blockBare()
	for _, path := range r.found.order {
		if err := r.consider(ctx, path); err != nil {
			return err
		}
	}
	if err := r.send(ctx); err != nil {
		return err
	}
	if r.Full && len(r.sent) > 0 {
		if err := r.list(ctx); err != nil {
			return err
		}
		for _, path := range r.sent {
			known := r.State.kept.Files[path]
			known.Absent = r.missing(known.Documents)
		}
		r.State.dirty = true
	}
	return r.clear(ctx)
}

// list reads which documents the space has.
func (r *run) list(ctx context.Context) error {
	r.have = map[percached.DocumentID]Document{}
	return r.Space.Documents(ctx, func(d Document) { r.have[percached.NewDocumentID(d.Key)] = d })
}

// missing returns those documents that the space does not have.
func (r *run) missing(ids []percached.DocumentID) (some []percached.DocumentID) {
	for _, id := range ids {
		if _, ok := r.have[id]; !ok {
			some = append(some, id)
		}
	}
	return some
}

// incomplete says that the space lost documents of a file since it was sent.
func (r *run) incomplete(known *record) bool {
	if r.have == nil {
		return false
	}
	return slices.ContainsFunc(r.missing(known.Documents), func(id percached.DocumentID) bool {
		return r.Again || !slices.Contains(known.Absent, id)
	})
}

// consider looks whether a file must be sent.
func (r *run) consider(ctx context.Context, path string) error {
	info, was := r.found.files[path], r.State.kept.Files[path]
	same := was != nil && was.Time != 0 && was.Time == info.ModTime().UnixNano() && was.Size == info.Size()
	if same && !r.incomplete(was) {
		r.pass(path)
		return nil
	}
	c, err := r.look(ctx, path, was)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist): // it has just vanished; the next Run will see that
		r.found.blocked = append(r.found.blocked, path)
		return nil
	case err != nil:
		r.block(path, err)
		return nil
	}
	next := &c.record
	if was != nil && was.Sum == next.Sum && !r.incomplete(was) {
		next.Absent, next.Lost = was.Absent, was.Lost
		r.State.set(path, next)
		r.pass(path)
		return nil
	}
	f := candidate{File{Path: path, Size: next.Size}, next, r.whatOf(was, next)}
	if c.grown && !r.incomplete(was) {
		f.From, next.Absent = was.Size, was.Absent
	}
	if next.Unread { // nothing to send
		if c.unread != nil {
			r.report.Unread = append(r.report.Unread, Obstacle{path, c.unread})
		}
		r.State.set(path, next)
		r.pass(path)
		return nil
	}
	r.portion = append(r.portion, f)
	r.bytes += f.Size - f.From
	if len(r.portion) >= portionFiles || r.bytes >= portionBytes {
		return r.send(ctx)
	}
	return nil
}

// whatOf says what happened to a file that is sent.
func (r *run) whatOf(was, next *record) What {
	if was != nil && !was.Unread {
		return Changed
	}
	if r.before == nil {
		r.before = map[percached.DocumentID]bool{}
		for _, f := range r.State.kept.Files {
			for _, id := range f.Documents {
				r.before[id] = true
			}
		}
	}
	if slices.ContainsFunc(next.Documents, func(id percached.DocumentID) bool { return !r.before[id] }) {
		return Added
	}
	return Moved
}

// pass counts a file that need not be sent.
func (r *run) pass(path string) {
	r.report.Unchanged++
	if r.Observer.Passed != nil {
		r.Observer.Passed(r.found.files[path].Size())
	}
}

// send sends the portion. Its records are kept when its documents are stored.
func (r *run) send(ctx context.Context) error {
	if len(r.portion) == 0 {
		return nil
	}
	files := make([]File, len(r.portion))
	for i, f := range r.portion {
		files[i] = f.File
	}
	unsent, err := r.Space.Add(ctx, files)
	if err != nil {
		return err
	}
	for _, f := range r.portion {
		if _, failed := unsent[f.Path]; failed {
			r.found.blocked = append(r.found.blocked, f.Path)
			continue
		}
		r.State.set(f.Path, f.next)
		r.sent = append(r.sent, f.Path)
		if len(f.next.Lost) == 0 { // otherwise delete tells how many
			r.changed(Change{What: f.what, Path: f.Path})
		}
	}
	r.portion, r.bytes = nil, 0
	if now := r.Now(); now.Sub(r.saved) >= saveEvery {
		r.saved = now
		return r.State.save()
	}
	return nil
}

func (r *run) changed(c Change) {
	if r.Observer.Changed != nil {
		r.Observer.Changed(c)
	}
}

// blockBare reports the roots that are empty although documents of theirs are known.
func (r *run) blockBare() {
	for _, root := range r.found.bare {
		known := len(r.State.below(root)) > 0
		for _, d := range r.have {
			known = known || within(d.Path, root)
		}
		if known && !r.Empty {
			r.block(root, errBare)
		}
	}
}

var errBare = errors.New("it is empty, so its documents stay; if it should be empty, add --empty")
