package inbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/percached/percached/internal/inbox"
)

// unreadable is an upload of two notes with a folder in the place of its spool file,
// which can be opened and not read. The spool file is beside it.
func unreadable(t *testing.T, dir string, s *bank) (u inbox.Upload, spool string) {
	t.Helper()
	in := open(t, dir, options(t, s))
	u = accept(t, in, "mail", "", notes(0, 2)...)
	spool = filepath.Join(dir, u.ID+".spool")
	if err := errors.Join(in.Close(), os.Rename(spool, spool+".kept"), os.Mkdir(spool, 0o700)); err != nil {
		t.Fatal(err)
	}
	return u, spool
}

// An upload waits while the disk does not return its file.
func TestSpoolThatCannotBeRead(t *testing.T) {
	dir := folder(t)
	synctest.Test(t, func(t *testing.T) {
		s := newBank("mail")
		u, spool := unreadable(t, dir, s)
		o, failed := options(t, s), 0
		o.Observer.Moved = func(u inbox.Upload) {
			if u.State != inbox.Queued {
				return
			}
			if failed++; failed == 12 {
				if err := errors.Join(os.Remove(spool), os.Rename(spool+".kept", spool)); err != nil {
					t.Error(err)
				}
			}
		}
		in := open(t, dir, o)
		run(t, in)
		if got := wait(t, in, u.ID); got.State != inbox.Done || got.Report.Added != 2 || failed != 12 {
			t.Errorf("%+v after %d attempts", got, failed)
		}
	})
}

// After a day of that the upload fails, so that later ones can run.
func TestSpoolThatIsNeverRead(t *testing.T) {
	dir := folder(t)
	synctest.Test(t, func(t *testing.T) {
		s := newBank("mail")
		u, _ := unreadable(t, dir, s)
		in := open(t, dir, options(t, s))
		later := accept(t, in, "mail", "", notes(2, 3)...)
		began := time.Now()
		run(t, in)
		got := wait(t, in, u.ID)
		if d := time.Since(began); got.State != inbox.Failed || d < 23*time.Hour || d > 26*time.Hour {
			t.Errorf("%+v after %v", got, d)
		}
		if got := wait(t, in, later.ID); got.State != inbox.Done || got.Report.Added != 1 {
			t.Errorf("%+v", got)
		}
	})
}
