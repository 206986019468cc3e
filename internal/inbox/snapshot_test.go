package inbox_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
)

// Another inbox can run the uploads of a snapshot, without the withheld documents,
// although they were cancelled here meanwhile.
func TestSnapshot(t *testing.T) {
	s := newBank("mail")
	in := open(t, folder(t), options(t, s))
	defer in.Close()
	ended := accept(t, in, "mail", "", notes(0, 2)...)
	stop := run(t, in)
	wait(t, in, ended.ID)
	stop()
	waits := accept(t, in, "mail", "", notes(2, 5)...)
	if err := in.Withhold(context.Background(), "mail", percached.NewDocumentID("file:n03.txt")); err != nil {
		t.Fatal(err)
	}
	looked := false
	files, err := in.Snapshot(func() error {
		looked = true
		return nil
	})
	if err != nil || !looked {
		t.Fatal(looked, err)
	}
	if err := in.Cancel("mail", waits.ID); err != nil {
		t.Fatal(err)
	}
	dir := folder(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := io.ReadAll(f)
		if err != nil || int64(len(b)) != f.Size {
			t.Errorf("%s: %d of %d bytes, %v", f.Name, len(b), f.Size, err)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inbox.CloseAll(files)

	other := newBank("mail")
	again := open(t, dir, options(t, other))
	defer again.Close()
	run(t, again)
	wait(t, again, waits.ID)
	want := documentsOf(append(notes(2, 3), notes(4, 5)...))
	if d := cmp.Diff(want, other.texts("mail")); d != "" {
		t.Error(d)
	}
	if _, err := again.Get("mail", ended.ID); err == nil {
		t.Error("what had ended is there")
	}
}

// An error of at fails the snapshot.
func TestSnapshotFails(t *testing.T) {
	in := open(t, folder(t), options(t, newBank("mail")))
	defer in.Close()
	accept(t, in, "mail", "", notes(0, 2)...)
	mine := errors.New("mine")
	if files, err := in.Snapshot(func() error { return mine }); !errors.Is(err, mine) || files != nil {
		t.Errorf("%v, %v", files, err)
	}
}

// A snapshot leaves out an upload whose spool file is gone. It fails if a file cannot
// be opened, as that upload was acknowledged.
func TestSnapshotOfAnUploadThatCannotBeRead(t *testing.T) {
	dir := folder(t)
	in := open(t, dir, options(t, newBank("mail")))
	defer in.Close()
	first, second := accept(t, in, "mail", "", notes(0, 1)...), accept(t, in, "mail", "", notes(1, 2)...)
	spool := filepath.Join(dir, first.ID+".spool")
	if err := os.Remove(spool); err != nil {
		t.Fatal(err)
	}
	files, err := in.Snapshot(func() error { return nil })
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	inbox.CloseAll(files)
	if d := cmp.Diff([]string{second.ID + ".upload", second.ID + ".spool"}, names); d != "" || err != nil {
		t.Error(err, d)
	}
	if err := os.Symlink(spool, spool); err != nil { // it leads to itself
		t.Skip(err)
	}
	if files, err := in.Snapshot(func() error { return nil }); kind(err) != fault.Unavailable || files != nil {
		t.Errorf("%v, %v", files, err)
	}
}
