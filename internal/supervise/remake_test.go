package supervise

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

// A request that is cut short by a Remake again and again still gets its answer. It counts as no
// failure of the engine.
func TestRemadeOften(t *testing.T) {
	whole := told(t, fake("a"))
	var r *Engine
	opened := 0
	open := func(context.Context) (llm.Engine, error) {
		opened++
		n := opened
		return &failing{Engine: fake("a"), before: func() error {
			if n > 3 {
				return nil
			}
			if err := r.Remake(t.Context(), 0); err != nil {
				t.Error(err)
			}
			return llm.ErrClosed
		}}, nil
	}
	var err error
	if r, err = Open(t.Context(), Limit{1, time.Hour}, time.Now, func(_, _ error) { t.Error("a failure") }, open); err != nil {
		t.Fatal(err)
	}
	if got := told(t, r); got.Text != whole.Text || opened != 4 {
		t.Errorf("answered %q after %d openings, want %q", got.Text, opened, whole.Text)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A Remake while the engine opens comes after that opening, which may have begun too early to
// know what changed.
func TestRemakeWhileOpening(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opened, release := 0, make(chan struct{})
		open := func(context.Context) (llm.Engine, error) {
			switch opened++; opened {
			case 1:
				return &failing{Engine: fake("a"), before: func() error { return errInside }}, nil
			case 2:
				<-release
			}
			return fake("a"), nil
		}
		r, err := Open(t.Context(), Limit{1, time.Hour}, time.Now, func(_, _ error) {}, open)
		if err != nil {
			t.Fatal(err)
		}
		answered, remade := make(chan error), make(chan error)
		go func() { _, err := r.Prefill(t.Context(), percached.Prompt{}); answered <- err }()
		synctest.Wait() // the first engine failed, and the second is opening
		go func() { remade <- r.Remake(t.Context(), 0) }()
		synctest.Wait()
		close(release)
		if err := <-remade; err != nil || opened != 3 {
			t.Errorf("opened %d times, want 3; %v", opened, err)
		}
		<-answered
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A longer context waits until no answer is in progress.
func TestRemakeIfIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let, opened := make(chan struct{}), 0
		open := func(context.Context) (llm.Engine, error) {
			opened++
			return &failing{Engine: fake("a"), before: func() error { <-let; return nil }}, nil
		}
		r, err := Open(t.Context(), Limit{1, time.Hour}, time.Now, func(_, _ error) { t.Error("a failure") }, open)
		if err != nil {
			t.Fatal(err)
		}
		answered := make(chan error)
		go func() { _, err := r.Generate(t.Context(), question(r), nil); answered <- err }()
		synctest.Wait()
		if remade, err := r.RemakeIfIdle(t.Context()); remade || err != nil || opened != 1 {
			t.Errorf("remade %v during an answer, opened %d times, %v", remade, opened, err)
		}
		close(let)
		if err := <-answered; err != nil {
			t.Error(err)
		}
		if remade, err := r.RemakeIfIdle(t.Context()); !remade || err != nil || opened != 2 {
			t.Errorf("remade %v without an answer, opened %d times, %v", remade, opened, err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Remake gives an answer in progress a moment to end, not for ever. Questions that come
// meanwhile wait for the next engine.
func TestRemakePatience(t *testing.T) {
	for name, tc := range map[string]struct {
		takes    time.Duration
		cut      bool
		remadeAt time.Duration
	}{
		"a short answer": {takes: 3 * time.Second, remadeAt: 3 * time.Second},
		"a long answer":  {takes: time.Hour, cut: true, remadeAt: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				whole := told(t, fake("a"))
				closing, runs := make(chan struct{}), 0 // of the first engine
				opened := 0
				cut := false
				open := func(context.Context) (llm.Engine, error) {
					opened++
					n := opened
					return &failing{Engine: fake("a"), before: func() error {
						if n > 1 {
							return nil
						}
						runs++
						select {
						case <-time.After(tc.takes):
							return nil
						case <-closing:
							cut = true
							return llm.ErrClosed
						}
					}, closed: func() {
						if n == 1 {
							close(closing)
						}
					}}, nil
				}
				r, err := Open(t.Context(), Limit{1, time.Hour}, time.Now, func(_, _ error) { t.Error("a failure") }, open)
				if err != nil {
					t.Fatal(err)
				}
				begun, first, second := time.Now(), make(chan string), make(chan string)
				go func() { first <- told(t, r).Text }()
				synctest.Wait()
				remade := make(chan time.Duration)
				go func() {
					if err := r.Remake(t.Context(), 10*time.Second); err != nil {
						t.Error(err)
					}
					remade <- time.Since(begun)
				}()
				synctest.Wait()
				go func() { second <- told(t, r).Text }()
				if a := <-first; a != whole.Text {
					t.Errorf("answered %q, want %q", a, whole.Text)
				}
				if at := <-remade; at != tc.remadeAt || cut != tc.cut {
					t.Errorf("remade after %v, cut %v; want %v, %v", at, cut, tc.remadeAt, tc.cut)
				}
				if b := <-second; b != whole.Text || runs != 1 {
					t.Errorf("the second answer is %q; the old engine ran %d requests, want %q and 1", b, runs, whole.Text)
				}
				if err := r.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
