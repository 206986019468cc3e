package inbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
)

// formerFolder is a copy of a folder that an earlier version wrote: an upload that
// ended, one that waits and whose note 1 was forgotten, and one with a later edition
// of that note.
func formerFolder(t *testing.T) string {
	t.Helper()
	dir := folder(t)
	copyFolder(t, "testdata/former", dir)
	return dir
}

// formerOptions keep listing what ended years ago.
func formerOptions(t *testing.T, b *bank) inbox.Options {
	t.Helper()
	o := options(t, b)
	o.Keep = 100 * 365 * 24 * hour
	return o
}

// Open takes over uploads of an earlier version once, also if the process is killed in
// between: they are listed, known by their keys, and run.
func TestFormerFolder(t *testing.T) {
	dir := formerFolder(t)
	c := &camera{T: t, dir: dir, bank: newBank("mail"), synced: map[string]int64{}}
	c.taken = sync.NewCond(&c.mu)
	for _, d := range mustReadDir(t, dir) {
		info, err := d.Info()
		if err != nil {
			t.Fatal(err)
		}
		c.synced[d.Name()] = info.Size()
	}
	if err := openOn(t, dir, formerOptions(t, c.bank), c.step).Close(); err != nil {
		t.Fatal(err)
	}
	c.take("the end")
	if len(c.shots) < 10 {
		t.Errorf("%d pictures only", len(c.shots))
	}
	for _, s := range c.shots {
		if in, err := inbox.OpenOn(s.dir, formerOptions(t, s.bank), nil); err != nil {
			t.Errorf("killed before %s: %v", s.what, err)
		} else {
			runFormer(t, s.dir, in, s.bank)
		}
	}
}

func runFormer(t *testing.T, dir string, in *inbox.Inbox, b *bank) {
	t.Helper()
	if d := cmp.Diff([]string{".record", ".record", ".record", ".spool", ".spool", "Uw.record"}, entries(t, dir)); d != "" {
		t.Error(d)
	}
	if !in.Withholds("mail", percached.NewDocumentID("file:n01.txt")) {
		t.Error("the forgotten note is not withheld")
	}
	list := in.List("mail", 10)
	if len(list) != 3 || list[2].State != inbox.Done || len(list[2].Report.Failures) != 1 || list[2].Key != "ended" {
		t.Fatalf("%+v", list)
	}
	if again := accept(t, in, "mail", "waits", notes(0, 3)...); again.ID != list[1].ID {
		t.Error("its key is not known")
	}
	run(t, in)
	for _, u := range list {
		if got := wait(t, in, u.ID); got.State != inbox.Done {
			t.Errorf("%+v", got)
		}
	}
	want := documentsOf(notes(0, 3))
	want["file:n01.txt"] = "A later edition."
	if d := cmp.Diff(want, b.texts("mail")); d != "" {
		t.Error(d)
	}
}

// A record in the database replaces the same record of an earlier version, as in a
// folder that was restored.
func TestFormerIsOlder(t *testing.T) {
	dir, b := formerFolder(t), newBank("mail")
	in := open(t, dir, formerOptions(t, b))
	stop := run(t, in)
	for _, u := range in.List("mail", 10) {
		wait(t, in, u.ID)
	}
	stop()
	if err := errors.Join(in.Close(), os.CopyFS(dir, os.DirFS("testdata/former"))); err != nil {
		t.Fatal(err)
	}
	in = open(t, dir, formerOptions(t, b))
	for _, u := range in.List("mail", 10) {
		if u.State != inbox.Done {
			t.Errorf("%+v", u)
		}
	}
	if in.Waiting() > 0 || len(entries(t, dir)) != 3 {
		t.Error(in.Waiting(), entries(t, dir))
	}
}

// Open refuses a folder of a newer version and does not change it. It logs damaged
// records and deletes them.
func TestFormerOdd(t *testing.T) {
	dir, log := formerFolder(t), &journal{}
	newer := filepath.Join(dir, strings.Repeat("0", 32)+".upload")
	if err := errors.Join(
		os.WriteFile(newer, inbox.Former(3, `{"whatever": "it has"}`), 0o600),
		os.WriteFile(filepath.Join(dir, "withheld"), []byte("oh"), 0o600),
		os.Mkdir(filepath.Join(dir, "damaged"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	before := entries(t, dir)
	o := formerOptions(t, newBank("mail"))
	o.Logger = log.logger()
	if _, err := inbox.OpenOn(dir, o, nil); kind(err) != fault.Unsupported || !strings.Contains(err.Error(), newer) {
		t.Error(err)
	}
	if d := cmp.Diff(before, entries(t, dir)); d != "" {
		t.Error(d)
	}
	if err := os.WriteFile(newer, inbox.Former(2, `{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	in := open(t, dir, o)
	if n := strings.Count(log.String(), "level=ERROR"); n != 2 || in.Waiting() != 2 {
		t.Error(log, in.Waiting())
	}
	if d := cmp.Diff([]string{".record", ".record", ".record", ".spool", ".spool"}, entries(t, dir)); d != "" {
		t.Error(d)
	}
}

// A damaged record of a restored backup does not keep an encrypted folder from opening.
func TestFormerDamagedEncrypted(t *testing.T) {
	dir, log := t.TempDir(), &journal{}
	if err := os.WriteFile(filepath.Join(dir, strings.Repeat("0", 32)+".upload"), inbox.Former(2, `{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	o := formerOptions(t, newBank("mail"))
	o.Logger = log.logger()
	var err error
	if o.Key, err = keyIn(filepath.Join(t.TempDir(), encryptedEnd)); err != nil {
		t.Fatal(err)
	}
	open(t, dir, o)
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || len(entries(t, dir)) != 0 {
		t.Error(log, entries(t, dir))
	}
}

// Former uploads are kept by the real database, also over a restart.
func TestFormerRealDatabase(t *testing.T) {
	dir := t.TempDir()
	copyFolder(t, "testdata/former", filepath.Join(dir, "inbox"))
	for range 2 {
		w, err := openWorld(dir, func(o *inbox.Options) { o.Keep = 100 * 365 * 24 * hour })
		if err != nil {
			t.Fatal(err)
		}
		if list := w.Inbox.List("mail", 10); len(list) != 3 || w.Inbox.Waiting() != 2 {
			t.Errorf("%+v", list)
		}
		if err := w.close(); err != nil {
			t.Fatal(err)
		}
	}
	w := mustOpenWorld(t, dir, nil)
	list := w.Inbox.List("mail", 10)
	run(t, w.Inbox)
	for _, u := range list {
		wait(t, w.Inbox, u.ID)
	}
	if got := w.documents(t, "mail"); got["file:n00.txt"] == "" || got["file:n01.txt"] != "A later edition." {
		t.Error(got)
	}
}
