package encryption_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
)

// cheap makes a guess cost nothing.
var cheap = encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1}

func newKey(t testing.TB) (*encryption.Key, []byte) {
	t.Helper()
	k, text, err := encryption.New([]byte("the passphrase"), cheap)
	if err != nil {
		t.Fatal(err)
	}
	return k, text
}

func TestKeyFile(t *testing.T) {
	k, text := newKey(t)
	again, err := encryption.Open(text, []byte("the passphrase"))
	if err != nil || !bytes.Equal(k.Derive("meta"), again.Derive("meta")) {
		t.Fatalf("another key, %v", err)
	}
	if bytes.Equal(k.Derive("meta"), k.Derive("index")) {
		t.Error("two uses share a key")
	}
	if bytes.Contains(text, []byte("passphrase")) {
		t.Error("the key file contains the passphrase")
	}
	if _, err := encryption.Open(text, []byte("the passphrasf")); !errors.Is(err, encryption.ErrWrongSecret) {
		t.Errorf("a wrong passphrase: %v", err)
	}
	other, otherText := newKey(t)
	if bytes.Equal(k.Derive("meta"), other.Derive("meta")) || !k.Wraps(text) || k.Wraps(otherText) {
		t.Error("two folders share a key")
	}
	next, err := k.Wrap([]byte("another"), cheap)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := encryption.Open(next, []byte("the passphrase")); !errors.Is(err, encryption.ErrWrongSecret) {
		t.Errorf("the old passphrase opens the new key file: %v", err)
	}
	if again, err = encryption.Open(next, []byte("another")); err != nil || !bytes.Equal(k.Derive("meta"), again.Derive("meta")) {
		t.Errorf("the new passphrase opens another key, %v", err)
	}
}

// A damaged key file is not taken for a wrong passphrase, or opens the same key.
func TestKeyFileDamaged(t *testing.T) {
	k, text := newKey(t)
	text = bytes.TrimSpace(text)
	for i := range text {
		for _, bit := range []byte{1, 0x20, 0x80} {
			b := bytes.Clone(text)
			b[i] ^= bit
			got, err := encryption.Open(b, []byte("the passphrase"))
			if errors.Is(err, encryption.ErrWrongSecret) || err == nil && !bytes.Equal(got.Derive("x"), k.Derive("x")) {
				t.Errorf("byte %d, bit %x: %v", i, bit, err)
			}
		}
		if _, err := encryption.Open(text[:i], nil); fault.KindOf(err) != fault.Unavailable {
			t.Errorf("%d bytes: %v", i, err)
		}
	}
	newer := bytes.Replace(text, []byte(`"version":1`), []byte(`"version":2`), 1)
	if _, err := encryption.Open(newer, nil); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("a newer key file: %v", err)
	}
}

func encrypt(t testing.TB, k *encryption.Key, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := k.Copy(&b, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// readBoth reads an encrypted file in both ways, which must agree.
func readBoth(t testing.TB, k *encryption.Key, b []byte) ([]byte, error) {
	t.Helper()
	stream, err := io.ReadAll(encryption.NewReader(iotest.HalfReader(bytes.NewReader(b)), k))
	f, failed := encryption.NewFile(bytes.NewReader(b), int64(len(b)), k)
	var at []byte
	if failed == nil {
		at, failed = io.ReadAll(io.NewSectionReader(f, 0, f.Size()+1))
	}
	if (err == nil) != (failed == nil) || err == nil && !bytes.Equal(stream, at) {
		t.Errorf("two ways to read differ: %v, %v", err, failed)
	}
	if err != nil && !errors.Is(err, encryption.ErrDamaged) || failed != nil && !errors.Is(failed, encryption.ErrDamaged) {
		t.Errorf("%v, %v", err, failed)
	}
	return stream, err
}

const piece = 64 << 10

func TestFile(t *testing.T) {
	k, _ := newKey(t)
	other, _ := newKey(t)
	rnd := rand.NewChaCha8([32]byte{1})
	for _, n := range []int{0, 1, piece - 1, piece, piece + 1, 3 * piece, 3*piece + 7} {
		text := make([]byte, n)
		rnd.Read(text)
		b := encrypt(t, k, text)
		if got, err := readBoth(t, k, b); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%d bytes: %d came back, %v", n, len(got), err)
		}
		if n > 64 && bytes.Contains(b, text[:32]) {
			t.Errorf("%d bytes: the text is plain", n)
		}
		if bytes.Equal(b, encrypt(t, k, text)) {
			t.Error("the same text is encrypted to the same bytes")
		}
		if _, err := readBoth(t, other, b); err == nil {
			t.Errorf("%d bytes: another key reads them", n)
		}
		f, err := encryption.NewFile(bytes.NewReader(b), int64(len(b)), k)
		if err != nil || f.Size() != int64(n) {
			t.Fatalf("size %d instead of %d, %v", f.Size(), n, err)
		}
		for _, at := range []int{2*piece + 5, 3, n / 2} { // in any order
			part := make([]byte, 100)
			m, err := f.ReadAt(part, int64(at))
			if want := text[min(at, n):min(at+100, n)]; !bytes.Equal(part[:m], want) || (m == 100) != (err == nil) {
				t.Errorf("%d bytes: %d at %d, %v", n, m, at, err)
			}
		}
	}
}

// What was cut, extended, reordered, mixed or changed is not read.
func TestFileDamaged(t *testing.T) {
	k, _ := newKey(t)
	text := make([]byte, 2*piece+100)
	b := encrypt(t, k, text)
	const head, sealed = 32, piece + 16
	refuse := func(what string, b []byte) {
		t.Helper()
		if _, err := readBoth(t, k, b); err == nil {
			t.Errorf("%s was read", what)
		}
	}
	for _, n := range []int{0, 7, head - 1, head, head + 15, head + 16, head + sealed, head + 2*sealed, head + 2*sealed + 1, len(b) - 16, len(b) - 1} {
		refuse("a cut file", b[:n])
	}
	swapped := bytes.Clone(b)
	copy(swapped[head:], b[head+sealed:head+2*sealed])
	copy(swapped[head+sealed:], b[head:head+sealed])
	refuse("a reordered file", swapped)
	refuse("an extended file", append(bytes.Clone(b), 0))
	refuse("a repeated piece", append(bytes.Clone(b), b[head+sealed:]...))
	refuse("a mixture", append(bytes.Clone(b[:head+sealed]), encrypt(t, k, text)[head+sealed:]...))
	for _, i := range []int{0, 8, 31, head, head + sealed - 1, head + sealed, len(b) - 1} {
		c := bytes.Clone(b)
		c[i] ^= 4
		refuse("a changed file", c)
	}
}

// Without Close a file is damaged.
func TestWriterUnfinished(t *testing.T) {
	k, _ := newKey(t)
	var b bytes.Buffer
	w, err := encryption.NewWriter(&b, k)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, 5*piece)); err != nil {
		t.Fatal(err)
	}
	if _, err := readBoth(t, k, b.Bytes()); err == nil {
		t.Error("it was read")
	}
}

func TestSource(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if _, err := (encryption.Source{}).Secret(); err == nil || !strings.Contains(err.Error(), "--key-file") {
		t.Errorf("without any source: %v", err)
	}
	for _, tc := range []struct{ text, want, says string }{
		{"a passphrase\n", "a passphrase", ""},
		{"a passphrase\r\n", "a passphrase", ""},
		{" spaces count ", " spaces count ", ""},
		{"\x00\x01binary\n\n", "\x00\x01binary\n", ""},
		{"\n", "", "is empty"},
		{strings.Repeat("x", 64<<10+1), "", "more than"},
	} {
		got, err := encryption.Source{File: write("key", tc.text)}.Secret()
		if string(got) != tc.want || (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%.20q: %q, %v", tc.text, got, err)
		}
	}
	if _, err := (encryption.Source{File: filepath.Join(dir, "none")}).Secret(); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "none") {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := (encryption.Source{File: write("short", "1234567")}).NewSecret(); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "at least 8") {
		t.Errorf("a short passphrase: %v", err)
	}
	write("percached-key", "from systemd\n")
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	if got, err := (encryption.Source{}).Secret(); err != nil || string(got) != "from systemd" {
		t.Errorf("the credential: %q, %v", got, err)
	}
	if got, err := (encryption.Source{File: write("key", "from a file")}).Secret(); err != nil || string(got) != "from a file" {
		t.Errorf("a file before the credential: %q, %v", got, err)
	}
}

func FuzzKeyFile(f *testing.F) {
	_, text := newKey(f)
	f.Add(text)
	f.Add([]byte(`{"version":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := encryption.Check(b); err != nil && fault.KindOf(err) == fault.Internal {
			t.Error(err)
		}
	})
}

func FuzzFile(f *testing.F) {
	k, _ := newKey(f)
	f.Add(encrypt(f, k, []byte("some text")))
	f.Add([]byte("pcenc001"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if text, err := readBoth(t, k, b); err == nil && string(text) != "some text" {
			t.Errorf("%q was read", text)
		}
	})
}
