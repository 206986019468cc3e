package inbox_test

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
)

// An upload that kills the process starts three times. Attempts that return, or end
// with the process, do not count.
func TestDiesOfUpload(t *testing.T) { synctest.Test(t, diesOfUpload) }

func diesOfUpload(t *testing.T) {
	dir, s := folder(t), newBank("mail")
	in := open(t, dir, options(t, s))
	u := accept(t, in, "mail", "", notes(0, 2)...)
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	attempt := func() (left string) {
		left = folder(t)
		at := make(chan struct{})
		killed := sync.OnceFunc(func() {
			copyFolder(t, dir, left) // as it would be killed now
			close(at)
		})
		s.begin = func(string) error {
			killed()
			return fault.New(fault.Unavailable, "bank", "it is full")
		}
		in := open(t, dir, options(t, s))
		stop := run(t, in)
		<-at
		stop()
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		return left
	}
	for range 4 {
		attempt()
	}
	for range 3 {
		dir = attempt()
	}
	in = open(t, dir, options(t, s))
	run(t, in)
	if got := wait(t, in, u.ID); got.State != inbox.Failed || !strings.Contains(got.Error, "does not try again") || len(s.adds) != 7 {
		t.Errorf("%+v after %d attempts", got, len(s.adds))
	}
	if d := cmp.Diff([]string{".record"}, entries(t, dir)); d != "" {
		t.Error(d)
	}
}

// An upload that gets further at each attempt continues, however often the process
// dies.
func TestDiesFurtherOn(t *testing.T) {
	dir, s := folder(t), newBank("mail")
	in := open(t, dir, options(t, s))
	u := accept(t, in, "mail", "", notes(0, 20)...)
	for _, key := range []string{"n04.txt", "n07.txt", "n10.txt", "n13.txt", "n16.txt"} {
		left, stored := folder(t), s
		s.before = func(k string) {
			if strings.HasSuffix(k, key) {
				copyFolder(t, dir, left)
				stored = s.copy()
			}
		}
		stop := run(t, in)
		wait(t, in, u.ID)
		stop()
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		dir, s = left, stored
		in = open(t, dir, options(t, s))
	}
	run(t, in)
	if got := wait(t, in, u.ID); got.State != inbox.Done || got.Report.Unchanged != 15 {
		t.Errorf("%+v", got)
	}
}

// Documents that replace each other are no progress.
func TestDiesOfReplacements(t *testing.T) {
	dir, s := folder(t), newBank("mail")
	in := open(t, dir, options(t, s))
	u := accept(t, in, "mail", "", sent{"a.txt", "One."}, sent{"a.txt", "Two."}, sent{"a.txt", "Three."}, sent{"b.txt", "Four."})
	for range 8 {
		left, stored := folder(t), s
		s.before = func(k string) {
			if strings.HasSuffix(k, "b.txt") {
				copyFolder(t, dir, left)
				stored = s.copy()
			}
		}
		stop := run(t, in)
		got := wait(t, in, u.ID)
		stop()
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		if got.State == inbox.Failed {
			return
		}
		dir, s = left, stored
		in = open(t, dir, options(t, s))
	}
	t.Error("it is begun again and again")
}
