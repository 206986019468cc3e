package lines_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/eval/lines"
)

type line struct {
	Number int
	Text   string
	Long   bool
}

func read(t *testing.T, in io.Reader, longest int) (all []line, err error) {
	t.Helper()
	for l, err := range lines.Read(in, longest) {
		if err != nil {
			return all, err
		}
		all = append(all, line{l.Number, string(l.Text), l.Long})
	}
	return all, nil
}

func TestRead(t *testing.T) {
	const longest = 5000 // longer than one read
	long := strings.Repeat("x", longest)
	for _, tc := range []struct {
		name, in string
		want     []line
	}{
		{"nothing", "", nil},
		{"blank lines", "\n \t\n\r\n", nil},
		{"no end", "a", []line{{1, "a", false}}},
		{"spaces, and the ends of lines of any system", "\ufeff a \r\n\nb\n", []line{{1, "a", false}, {3, "b", false}}},
		{"as long as may be", long[1:] + "\n" + long, []line{{1, long[1:], false}, {2, long, false}}},
		{"too long", "a\n" + long + "x\nb\n" + long + long + long, []line{{1, "a", false}, {2, "", true}, {3, "b", false}, {4, "", true}}},
	} {
		for how, in := range map[string]io.Reader{"at once": strings.NewReader(tc.in), "bytewise": iotest.OneByteReader(strings.NewReader(tc.in))} {
			got, err := read(t, in, longest)
			if d := cmp.Diff(tc.want, got); d != "" || err != nil {
				t.Errorf("%s, %s: %v %s", tc.name, how, err, d)
			}
		}
	}
}

func TestReadFails(t *testing.T) {
	broken := errors.New("broken")
	got, err := read(t, io.MultiReader(strings.NewReader("a\nb"), iotest.ErrReader(broken)), 100)
	if d := cmp.Diff([]line{{1, "a", false}}, got); d != "" || !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "cannot read from line 2 on: ") {
		t.Error(err, d)
	}
}

func TestReadStops(t *testing.T) {
	for l := range lines.Read(strings.NewReader("a\nb\n"), 100) {
		if l.Number > 1 {
			t.Error("it went on")
		}
		break
	}
}

func TestObject(t *testing.T) {
	for _, tc := range []struct{ in, wrong string }{
		{`{"a":1,"b":{}}`, ""},
		{`{}`, ""},
		{`null`, "not a JSON object"},
		{`[]`, "not a JSON object"},
		{`7`, "not a JSON object"},
		{`{"a":`, "not a JSON object"},
		{`{} {}`, "not a JSON object"},
		{strings.Repeat("[", 1e6), "not a JSON object"},
		{"{\"a\":\"\xff\"}", "not UTF-8"},
	} {
		got, err := lines.Object([]byte(tc.in))
		if wrong := err != nil; wrong != (tc.wrong != "") || wrong && err.Error() != tc.wrong || !wrong && got == nil {
			t.Errorf("%.40s: %v", tc.in, err)
		}
	}
}

// Walk follows a link to the root folder, but no links in it.
func TestWalk(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "folder")
	for _, name := range []string{"a", "sub/b", ".git/c", ".d"} {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	roots := map[string][]string{folder: {"a", "sub/b"}, filepath.Join(folder, "a"): {"a"}}
	link := filepath.Join(dir, "link")
	if err := os.Symlink("folder", link); err == nil {
		roots[link] = roots[folder]
	}
	for root, want := range roots {
		var got, hidden []string
		err := lines.Walk(root, func(name string) { hidden = append(hidden, name) }, func(path, name string) error {
			if _, err := os.ReadFile(path); err != nil {
				t.Error(err)
			}
			got = append(got, name)
			return nil
		})
		if d := cmp.Diff(want, got); d != "" || err != nil || len(want) > 1 && !slices.Equal(hidden, []string{".d", ".git"}) {
			t.Errorf("%s: %v %v %s", root, err, hidden, d)
		}
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte("text")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"plain.gz": []byte("text"), "packed": packed.Bytes()} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := lines.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		if err := errors.Join(err, in.Close()); err != nil || string(got) != "text" {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
	damaged := filepath.Join(dir, "damaged")
	if err := os.WriteFile(damaged, packed.Bytes()[:5], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := lines.Open(damaged); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if _, err := lines.Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
