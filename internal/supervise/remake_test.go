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
			if err := r.Remake(t.Context()); err != nil {
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
		go func() { remade <- r.Remake(t.Context()) }()
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
