package reader

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// lay writes files below a new folder.
func lay(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// gather reads a path. It returns the keys of documents and the names of failures,
// relative to the folder.
func gather(t *testing.T, r *Reader, dir, path string) (keys, failed []string) {
	t.Helper()
	err := r.Path(context.Background(), path, func(s *knowledgebank.Source) error {
		fit(t, s)
		if !filepath.IsAbs(s.Path) || s.File != "" {
			t.Errorf("path %q, file %q", s.Path, s.File)
		}
		keys = append(keys, strings.ReplaceAll(s.Key, filepath.ToSlash(dir), "DIR"))
		return nil
	}, func(name string, err error) {
		failed = append(failed, fmt.Sprintf("%s: %v", strings.TrimPrefix(name, dir), fault.KindOf(err)))
	})
	if err != nil {
		t.Fatal(err)
	}
	return keys, failed
}

const letter = "From: ana@example.com\nSubject: x\nDate: Tue, 04 Feb 2025 09:15:00 +0100\nMessage-ID: <%s@example.com>\n\nHello.\n"

func TestPathFolder(t *testing.T) {
	dir := lay(t, map[string]string{
		"b/note.txt":                "A note.",
		"b/.hidden.txt":             "Not read.",
		".git/config.txt":           "Not read.",
		"own/schema":                "{\"version\": 1}",
		"own/lock":                  "1",
		"own/meta/000001.txt":       "What percached keeps is not read.",
		"a.md":                      "# A\n\ntext",
		"bad.bin":                   "\x00\x01\x02",
		"empty.txt":                 "",
		"box/cur/1700.M1.host:2,S":  fmt.Sprintf(letter, "m1"),
		"box/new/1700.M2.host":      fmt.Sprintf(letter, "m2"),
		"box/new/1700.M3.host":      "no header at all\n",
		"box/tmp/1700.M4.host":      fmt.Sprintf(letter, "unfinished"),
		"box/dovecot-uidlist":       "3 V1 N2",
		"box/.Sent/cur/1700.M5":     fmt.Sprintf(letter, "m5"),
		"box/.Sent/new/1700.M6":     fmt.Sprintf(letter, "m6"),
		"box/.other/1700.M7":        fmt.Sprintf(letter, "m7"),
		"tree/sent_items/4.":        fmt.Sprintf(letter, "t4"),
		"tree/.Trash/cur/x.eml":     fmt.Sprintf(letter, "hidden"),
		"z/2025-01-02-talk.vtt":     "WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ana>Hi there.\n",
		"z/deep/deeper/deepest.txt": "Deep down.",
	})
	if err := os.Symlink(filepath.Join(dir, "a.md"), filepath.Join(dir, "link.md")); err != nil {
		t.Skip("no links here:", err)
	}
	if err := os.Symlink(dir, filepath.Join(dir, "b", "loop")); err != nil {
		t.Fatal(err)
	}
	r := newReader(t, Default())
	keys, failed := gather(t, r, dir, dir)
	wantKeys := []string{
		"file:DIR/a.md", "file:DIR/b/note.txt",
		"mail:<m5@example.com>", "mail:<m6@example.com>", "mail:<m1@example.com>", "mail:<m2@example.com>", "mail:sha256-",
		"mail:<t4@example.com>", "file:DIR/z/2025-01-02-talk.vtt", "file:DIR/z/deep/deeper/deepest.txt",
	}
	for i, k := range keys {
		if strings.HasPrefix(k, "mail:sha256-") {
			keys[i] = "mail:sha256-"
		}
	}
	if diff := cmp.Diff(wantKeys, keys); diff != "" {
		t.Errorf("documents (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/bad.bin: unsupported", "/empty.txt: invalid"}, failed); diff != "" {
		t.Errorf("failed (-want +got):\n%s", diff)
	}
	files, size := 0, int64(0)
	err := Walk(dir, Visitor{
		File:   func(_ string, info fs.FileInfo) { files, size = files+1, size+info.Size() },
		Failed: func(path string, err error) { t.Errorf("%s: %v", path, err) },
	})
	if err != nil || files != 12 || size == 0 {
		t.Errorf("%d files of %d bytes, %v", files, size, err)
	}
}

func TestPathThatCannotBeOpened(t *testing.T) {
	r := newReader(t, Default())
	err := r.Path(context.Background(), filepath.Join(t.TempDir(), "nothing"), nil, nil)
	if fault.KindOf(err) != fault.NotFound || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Path: %v", err)
	}
	if err := Walk(filepath.Join(t.TempDir(), "nothing"), Visitor{}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("Walk: %v", err)
	}
	if runtime.GOOS == "linux" {
		if err := r.Path(context.Background(), "/dev/null", nil, nil); fault.KindOf(err) != fault.Unsupported {
			t.Errorf("a device: %v", err)
		}
	}
}

// Unreadable files in a folder are reported, and reading continues.
func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is forbidden to root")
	}
	dir := lay(t, map[string]string{"a.txt": "a", "b/c.txt": "c", "d.txt": "d"})
	if err := errors.Join(os.Chmod(filepath.Join(dir, "a.txt"), 0), os.Chmod(filepath.Join(dir, "b"), 0)); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(dir, "b"), 0o700)
	keys, failed := gather(t, newReader(t, Default()), dir, dir)
	if len(keys) != 1 || len(failed) != 2 {
		t.Errorf("read %v, failed %v", keys, failed)
	}
}

func TestStops(t *testing.T) {
	dir := lay(t, map[string]string{"a.txt": "a", "b.txt": "b", "c.mbox": strings.Repeat("From a Mon Feb  3 09:12:40 2025\n"+fmt.Sprintf(letter, "m")+"\n", 3)})
	r := newReader(t, Default())
	failed := func(name string, err error) { t.Errorf("%s: %v", name, err) }
	full := errors.New("no room")
	for at := 1; at <= 5; at++ {
		n := 0
		err := r.Path(context.Background(), dir, func(*knowledgebank.Source) error {
			if n++; n == at {
				return full
			}
			return nil
		}, failed)
		if !errors.Is(err, full) || n != at {
			t.Errorf("emit failed at %d: %d documents, %v", at, n, err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		n = 0
		err = r.Path(ctx, dir, func(*knowledgebank.Source) error {
			if n++; n == at {
				cancel()
			}
			return nil
		}, failed)
		if at < 5 && (!errors.Is(err, context.Canceled) || n != at) {
			t.Errorf("cancelled at %d: %d documents, %v", at, n, err)
		}
		cancel()
	}
}

// A mailbox far larger than the memory limit is read mail by mail. Mails that are too
// large are skipped.
func TestLargeMailbox(t *testing.T) {
	const mails, limit = 240, 1 << 20
	o := Default()
	o.MaxBytes = limit
	r := newReader(t, o)
	huge := strings.Repeat(strings.Repeat("x", 999)+"\n", 3*limit/1000)
	line := strings.Repeat("y", 3*limit)
	in, out := io.Pipe()
	go func() {
		z := gzip.NewWriter(out)
		for i := range mails {
			body := strings.Repeat(strings.Repeat("All is well. ", 20)+"\n", 350)
			switch i {
			case 100:
				body = huge
			case 200:
				body = line
			}
			if _, err := fmt.Fprintf(z, "From a Mon Feb  3 09:12:40 2025\n"+letter+"\n%s\n\n", fmt.Sprint(i), body); err != nil {
				break
			}
		}
		out.CloseWithError(z.Close())
	}()
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	n, peak := 0, uint64(0)
	var failed []string
	err := r.Stream(context.Background(), "box.gz", in, func(*knowledgebank.Source) error {
		if n++; n%40 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
		}
		return nil
	}, func(name string, _ error) { failed = append(failed, name) })
	if err != nil {
		t.Fatal(err)
	}
	if n != mails-2 || !slices.Equal(failed, []string{"box.gz: mail 101", "box.gz: mail 201"}) {
		t.Errorf("%d mails, failed %v", n, failed)
	}
	if peak > before.HeapAlloc+8*limit {
		t.Errorf("%d bytes are held", peak-before.HeapAlloc)
	}
}

func TestTooLarge(t *testing.T) {
	o := Default()
	o.MaxBytes = 1000
	r := newReader(t, o)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write(bytes.Repeat([]byte("a "), 1<<20))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	long := `{"text": "` + strings.Repeat("a ", 600) + `"}`
	for name, tt := range map[string]struct {
		data string
		want string
	}{
		"a.txt":   {strings.Repeat("a ", 501), "failed: a.txt (invalid)"},
		"b.txt":   {strings.Repeat("a ", 500), "key: file:b.txt"},
		"a.gz":    {bomb.String(), "failed: a.gz (invalid)"},
		"a.jsonl": {long + "\n{\"text\": \"b\"}\n", "failed: a.jsonl: line 1 (invalid)"},
	} {
		got := story(t, r, name, []byte(tt.data))
		if !strings.HasPrefix(got, tt.want+"\n") {
			t.Errorf("%s: %.200s", name, got)
		}
		if name == "a.jsonl" && !strings.Contains(got, "\nb\n") {
			t.Errorf("behind a long line: %.200s", got)
		}
	}
}

// A parser that panics costs one document, and its message stays out of the reason.
func TestGuard(t *testing.T) {
	_, err := guarded(func() (*knowledgebank.Source, error) { panic("a secret of the document") })
	if fault.KindOf(err) != fault.Internal || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	_, err = guarded(func() (*knowledgebank.Source, error) { return nil, []error{}[len(os.Args)] })
	if fault.KindOf(err) != fault.Internal || !strings.Contains(err.Error(), "index out of range") {
		t.Errorf("%v", err)
	}
}

func TestOptions(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
	err := Options{}.Validate()
	if fault.KindOf(err) != fault.Invalid || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("three faults: %v", err)
	}
	if _, err := New(Options{MaxBytes: 1, MaxParts: 1, Location: time.UTC}); err != nil {
		t.Error(err)
	}
	if _, err := New(Options{}); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}
