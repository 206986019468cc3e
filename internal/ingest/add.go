package ingest

import (
	"context"
	"errors"

	"golang.org/x/sync/semaphore"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// A batch is acknowledged together; it is small enough that progress is seen
// and that a crash costs little.
const (
	batchDocuments = 64
	batchBytes     = 1 << 20
)

// Report counts what became of documents.
type Report struct {
	Added     int       `json:"added"`
	Unchanged int       `json:"unchanged"`
	Replaced  int       `json:"replaced"`
	Failed    int       `json:"failed"`
	Chunks    int       `json:"chunks"` // that are new
	Notes     int       `json:"notes"`  // parts of documents that were left out
	Failures  []Failure `json:"failures,omitempty"`
	LeftOut   []Failure `json:"left_out,omitempty"` // the parts, by the title of their document
}

// Failure is something that could not be read.
type Failure struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// maxFailures are named; more are counted.
const maxFailures = 1000

// Documents is the number of documents that are in the knowledge bank now.
func (r *Report) Documents() int { return r.Added + r.Unchanged + r.Replaced }

// Source gives documents one by one, and names what cannot be read.
type Source func(ctx context.Context, emit func(*knowledgebank.Source) error, failed func(name string, err error)) error

// Add takes documents into a space. Each is in whole and durable, or not at all;
// progress, when not nil, hears of every batch. Emit returns when a large document is
// in, and at once for others. What cannot be taken in is named in the report, and the
// others go on. With an error the report holds what was done before. Other changes may
// be made between two batches.
func (l *Library) Add(ctx context.Context, space string, read Source, progress func(Report)) (Report, error) {
	const op = "ingest.Add"
	a := &adding{Library: l, space: space, progress: progress}
	if _, err := l.Knowledge.Space(space); err != nil {
		return a.report, fault.Wrap(op, err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	left, err := l.turns.add(a, cancel)
	if err != nil {
		return a.report, fault.Wrap(op, err)
	}
	defer left()
	found := make(chan item, batchDocuments)
	ahead := semaphore.NewWeighted(batchBytes) // of documents that were read and not looked at
	end := make(chan error, 1)
	go func() {
		defer close(found)
		send := func(i item) error {
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
				i := item{source: s}
				if i.bytes() >= batchBytes {
					i.in = make(chan struct{})
				}
				return send(i)
			},
			func(name string, err error) { send(item{failure: &Failure{name, reason(err)}}) })
	}()
	err = a.all(ctx, found, ahead)
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

// item is a document, or what could not be read.
type item struct {
	source  *knowledgebank.Source
	failure *Failure
	// in is closed when a large document is in: none is read ahead beside it, as two
	// take too much memory. It is nil for others.
	in chan struct{}
}

// bytes of text that a document holds.
func (i item) bytes() (n int) {
	if i.source != nil {
		for _, b := range i.source.Blocks {
			n += len(b.Text)
		}
	}
	return n
}

// weight is what an item takes of what may be read ahead; the longest takes all.
func (i item) weight() int64 { return int64(min(i.bytes(), batchBytes)) }

// adding is one Add under way.
type adding struct {
	*Library
	space    string
	progress func(Report)
	report   Report
	batch    []*knowledgebank.Source
	bytes    int
}

func (a *adding) all(ctx context.Context, found <-chan item, ahead *semaphore.Weighted) error {
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

// leftOut names what of a document could not be taken.
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

// flush brings the batch in, but for what cannot be taken in.
func (a *adding) flush(ctx context.Context) error {
	for len(a.batch) > 0 {
		n, bad, err := a.some(ctx)
		if err != nil {
			return err
		}
		if bad != nil {
			a.fail(Failure{name(a.batch[n]), reason(bad)})
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

// name is what a person knows a document by.
func name(s *knowledgebank.Source) string {
	if s.Path != "" {
		return s.Path
	}
	return s.Key
}

// some brings the first n of the batch into the knowledge bank, and the other
// layers after it. Bad is why the document behind those cannot be taken in.
func (a *adding) some(ctx context.Context) (n int, bad, err error) {
	done, err := a.turns.change(ctx, a.space)
	if err != nil {
		return 0, nil, err
	}
	defer done()
	if err := a.pardon(a.space, a.batch); err != nil {
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
	if n > 0 { // these are in, whatever became of the rest
		if late := a.catchUp(ctx, a.space, gone); err == nil {
			err = late
		}
	}
	return n, bad, err
}

// catchUp brings the other layers after the knowledge bank, and makes good what
// failed of that before: documents that are taken in again are unchanged by then,
// and nobody would tell which chunks have gone. The caller has the space's turn.
func (l *Library) catchUp(ctx context.Context, space string, gone []percached.ChunkID) error {
	var err error
	if l.isBehind(space) {
		l.Asker.Settle()
		var more []percached.ChunkID
		more, err = l.orphans(space, false)
		gone = append(gone, more...)
	}
	if late := l.follow(ctx, space, gone); err == nil {
		err = late
	}
	l.setBehind(space, err != nil)
	return err
}

// CatchUp makes good what an Add that was ended has left undone: documents that
// came in are found from then on.
func (l *Library) CatchUp(ctx context.Context, space string) error {
	const op = "ingest.CatchUp"
	if !l.isBehind(space) {
		return nil
	}
	done, err := l.turns.change(ctx, space)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	if _, err := l.Knowledge.Space(space); err != nil {
		return fault.Wrap(op, err)
	}
	return fault.Wrap(op, l.catchUp(ctx, space, nil))
}

// reason is an error as a person is told of it.
func reason(err error) string {
	for {
		f, ok := err.(*fault.Error)
		if !ok {
			return err.Error()
		}
		err = f.Err
	}
}
