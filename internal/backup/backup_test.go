package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
)

// held is the content of an archive, in order.
type held []string

func (h *held) target() backup.Target {
	return backup.Target{
		Header: func(b backup.Header) error {
			*h = append(*h, fmt.Sprintln("header", b.Schema, b.Made, b.Documents))
			return nil
		},
		File: func(name string, size int64, from io.Reader) error {
			b, err := io.ReadAll(from)
			*h = append(*h, fmt.Sprint(name, " ", size, " ", string(b)))
			return err
		},
		Record: func(key, value []byte) error {
			*h = append(*h, fmt.Sprintf("%x=%x", key, value))
			return nil
		},
	}
}

var upload = strings.Repeat("0a", 16)

// archive makes an archive with some of everything.
func archive(t testing.TB, records int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := backup.NewWriter(&b, backup.Seal{}, backup.Header{Schema: 2, Percached: "1.0", Made: time.Date(2026, 11, 25, 3, 42, 0, 0, time.UTC), Documents: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct{ name, text string }{
		{"percached.conf", "k = 4\n"},
		{"prompts/instructions.txt", "Be brief."},
		{"prompts/mail/abstract.txt", ""},
		{"inbox/" + upload + ".upload", "record"},
		{"inbox/" + upload + ".spool", "spool"},
		{"inbox/withheld", "none"},
	} {
		if err := w.File(f.name, int64(len(f.text)), strings.NewReader(f.text)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range records {
		if err := w.Record(fmt.Appendf(nil, "K%04d", i), bytes.Repeat([]byte{byte(i)}, i*i%700)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestThereAndBack(t *testing.T) {
	var got held
	h, err := backup.Read(iotest.OneByteReader(bytes.NewReader(archive(t, 3))), got.target())
	if err != nil || h.Percached != "1.0" {
		t.Fatalf("%+v, %v", h, err)
	}
	want := held{
		"header 2 2026-11-25 03:42:00 +0000 UTC 3\n", "percached.conf 6 k = 4\n", "prompts/instructions.txt 9 Be brief.", "prompts/mail/abstract.txt 0 ",
		"inbox/" + upload + ".upload 6 record", "inbox/" + upload + ".spool 5 spool", "inbox/withheld 4 none", "4b30303030=", "4b30303031=01", "4b30303032=02020202",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Many records are split into several pieces.
func TestPieces(t *testing.T) {
	var b bytes.Buffer
	w, err := backup.NewWriter(&b, backup.Seal{}, backup.Header{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 40
	for i := range n {
		if err := w.Record(fmt.Appendf(nil, "%04d", i), bytes.Repeat([]byte{byte(i)}, 500_000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	i := 0
	if _, err := backup.Read(&b, backup.Target{Record: func(key, value []byte) error {
		if string(key) != fmt.Sprintf("%04d", i) || !bytes.Equal(value, bytes.Repeat([]byte{byte(i)}, 500_000)) {
			t.Errorf("record %d is another", i)
		}
		i++
		return nil
	}}); err != nil || i != n {
		t.Errorf("%d records, %v", i, err)
	}
}

// A truncated archive is refused wherever it was truncated.
func TestCut(t *testing.T) {
	whole := archive(t, 30)
	for n := range whole {
		_, err := backup.Verify(bytes.NewReader(whole[:n]))
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "truncated") && n > 10 {
			t.Errorf("%d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// An archive with one flipped bit is refused, or its content is unchanged.
func TestFlipped(t *testing.T) {
	whole := archive(t, 30)
	var want held
	if _, err := backup.Read(bytes.NewReader(whole), want.target()); err != nil {
		t.Fatal(err)
	}
	passed := 0
	for at := range len(whole) * 8 {
		b := bytes.Clone(whole)
		b[at/8] ^= 1 << (at % 8)
		var got held
		if _, err := backup.Read(bytes.NewReader(b), got.target()); err == nil {
			passed++
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("bit %d of %d: %s", at, len(whole)*8, d)
			}
		} else if k := fault.KindOf(err); k != fault.Invalid && k != fault.Unsupported {
			t.Errorf("bit %d of %d: %v", at, len(whole)*8, err)
		}
	}
	t.Logf("%d of %d flips change nothing", passed, len(whole)*8)
}

// made builds an archive by hand.
func made(t testing.TB, entries ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	w := tar.NewWriter(gz)
	for _, e := range entries {
		name, text, _ := strings.Cut(e, "|")
		h := &tar.Header{Name: name, Size: int64(len(text)), Mode: 0o600, Typeflag: tar.TypeReg}
		if target, link := strings.CutPrefix(text, "->"); link {
			h.Typeflag, h.Linkname, h.Size, text = tar.TypeSymlink, target, 0, ""
		}
		if _, err := w.Write(nil); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), gz.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRefuses(t *testing.T) {
	const (
		head  = `percached-backup|{"format":1}`
		empty = `end|{"records":0,"files":0,"sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}`
	)
	if _, err := backup.Verify(bytes.NewReader(made(t, head, empty))); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		in   []byte
		kind fault.Kind
		says string
	}{
		{"nothing", nil, fault.Invalid, "not compressed"},
		{"text", []byte("Dear Ana, ..."), fault.Invalid, "not compressed"},
		{"another archive", made(t, "letter.txt|Dear Ana"), fault.Invalid, "does not begin with percached-backup"},
		{"a compressed text", gzipped(t, strings.Repeat("Dear Ana ", 100)), fault.Invalid, "does not begin with percached-backup"},
		{"newer", made(t, `percached-backup|{"format":4}`, empty), fault.Unsupported, "newer percached"},
		{"no increment", made(t, `percached-backup|{"format":3}`, empty), fault.Invalid, "does not match"},
		{"a space without a name", made(t, `percached-backup|{"format":2}`, empty), fault.Invalid, "does not match"},
		{"a name for all spaces", made(t, `percached-backup|{"format":1,"space":"mail"}`, empty), fault.Invalid, "does not match"},
		{"no version", made(t, `percached-backup|{}`, empty), fault.Invalid, "no version"},
		{"no end", made(t, head), fault.Invalid, "truncated"},
		{"an end before the end", made(t, head, empty, empty), fault.Invalid, "after its end"},
		{"other records", made(t, head, "meta/000001|\x01\x01ab", empty), fault.Invalid, "1 records"},
		{"a file too many", made(t, head, "percached.conf|k = 4", empty), fault.Invalid, "1 files"},
		{"out of the folder", made(t, head, "prompts/../../x.txt|x", empty), fault.Invalid, "unexpected entry"},
		{"from the root", made(t, head, "/prompts/x.txt|x", empty), fault.Invalid, "unexpected entry"},
		{"the key", made(t, head, "key|x", empty), fault.Invalid, "unexpected entry"},
		{"a link", made(t, head, "prompts/a.txt|->/etc/passwd", empty), fault.Invalid, "not a file"},
		{"a huge prompt", made(t, head, "prompts/a.txt|"+strings.Repeat("x", 1<<20+1), empty), fault.Invalid, "too large"},
		{"a file behind records", made(t, head, "meta/000001|", "percached.conf|", empty), fault.Invalid, "unexpected entry"},
		{"another piece", made(t, head, "meta/000002|\x01\x01ab", empty), fault.Invalid, "unexpected entry"},
		{"half a record", made(t, head, "meta/000001|\x01\x05ab", empty), fault.Invalid, "longer than its piece"},
		{"half a length", made(t, head, "meta/000001|\xff", empty), fault.Invalid, "truncated"},
		{"a huge record", made(t, head, "meta/000001|\x01\xff\xff\xff\xff\xff\xff\xff\xff\x7f", empty), fault.Invalid, "longer than its piece"},
		{"disorder", made(t, head, "meta/000001|\x01\x00b\x01\x00a", empty), fault.Invalid, "not sorted"},
		{"twice", made(t, head, "meta/000001|\x01\x00b\x01\x00b", empty), fault.Invalid, "not sorted"},
		{"two members", append(archive(t, 1), archive(t, 1)...), fault.Invalid, "after its end"},
		{"something behind", append(archive(t, 1), 'x'), fault.Invalid, "damaged"},
	} {
		_, err := backup.Verify(bytes.NewReader(tc.in))
		if fault.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func gzipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	io.WriteString(gz, text)
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Read returns errors of the source and of the target unchanged.
func TestErrorsOfOthers(t *testing.T) {
	mine := fault.New(fault.Conflict, "test", "mine")
	whole := archive(t, 3)
	if _, err := backup.Verify(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), iotest.ErrReader(mine))); !errors.Is(err, mine) {
		t.Errorf("of who sends: %v", err)
	}
	for name, to := range map[string]backup.Target{
		"header": {Header: func(backup.Header) error { return mine }},
		"file":   {File: func(string, int64, io.Reader) error { return mine }},
		"record": {Record: func(_, _ []byte) error { return mine }},
	} {
		if _, err := backup.Read(bytes.NewReader(whole), to); err != mine {
			t.Errorf("of who takes the %s: %v", name, err)
		}
	}
	w, err := backup.NewWriter(io.Discard, backup.Seal{}, backup.Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.File("../key", 0, strings.NewReader("")); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if err := w.File("percached.conf", 1<<20+1, strings.NewReader("")); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if err := w.File("percached.conf", 9, strings.NewReader("short")); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(archive(f, 3))
	f.Add(made(f, `percached-backup|{"format":1}`, "meta/000001|\x01\x01ab"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var got held
		if _, err := backup.Read(bytes.NewReader(b), got.target()); err != nil && fault.KindOf(err) != fault.Invalid && fault.KindOf(err) != fault.Unsupported {
			t.Error(err)
		}
	})
}

// If the source fails, the archive is not reported as damaged.
func TestReadSenderBreaksOff(t *testing.T) {
	whole := archive(t, 9)
	for _, n := range []int{0, 5, 10, len(whole) / 2} {
		mine := fmt.Errorf("the sender broke off: %w", io.ErrUnexpectedEOF)
		_, err := backup.Verify(io.MultiReader(bytes.NewReader(whole[:n]), iotest.ErrReader(mine)))
		if err != mine {
			t.Errorf("after %d bytes: %v", n, err)
		}
	}
}
