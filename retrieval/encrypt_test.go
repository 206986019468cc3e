package retrieval

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An encrypted index finds what a plain one finds, also merged and opened again, and its files contain
// neither names of chunks nor words. (Words are in an automaton, of which a plain file may have no literal
// copy either. Names of chunks are in plain files.)
func TestEncrypted(t *testing.T) {
	find := func(key []byte) (found [][]Hit, holds int) {
		b := newBench(t, func(o *Options) { o.Key = key })
		all := numbered(0, 300)
		for i := 0; i < len(all); i += 30 {
			b.feed.add("s", all[i:i+30]...)
			b.feed.add("s", chunk(fmt.Sprintf("### Secret %d", i), canary+" is a word of the text."))
			b.update()
		}
		b.feed.remove("s", all[5].ID, all[250].ID)
		b.update()
		ask := func() {
			for _, q := range []string{"Where is the item7?", "item250", "on which shelf are the others", canary} {
				found = append(found, b.ask(q, 8))
			}
		}
		ask()
		for range 3 { // bleve writes the list of files again when it opens them
			b.reopen()
			sp, err := b.openToRead("s")
			if err != nil {
				t.Fatal(err)
			}
			if _, _, behind := sp.state(); behind {
				t.Error("the index was not opened as it was closed")
			}
			sp.filesInUse.RUnlock()
			ask()
		}
		if err := b.Rebuild(t.Context(), "s", nil); err != nil {
			t.Fatal(err)
		}
		ask()
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		marks := [][]byte{[]byte(canary), []byte(fieldBody), []byte(fieldHead)}
		for _, c := range all {
			marks = append(marks, c.ID[:])
		}
		if err := filepath.WalkDir(b.o.Dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			for _, mark := range marks {
				if bytes.Contains(text, mark) {
					holds++
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return found, holds
	}
	plain, holds := find(nil)
	if holds < 100 {
		t.Fatal("the test looks in the wrong place")
	}
	encrypted, holds := find(bytes.Repeat([]byte{9}, 32))
	if holds > 0 {
		t.Errorf("files of the encrypted index contain %d words and names", holds)
	}
	if d := cmp.Diff(plain, encrypted); d != "" {
		t.Error(d)
	}
}

// An index of another key is not opened: the index is built again.
func TestEncryptedWithAnotherKey(t *testing.T) {
	b := newBench(t, func(o *Options) { o.Key = bytes.Repeat([]byte{1}, 32) })
	all := numbered(0, 40)
	b.feed.add("s", all...)
	b.update()
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, key := range [][]byte{bytes.Repeat([]byte{2}, 32), nil} {
		b.o.Key = key
		b.open()
		b.ask("item3", 1)
		b.whole("with another key", all)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever is read as a part of an encrypted file, reading ends with an error.
func FuzzPart(f *testing.F) {
	keys := &folderKeys{by: map[string][]byte{"/dir": bytes.Repeat([]byte{1}, 32)}}
	path := []byte("/dir/space/file")
	id, encrypt, err := keys.writer(path)
	if err != nil {
		f.Fatal(err)
	}
	part := encrypt([]byte("some terms"))
	f.Add(id, part)
	f.Add("1:zz", []byte{})
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		decrypt, err := keys.reader(name, path)
		if err != nil || decrypt == nil {
			return
		}
		if text, err := decrypt(b); err == nil && !(name == id && bytes.Equal(b, part) && string(text) == "some terms") {
			t.Errorf("%q was decrypted to %q", b, text)
		}
	})
}
