package predictor_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/predictor"
)

// With all calls concurrent, no part is used twice, and nothing forgotten remains.
func TestConcurrent(t *testing.T) {
	w := start(t)
	ctx := context.Background()
	var doomed []percached.ChunkID
	for i := range 40 {
		c := w.add(fmt.Sprint("Mail", i), i, fmt.Sprintf("This is mail number %d.", i))
		if i%4 == 0 {
			doomed = append(doomed, c...)
		}
	}
	all, _, err := w.Unsummarised(t.Context(), "mail", 100)
	w.must(err)
	var questions atomic.Int32
	w.asked = func() ([]predictor.Asked, error) {
		i := int(questions.Add(1)) % 4
		return []predictor.Asked{{Question: fmt.Sprint("Who is ", i), Chunks: all[i : i+2]}}, nil
	}
	var wg sync.WaitGroup
	each := func(n int, fn func(i int) error) {
		for i := range n {
			wg.Go(func() {
				err := fn(i)
				if k := fault.KindOf(err); err != nil && k != fault.NotFound && k != fault.Overloaded {
					t.Error(err)
				}
			})
		}
	}
	each(len(all), func(i int) error { _, err := w.Summarise(ctx, "mail", all[i]); return err })
	each(8, func(int) error { _, err := w.FromKnowledge(ctx, "mail", 4); return err })
	each(4, func(int) error { _, err := w.FromHistory(ctx, "mail", 2); return err })
	each(4, func(int) error {
		ps, err := w.Predictions("mail")
		for _, p := range ps {
			w.Hit("mail", p.ID)
			err = errors.Join(err, w.Populated("mail", p.ID))
		}
		return errors.Join(err, w.Flush())
	})
	each(4, func(int) error {
		_, _, err := w.Unsummarised(t.Context(), "mail", 5)
		_, err2 := w.Stats("mail")
		_, err3 := w.Cited("mail")
		return errors.Join(err, err2, err3)
	})
	each(4, func(i int) error {
		for j := i * 4; j < 40; j += 16 {
			w.lib.drop("mail", fmt.Sprint("Mail", j))
		}
		_, _, err := w.Forget("mail", doomed)
		return err
	})
	wg.Wait()
	if _, _, err := w.Forget("mail", doomed); err != nil {
		t.Error(err)
	}
	cited, err := w.Cited("mail")
	w.must(err)
	for _, d := range doomed {
		if contains(cited, d) {
			t.Errorf("%v is still cited", d)
		}
	}
	before := w.stats()
	w.reopen(false)
	if after := w.stats(); sprint(after) != sprint(before) {
		t.Errorf("opened again: %s, was %s", sprint(after), sprint(before))
	}
	w.summarise()
	for r := w.predict(4); r.Sources > 0; r = w.predict(4) {
	}
	if s := w.stats(); s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}
