package reader

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/knowledgebank"
)

// A file sent under a name is a mail if the name is one of a Maildir.
func TestStreamOfMaildir(t *testing.T) {
	r := newReader(t, Default())
	m1 := fmt.Sprintf(letter, "m1")
	for _, tt := range []struct{ name, text, key string }{
		{"box/cur/1700000000.M1P2.host:2,S", m1, "mail:<m1@example.com>"},
		{"box/cur/1700000000.M1P2.host:2,S", "no header at all\n", "mail:sha256-"},
		{"/box/new/1700000000.M1P2.host", "no header at all\n", "mail:sha256-"},
		{`C:\box\cur\1700000000.M1P2.host!2,`, "no header at all\n", "mail:sha256-"},
		{"cur/17", "Subject: Swans\n\nThey are back.\n", "mail:sha256-"},
		{"17", "Subject: Swans\n\nThey are back.\n", "file:17"},
		{"1700000000.M1P2.host:2,S", "no header at all\n", "file:1700000000.M1P2.host:2,S"},
		{"box/cur/more/1700000000.M1P2.host:2,S", "no header at all\n", "file:box/cur/more/1700000000.M1P2.host:2,S"},
		// Other folders may have such names, too.
		{"plans/new/README", "These are plans.\n", "file:plans/new/README"},
		{"plans/new/pond.md", "# Pond\n\nSubject: swans\n", "file:plans/new/pond.md"},
		{"plans/new/2025.05.pond.txt", "Subject: swans\n\nThey are back.\n", "file:plans/new/2025.05.pond.txt"},
	} {
		line, _, _ := strings.Cut(story(t, r, tt.name, []byte(tt.text)), "\n")
		if key := strings.TrimPrefix(line, "key: "); key != tt.key && !(tt.key == "mail:sha256-" && strings.HasPrefix(key, tt.key)) {
			t.Errorf("%s: %s, want %s", tt.name, line, tt.key)
		}
	}
}

// A file has the same key whether its path is read or its content is sent under its
// path. Files of two folders are two documents.
func TestStreamAsPath(t *testing.T) {
	names := []string{"a/notes.md", "b/notes.md", "box/cur/1700000000.M1.host:2,S", "box/new/1700000001.M2.host", "words.txt"}
	files := map[string]string{"box/tmp/1": ""}
	for i, name := range names {
		files[name] = fmt.Sprintf("Text %d.\n", i)
	}
	dir := lay(t, files)
	r := newReader(t, Default())
	want, failed := gather(t, r, dir, dir)
	if len(want) != len(names) || len(failed) > 0 {
		t.Fatal(want, failed)
	}
	var got []string
	for _, name := range names {
		path := filepath.Join(dir, filepath.FromSlash(name))
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(story(t, r, path, text), "\n")
		got = append(got, strings.ReplaceAll(strings.TrimPrefix(line, "key: "), filepath.ToSlash(dir), "DIR"))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-path +stream):\n%s", d)
	}
}

// Each sent document names the file that it was sent in. The name is not a path, and
// the title does not depend on it.
func TestStreamTellsTheFile(t *testing.T) {
	const mail = "From a@example.com Tue Feb  4 09:15:00 2025\nFrom: a@example.com\nDate: Tue, 4 Feb 2025 09:15:00 +0100\n\nThe pond is deep.\n\n"
	r := newReader(t, Default())
	for name, text := range map[string]string{
		"in/box.mbox": mail + strings.ReplaceAll(mail, "deep", "wide"), "a/notes.md": "The pond is deep.\n", "lines.jsonl": `{"text":"The pond is deep."}` + "\n",
		"box/cur/1700000000.M1.host:2,S": "From: a@example.com\n\nThe pond is deep.\n",
	} {
		n := 0
		err := r.Stream(t.Context(), name, strings.NewReader(text), func(s *knowledgebank.Source) error {
			if n++; s.File != name || s.Path != "" {
				t.Errorf("%s: file %q, path %q", name, s.File, s.Path)
			}
			return nil
		}, func(name string, err error) { t.Errorf("%s: %v", name, err) })
		if want := 1 + strings.Count(name, ".mbox"); err != nil || n != want {
			t.Errorf("%s: %d documents, %v", name, n, err)
		}
	}
}
