package idle_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
)

// tidy fails if bytes of what was forgotten are still on the disk.
func (b *bench) tidy() {
	b.Helper()
	if untidy, err := b.Library.NeedsCleanUp(); untidy || err != nil {
		b.Error("bytes of what was forgotten are still there", err)
	}
}

// The bytes of a space that went go with idle work of another, although nothing
// happened there.
func TestCleanAfterASpace(t *testing.T) {
	const other = "other"
	b := newBench(t, nil)
	b.letter("Heron")
	b.ok(b.Knowledge.CreateSpace(percached.Space{Name: other, Kind: "notes"}))
	b.scheduler.Changed(other)
	b.rest()
	if r, err := b.Library.DeleteSpace(context.Background(), space); r.CleanedUp || err != nil {
		t.Errorf("%+v, %v", r, err)
	}
	if got := kinds(b.rest()); got["clean done"] != 1 {
		t.Errorf("jobs: %v", got)
	}
	b.tidy()
}

// What a deletion that failed has left to do is found.
func TestCleanAfterAFailure(t *testing.T) {
	b := newBench(t, nil)
	b.letter("Heron")
	b.ask(budget)
	b.rest()
	b.Library.History = fullHistory{b.History}
	if _, err := b.Library.Delete(context.Background(), space, b.document("Heron")); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	b.Library.History = b.History
	if got := kinds(b.rest()); got["clean done"] != 1 {
		t.Errorf("jobs: %v", got)
	}
	if d := cmp.Diff(map[string]int{}, b.holds()); d != "" {
		t.Errorf("left: %s", d)
	}
	b.tidy()
}

// fullHistory cannot say what is in it.
type fullHistory struct{ *answer.History }

func (fullHistory) Cited(string) ([]percached.ChunkID, error) {
	return nil, fault.New(fault.Unavailable, "history", "the disk is full")
}

// A backup that takes long is waited for, however often: cleaning is not parked, and
// is done when the backup has ended.
func TestCleanAfterABackup(t *testing.T) {
	b := newBench(t, nil)
	b.letter("Heron")
	b.rest()
	s, err := b.meta.Snapshot()
	b.ok(err)
	b.forget("Heron")
	for range 8 { // more often than what fails is tried
		b.sleep(7 * time.Hour)
		if got := kinds(b.work()); got["clean nothing"] != 1 || len(got) != 1 {
			t.Fatalf("jobs: %v", got)
		}
	}
	s.Close()
	if got := kinds(b.rest()); got["clean done"] != 1 {
		t.Errorf("jobs: %v", got)
	}
	b.tidy()
}
