package ingest

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// A batch is acknowledged as a whole. It is small, so that progress is visible and a
// crash costs little.
const (
	batchDocuments = 64
	batchBytes     = 1 << 20
)

// Report counts what happened to the documents.
type Report struct {
	Added     int       `json:"added"`
	Unchanged int       `json:"unchanged"`
	Replaced  int       `json:"replaced"`
	Failed    int       `json:"failed"`
	Deleted   int       `json:"deleted,omitempty"` // left out, because the user deleted them
	Chunks    int       `json:"chunks"`            // new ones
	Notes     int       `json:"notes"`             // skipped parts of documents
	Failures  []Failure `json:"failures,omitempty"`
	LeftOut   []Failure `json:"left_out,omitempty"` // the skipped parts, by the title of their document, and deleted documents
}

// Failure is something that could not be read.
type Failure struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// maxFailures is how many failures are named; the rest are only counted.
const maxFailures = 1000

// Documents is the number of these documents now in the knowledge bank.
func (r *Report) Documents() int { return r.Added + r.Unchanged + r.Replaced }

// Source emits documents one by one, and names what it cannot read.
type Source func(ctx context.Context, emit func(*knowledgebank.Source) error, failed func(name string, err error)) error

// Add ingests documents into a space. Each document is stored completely and durably, or
// not at all. progress, if not nil, is called after every batch. emit returns at once for
// small documents, and for a large one when it is stored. The report names documents that
// could not be ingested; the others continue. With an error the report covers what was
// done before. Other changes may happen between two batches.
func (l *Library) Add(ctx context.Context, space string, read Source, progress func(Report)) (Report, error) {
	const op = "ingest.Add"
	a := &adding{Library: l, space: space, progress: progress}
	if _, err := l.Knowledge.Space(space); err != nil {
		return a.report, fault.Wrap(op, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	left, err := l.turns.registerAdd(a, cancel)
	if err != nil {
		return a.report, fault.Wrap(op, err)
	}
	defer left()
	found := make(chan sourceItem, batchDocuments)
	ahead := semaphore.NewWeighted(batchBytes) // bytes read but not yet processed
	end := make(chan error, 1)
	go func() {
		defer close(found)
		send := func(i sourceItem) error {
			if err := ahead.Acquire(ctx, i.weight()); err != nil {
				return err
			}
			select {
			case found <- i:
			case <-ctx.Done():
				return ctx.Err()
			}
			if i.in == nil {
				return nil
			}
			select {
			case <-i.in:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		end <- read(ctx,
			func(s *knowledgebank.Source) error {
				i := sourceItem{source: s}
				if i.bytes() >= batchBytes {
					i.in = make(chan struct{})
				}
				return send(i)
			},
			func(name string, err error) { send(sourceItem{failure: &Failure{name, fault.Sentence(err)}}) })
	}()
	err = a.addAll(ctx, found, ahead)
	if err != nil {
		cancel(nil)
	}
	for range found { // until the reader has ended
	}
	if readErr := <-end; err == nil {
		err = readErr
	}
	if err != nil && errors.Is(context.Cause(ctx), errForgotten) {
		err = errForgotten
	}
	return a.report, fault.Wrap(op, err)
}

// sourceItem is a document, or something that could not be read.
type sourceItem struct {
	source  *knowledgebank.Source
	failure *Failure
	// in is closed when a large document is stored, and nil for small ones. Nothing is
	// read ahead meanwhile, because two large documents need too much memory.
	in chan struct{}
}

// bytes is the size of a document's text.
func (i sourceItem) bytes() (n int) {
	if i.source != nil {
		for _, b := range i.source.Blocks {
			n += len(b.Text)
		}
	}
	return n
}

// weight is the item's share of the read-ahead limit; a large document takes all of it.
func (i sourceItem) weight() int64 { return int64(min(i.bytes(), batchBytes)) }

// adding is one Add in progress.
type adding struct {
	*Library
	space    string
	progress func(Report)
	report   Report
	batch    []*knowledgebank.Source
	bytes    int
}

func (a *adding) addAll(ctx context.Context, found <-chan sourceItem, ahead *semaphore.Weighted) error {
	for i := range found {
		ahead.Release(i.weight())
		if i.failure != nil {
			a.fail(*i.failure)
			continue
		}
		a.leftOut(i.source)
		a.batch = append(a.batch, i.source)
		a.bytes += i.bytes()
		if len(a.batch) >= batchDocuments || a.bytes >= batchBytes {
			if err := a.flush(ctx); err != nil {
				return err
			}
		}
		if i.in != nil {
			close(i.in)
		}
	}
	return a.flush(ctx)
}

// leftOut records the skipped parts of a document.
func (a *adding) leftOut(s *knowledgebank.Source) {
	for _, note := range s.Notes {
		if a.report.Notes++; len(a.report.LeftOut) < maxFailures {
			a.report.LeftOut = append(a.report.LeftOut, Failure{s.Title, note})
		}
	}
}

func (a *adding) fail(f Failure) {
	a.report.Failed++
	if len(a.report.Failures) < maxFailures {
		a.report.Failures = append(a.report.Failures, f)
	}
}

// flush ingests the batch, except for documents that cannot be ingested.
func (a *adding) flush(ctx context.Context) error {
	for len(a.batch) > 0 {
		n, bad, err := a.addFirst(ctx)
		if err != nil {
			return err
		}
		if bad != nil {
			a.fail(Failure{displayName(a.batch[n]), fault.Sentence(bad)})
			n++
		}
		a.batch = a.batch[n:]
	}
	a.batch, a.bytes = nil, 0
	if a.progress != nil {
		a.progress(a.report)
	}
	return nil
}

// displayName is how the user knows a document.
func displayName(s *knowledgebank.Source) string {
	if s.Path != "" {
		return s.Path
	}
	return s.Key
}

// addFirst writes the first n of the batch to the knowledge bank and updates the other
// layers. bad is why the document after them cannot be ingested.
func (a *adding) addFirst(ctx context.Context) (n int, bad, err error) {
	done, err := a.turns.space(ctx, a.space)
	if err != nil {
		return 0, nil, err
	}
	defer done()
	if err := a.leaveOutDeleted(ctx); err != nil || len(a.batch) == 0 {
		return 0, nil, err
	}
	if err := a.keepIncoming(a.space, a.batch); err != nil {
		return 0, nil, err
	}
	changes, err := a.Knowledge.AddAll(ctx, a.space, a.batch)
	var gone []percached.ChunkID
	for _, c := range changes {
		switch c.State {
		case knowledgebank.Added:
			a.report.Added++
		case knowledgebank.Replaced:
			a.report.Replaced++
		case knowledgebank.Unchanged:
			a.report.Unchanged++
		}
		a.report.Chunks += len(c.New)
		gone = append(gone, c.Gone...)
	}
	n = len(changes)
	if fault.KindOf(err) == fault.Invalid && n < len(a.batch) {
		bad, err = err, nil
	}
	if n > 0 { // these are stored, whatever happened to the rest
		if late := a.catchUp(ctx, a.space, gone); err == nil {
			err = late
		}
	}
	return n, bad, err
}

// catchUp updates the other layers from the knowledge bank, including what failed before.
// Uploading the documents again would not help, because they count as unchanged and their
// deleted chunks are unknown. The caller has the space's turn.
func (l *Library) catchUp(ctx context.Context, space string, gone []percached.ChunkID) error {
	var err error
	if l.isBehind(space) {
		l.Asker.Settle()
		var more []percached.ChunkID
		more, err = l.orphans(space, false)
		gone = append(gone, more...)
	}
	if late := l.updateLayers(ctx, space, gone); err == nil {
		err = late
	}
	l.setBehind(space, err != nil)
	return err
}

// CatchUp completes an interrupted Add, so that the ingested documents can be found.
func (l *Library) CatchUp(ctx context.Context, space string) error {
	const op = "ingest.CatchUp"
	if !l.isBehind(space) {
		return nil
	}
	done, err := l.turns.space(ctx, space)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	if _, err := l.Knowledge.Space(space); err != nil {
		return fault.Wrap(op, err)
	}
	return fault.Wrap(op, l.catchUp(ctx, space, nil))
}
