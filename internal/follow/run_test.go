package follow

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
)

const all = "a.md deep/b.txt four one three two"

// After a Run the space holds what the folder holds, and only what changed was sent.
func TestInStep(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(w *world)
		holds   string
		sent    []string
		blocked []string
		changes []string
	}{
		{name: "nothing", change: func(*world) {}, holds: all},
		{
			name: "a new file", change: func(w *world) { w.write("new/c.md", "Swans fly.") },
			holds: "a.md deep/b.txt four new/c.md one three two", sent: []string{"c.md"}, changes: []string{"added new/c.md"},
		},
		{
			name: "another text", change: func(w *world) { w.write("a.md", "Ducks fly and swim.") },
			holds: all, sent: []string{"a.md"}, changes: []string{"changed a.md"},
		},
		{
			name: "another text of the same size and time", change: func(w *world) {
				w.write("a.md", "Ducks walk.")
				later := time.Now().Add(-time.Minute)
				w.ok(os.Chtimes(w.path("a.md"), later, later))
			},
			holds: all, sent: []string{"a.md"}, changes: []string{"changed a.md"},
		},
		{name: "touched", change: func(w *world) {
			later := time.Now().Add(-time.Minute)
			w.ok(os.Chtimes(w.path("a.md"), later, later))
		}, holds: all},
		{
			name: "removed", change: func(w *world) { w.ok(os.RemoveAll(w.path("deep"))) },
			holds: "a.md four one three two", changes: []string{"removed deep/b.txt 1"},
		},
		{
			name: "a mail is read", change: func(w *world) {
				w.ok(os.Rename(w.path("Mail/new/1700000001.M1.host"), w.path("Mail/cur/1700000001.M1.host:2,S")))
			},
			holds: all, sent: []string{"1700000001.M1.host:2,S"}, changes: []string{"moved Mail/cur/1700000001.M1.host:2,S"},
		},
		{
			name: "a mail leaves its mailbox", change: func(w *world) { w.write("box.mbox", boxed("two")) },
			holds: "a.md deep/b.txt four three two", sent: []string{"box.mbox"}, changes: []string{"changed box.mbox 1"},
		},
		{
			name: "a mail moves to another mailbox", change: func(w *world) {
				w.write("box.mbox", boxed("two"))
				w.write("old.mbox", boxed("one"))
			},
			holds: all, sent: []string{"box.mbox", "old.mbox"}, changes: []string{"moved old.mbox", "changed box.mbox"},
		},
		{
			name: "a mail arrives", change: func(w *world) { w.write("box.mbox", boxed("one")+boxed("two")+boxed("six")) },
			holds: "a.md deep/b.txt four one six three two", sent: []string{"box.mbox from 282"}, changes: []string{"changed box.mbox"},
		},
		{
			name: "a mailbox is emptied", change: func(w *world) { w.write("box.mbox", "") },
			holds: "a.md deep/b.txt four three", changes: []string{"changed box.mbox 2"},
		},
		{
			name: "a note is emptied but for a line end", change: func(w *world) { w.write("a.md", "\n") },
			holds: "deep/b.txt four one three two", changes: []string{"changed a.md 1"},
		},
		{
			name: "a mail is also elsewhere", change: func(w *world) {
				w.write("copy.eml", mail("three"))
				w.must()
				w.ok(os.Remove(w.path("Mail/new/1700000001.M1.host")))
			},
			holds: all,
		},
		{
			name: "a text goes on like a mailbox", change: func(w *world) {
				w.write("a.md", "Ducks swim.\n\n")
				w.must()
				w.write("a.md", "Ducks swim.\n\n"+boxed("six"))
			},
			holds: all, sent: []string{"a.md"}, changes: []string{"changed a.md"},
		},
		{
			name: "the folder is empty", change: func(w *world) { w.ok(errors.Join(os.RemoveAll(w.dir), os.Mkdir(w.dir, 0o755))) },
			holds: all, blocked: []string{""},
		},
		{
			name: "the folder is empty, and its state lost", change: func(w *world) {
				w.ok(errors.Join(os.RemoveAll(w.dir), os.Mkdir(w.dir, 0o755), os.RemoveAll(filepath.Join(w.data, "sync"))))
			},
			holds: all, blocked: []string{""},
		},
		{name: "the folder should be empty", change: func(w *world) {
			w.ok(errors.Join(os.RemoveAll(w.dir), os.Mkdir(w.dir, 0o755)))
			w.empty = true
		}, changes: []string{
			"removed Mail/cur/1700000002.M2.host:2,S 1", "removed Mail/new/1700000001.M1.host 1", "removed a.md 1", "removed box.mbox 2", "removed deep/b.txt 1",
		}},
		{
			name: "the folder is missing", change: func(w *world) { w.ok(os.RemoveAll(w.dir)) },
			holds: all, blocked: []string{""},
		},
		{
			name: "one of two folders is missing", change: func(w *world) {
				w.roots = []string{w.path("deep"), w.path("Mail")}
				w.ok(errors.Join(os.RemoveAll(w.path("deep")), os.Remove(w.path("Mail/cur/1700000002.M2.host:2,S"))))
			},
			holds: "a.md deep/b.txt one three two", blocked: []string{"deep"}, changes: []string{"removed Mail/cur/1700000002.M2.host:2,S 1"},
		},
		{
			name: "another folder", change: func(w *world) {
				w.roots = []string{w.path("Mail")}
				w.ok(os.Remove(w.path("a.md")))
			},
			holds: all,
		},
		{
			name: "one mailbox", change: func(w *world) {
				w.roots = []string{w.path("box.mbox")}
				w.write("box.mbox", boxed("two"))
			},
			holds: "a.md deep/b.txt four three two", sent: []string{"box.mbox"}, changes: []string{"changed box.mbox 1"},
		},
		{name: "a document is forgotten", change: func(w *world) {
			delete(w.paths, "mail:<one@example.com>")
			w.unwanted["mail:<one@example.com>"] = true
			w.must() // sends it once
		}, holds: "a.md deep/b.txt four three two"},
		{
			name: "a document is deleted", change: func(w *world) { delete(w.paths, "mail:<one@example.com>") },
			holds: all, sent: []string{"box.mbox"}, changes: []string{"changed box.mbox"},
		},
		{name: "a file is named that folders hide", change: func(w *world) {
			w.write(".hidden", "Owls hoot.")
			w.paths["file:"+w.path(".hidden")] = w.path(".hidden")
		}, holds: ".hidden " + all},
		{
			name: "a document of an earlier file", change: func(w *world) {
				w.paths["file:"+w.path("x.md")] = w.path("x.md")
				w.paths["mail:<old@example.com>"] = w.path("box.mbox")
				w.paths["mail:<elsewhere@example.com>"] = "/elsewhere/box.mbox"
			},
			holds: "a.md deep/b.txt elsewhere four one three two", changes: []string{"changed box.mbox 1", "removed x.md 1"},
		},
		{name: "its file system is not mounted", change: func(w *world) {
			s, err := OpenState(w.files(), "mail")
			w.ok(err)
			r := s.kept.Files[w.path("deep/b.txt")]
			r.Mounted = true
			s.set(w.path("deep/b.txt"), r)
			w.ok(errors.Join(s.Close(), os.RemoveAll(w.path("deep")), os.Mkdir(w.path("deep"), 0o755)))
		}, holds: all, blocked: []string{"deep/b.txt"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			if r := w.must(); w.holds() != all || len(r.Unread) != 1 {
				t.Fatalf("holds %q: %+v", w.holds(), r)
			}
			tc.change(w)
			r := w.must()
			if d := cmp.Diff(tc.holds, w.holds()); d != "" {
				t.Error("documents", d)
			}
			if d := cmp.Diff(tc.sent, w.sent); d != "" {
				t.Error("sent", d)
			}
			if d := cmp.Diff(tc.blocked, w.blocked(r)); d != "" {
				t.Error("blocked", d)
			}
			if d := cmp.Diff(tc.changes, w.changes); d != "" {
				t.Error("changes", d)
			}
			if w.must(); len(w.sent) > 0 || len(w.changes) > 0 || w.holds() != tc.holds {
				t.Errorf("the next run sends %v, changes %v and holds %s", w.sent, w.changes, w.holds())
			}
		})
	}
}

// A Run that is cut anywhere, with or without its last state, is put right by the next one.
func TestCut(t *testing.T) {
	for n := 1; ; n++ {
		w := newWorld(t)
		w.must()
		w.write("c.md", "Swans fly.")
		w.write("box.mbox", boxed("two")+boxed("six"))
		w.ok(os.Remove(w.path("a.md")))
		w.ok(os.Rename(w.path("Mail/new/1700000001.M1.host"), w.path("Mail/cur/1700000001.M1.host:2,S")))
		w.calls, w.failAt = 0, n
		_, err := w.run()
		if err == nil {
			if n < 5 {
				t.Errorf("only %d calls", n)
			}
			return
		}
		if !errors.Is(err, errCut) {
			t.Fatal(err)
		}
		w.failAt = 0
		w.must()
		if d := cmp.Diff("c.md deep/b.txt four six three two", w.holds()); d != "" {
			t.Errorf("cut at call %d: %s", n, d)
		}
	}
}

// A file that returns is added again.
func TestReturns(t *testing.T) {
	w := newWorld(t)
	w.full = false // as percached watch does after its first run
	w.must()
	aside := filepath.Join(t.TempDir(), "a.md")
	w.ok(os.Rename(w.path("a.md"), aside))
	if w.must(); strings.Contains(w.holds(), "a.md") {
		t.Error(w.holds())
	}
	w.ok(os.Rename(aside, w.path("a.md")))
	if w.must(); w.holds() != all {
		t.Error(w.holds())
	}
}

// What the user deleted from the space is sent once, and then only if the user wants it back.
func TestDeletedByUser(t *testing.T) {
	w := newWorld(t)
	w.must()
	key := "file:" + w.path("a.md")
	if delete(w.paths, key); w.holds() == all {
		t.Fatal("no document was deleted")
	}
	w.unwanted[key] = true
	for _, step := range []struct {
		name  string
		again bool
		sent  []string
		holds string
	}{
		{"it is left out", false, []string{"a.md"}, "deep/b.txt four one three two"},
		{"it is not sent again", false, nil, "deep/b.txt four one three two"},
		{"the user wants it back", true, []string{"a.md"}, all},
		{"it stays", false, nil, all},
	} {
		if step.again {
			clear(w.unwanted)
		}
		w.again = step.again
		w.must()
		if d := cmp.Diff(step.sent, w.sent) + cmp.Diff(step.holds, w.holds()); d != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, d)
		}
	}
}

// A mailbox that is being written loses no mail before it has been left alone.
func TestMailboxIsWritten(t *testing.T) {
	w := newWorld(t)
	w.must()
	w.write("box.mbox", boxed("two"))
	info, err := os.Stat(w.path("box.mbox"))
	w.ok(err)
	w.settle, w.now = time.Millisecond, info.ModTime
	if r := w.must(); w.holds() != all || len(w.sent) > 0 || len(r.Blocked) != 1 {
		t.Errorf("%s, sent %v, %+v", w.holds(), w.sent, r)
	}
	w.now = time.Now
	if w.must(); strings.Contains(w.holds(), "one") {
		t.Error(w.holds())
	}
}

// A file that changed a moment ago may change again within the same time stamp.
func TestChangesTwiceAtOnce(t *testing.T) {
	w := newWorld(t)
	info, err := os.Stat(w.path("a.md"))
	w.ok(err)
	w.settle, w.now = time.Hour, info.ModTime
	w.must()
	w.write("a.md", "Ducks walk.") // of the same size and time
	w.ok(os.Chtimes(w.path("a.md"), info.ModTime(), info.ModTime()))
	if w.must(); len(w.sent) != 1 {
		t.Errorf("sent %v", w.sent)
	}
}

// One process follows the folders of a space.
func TestStateIsLocked(t *testing.T) {
	files, err := home.OpenSyncFiles(t.TempDir(), encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := OpenState(files, "mail")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenState(files, "mail"); err == nil || !strings.Contains(err.Error(), `already keeps the space "mail" in step`) {
		t.Error(err)
	}
	b, err := OpenState(files, "notes")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
}

// A damaged state, or one of another version, costs time only.
func TestStateIsLost(t *testing.T) {
	for name, text := range map[string]string{"damaged": `{"space":"mail","files":`, "of another space": `{"space":"x","files":{}}`, "null": "null"} {
		w := newWorld(t)
		w.must()
		files, err := filepath.Glob(filepath.Join(w.data, "sync", "*.json"))
		if w.ok(err); len(files) != 1 {
			t.Fatal(files)
		}
		w.ok(os.WriteFile(files[0], []byte(text), 0o600))
		w.ok(os.Remove(w.path("a.md")))
		if w.must(); w.holds() != "deep/b.txt four one three two" {
			t.Errorf("%s: %s", name, w.holds())
		}
	}
}

// In an encrypted folder the state is kept, and no name of a file or space can be read.
func TestEncrypted(t *testing.T) {
	w := newWorld(t)
	w.data, w.key.File = filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "key")
	w.ok(os.WriteFile(w.key.File, []byte("the passphrase"), 0o600))
	w.ok(home.Encrypt(w.data, w.key, encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1}))
	w.full = false // so that only the state says what was sent
	if w.must(); w.holds() != all || len(w.sent) == 0 {
		t.Fatalf("holds %q, sent %v", w.holds(), w.sent)
	}
	if w.must(); len(w.sent) > 0 {
		t.Errorf("sent again: %v", w.sent)
	}
	w.ok(os.Remove(w.path("a.md")))
	if w.must(); strings.Contains(w.holds(), "a.md") {
		t.Error("a.md is left")
	}
	sum := sha256.Sum256([]byte("mail"))
	w.ok(filepath.WalkDir(w.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		for _, word := range []string{"box.mbox", "b.txt", w.dir, hex.EncodeToString(sum[:16])} {
			if strings.Contains(strings.TrimPrefix(path, w.data)+string(b), word) {
				t.Errorf("%s has %q", path, word)
			}
		}
		return err
	}))
	// A damaged state is a lost one.
	state := w.files().State("mail")
	b, err := os.ReadFile(state)
	w.ok(err)
	b[len(b)-1] ^= 1
	w.ok(os.WriteFile(state, b, 0o600))
	if w.must(); len(w.sent) == 0 {
		t.Error("a damaged state was read")
	}
}
