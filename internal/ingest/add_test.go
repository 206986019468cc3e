package ingest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
)

// forgetful fails to forget for a while.
type forgetful struct {
	*predicted
	fails error
}

func (f *forgetful) Forget(space string, chunks []percached.ChunkID) (parts, predictions int, err error) {
	if f.fails != nil {
		return 0, 0, f.fails
	}
	return f.predicted.Forget(space, chunks)
}

// What a layer failed to do after a document was replaced is done at the next Add, even
// if its documents are unchanged.
func TestAddAgainAfterFailure(t *testing.T) {
	w := newWorld(t)
	f := &forgetful{predicted: w.pred}
	w.Layers.Predictor = f
	w.Library = ingest.New(w.Layers)
	w.add(note("a", "Ducks swim."))
	gone := w.ask("Do ducks swim?", "a")
	f.fails = errors.New("the disk is full")
	if _, err := w.Add(context.Background(), space, from(note("a", "Ducks fly.")), nil); !errors.Is(err, f.fails) {
		t.Fatal(err)
	}
	if !w.Behind() {
		t.Error("it is told nowhere")
	}
	f.fails = nil
	if r := w.add(note("a", "Ducks fly.")); r.Unchanged != 1 || w.Behind() {
		t.Errorf("%+v", r)
	}
	if d := cmp.Diff(gone, w.pred.gone); d != "" {
		t.Error(d)
	}
	w.pred.gone = nil
	if w.add(note("a", "Ducks fly.")); len(w.pred.gone) > 0 {
		t.Error("what was made good is done again")
	}
}

// Documents are read ahead by size, not by number, and large ones not at all.
func TestAddReadsLittleAhead(t *testing.T) {
	w := newWorld(t)
	var read atomic.Int64
	in := 0
	_, err := w.Add(context.Background(), space, func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
		for _, key := range strings.Split("abcdefgh", "") {
			if err := emit(note(key, strings.Repeat(".", 2<<20))); err != nil {
				return err
			}
			read.Add(1)
		}
		return nil
	}, func(r ingest.Report) {
		if n := read.Load(); r.Documents() > in && n >= int64(r.Documents()) {
			t.Errorf("%d documents had been handed on when %d were in", n, r.Documents())
		}
		in = r.Documents()
	})
	if err != nil || read.Load() != 8 {
		t.Error(read.Load(), err)
	}
}
