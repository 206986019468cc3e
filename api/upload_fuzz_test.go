package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
)

// bodies are seeds: the wrong uploads.
func bodies(f *testing.F, add func(body string)) {
	for _, tt := range wrongUploads(f) {
		if _, body, _ := strings.Cut(tt.text, "\r\n\r\n"); len(body) < 4<<10 {
			add(body)
		}
	}
}

// gather reads a body and returns the files that were passed on, and the fault if there is one.
func gather(each func(fileSink) error) (files []took, err error) {
	err = each(func(name string, body io.Reader) error {
		b, err := io.ReadAll(body)
		files = append(files, took{name, string(b)})
		return err
	})
	return files, err
}

// Documents become lines in order, or the body is refused. How the body is split on its way
// makes no difference.
func FuzzDocuments(f *testing.F) {
	bodies(f, func(body string) { f.Add(body) })
	f.Add(`{"documents":[{"key":"a","title":"t","text":"x","date":"2025-03-20T10:00:00Z","source":"s"},{"text":"\ud800\u2028"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		const most = 1 << 20
		if len(body) > 4<<10 {
			return // what stands between documents is bounded, and pieces count there
		}
		files, err := gather(func(take fileSink) error { return jsonDocuments(strings.NewReader(body), most, take) })
		again, errAgain := gather(func(take fileSink) error {
			return jsonDocuments(iotest.OneByteReader(strings.NewReader(body)), most, take)
		})
		if diff := cmp.Diff(files, again); diff != "" || (err == nil) != (errAgain == nil) {
			t.Fatal(err, errAgain, diff)
		}
		if err != nil {
			refusal(t, err)
			return
		}
		var want struct{ Documents []newDocument }
		if err := json.Unmarshal([]byte(body), &want); err != nil || len(want.Documents) == 0 || len(files) != 1 || files[0].Name != documentsName {
			t.Fatalf("%v: taken as %q", err, files)
		}
		var got []newDocument
		for line := range strings.Lines(files[0].Text) {
			var l documentLine
			in := json.NewDecoder(strings.NewReader(line))
			in.DisallowUnknownFields()
			if err := in.Decode(&l); err != nil || strings.TrimSpace(l.Text) == "" || !strings.HasSuffix(line, "\n") {
				t.Fatalf("%v in the line %q", err, line)
			}
			got = append(got, newDocument{l.ID, l.Title, l.Text, l.Date, l.Source})
		}
		for i := range want.Documents {
			d := &want.Documents[i]
			d.Date = strings.ToUpper(d.Date)
			if strings.TrimSpace(d.Title) == "" {
				d.Title = titleOf(d.Text)
			}
		}
		if diff := cmp.Diff(want.Documents, got); diff != "" {
			t.Error(diff)
		}
	})
}

// The files of a multipart body equal those that the standard library reads, under safe names.
// How the body is split on its way makes no difference.
func FuzzFiles(f *testing.F) {
	bodies(f, func(body string) { f.Add(body, "b") })
	body, kind := form(f, took{"a.txt", "text\r\n--"}, took{"b\\c.eml", "From: a\n\n"})
	f.Add(body, strings.TrimPrefix(kind, "multipart/form-data; boundary="))
	f.Add("--b\nContent-Disposition: form-data; filename*=UTF-8''%c3%bc\nContent-Transfer-Encoding: quoted-printable\n\na=3Db\n--b--\n", "b")
	f.Fuzz(func(t *testing.T, body, boundary string) {
		if len(body) > 4<<10 || boundary == "" || len(boundary) > maxBoundary {
			return
		}
		got, err := gather(func(take fileSink) error { return files(strings.NewReader(body), boundary, take) })
		again, errAgain := gather(func(take fileSink) error {
			return files(iotest.OneByteReader(strings.NewReader(body)), boundary, take)
		})
		if diff := cmp.Diff(got, again); diff != "" && err == nil || (err == nil) != (errAgain == nil) {
			t.Fatal(err, errAgain, diff)
		}
		if err != nil {
			refusal(t, err)
			return
		}
		parts := multipart.NewReader(strings.NewReader(body), boundary)
		for _, file := range got {
			safe(t, file.Name)
			part, err := parts.NextPart()
			if err != nil {
				t.Fatal("more files than there are:", err)
			}
			text, err := io.ReadAll(part)
			if err != nil || string(text) != file.Text {
				t.Fatalf("%v: %q, want %q", err, file.Text, text)
			}
		}
		if _, err := parts.NextPart(); err != io.EOF || len(got) == 0 {
			t.Fatalf("%d files, and then %v", len(got), err)
		}
	})
}

func safe(t *testing.T, name string) {
	t.Helper()
	if name == "." || name == "/" || len(name) > maxFileName || !utf8.ValidString(name) || strings.Contains(name, `\`) ||
		strings.ContainsFunc(name, unicode.IsControl) || path.Clean(name) != name || slices.Contains(strings.Split(name, "/"), "..") {
		t.Errorf("%q is not safe", name)
	}
}

// A file name is normalised or refused.
func FuzzFileName(f *testing.F) {
	for _, name := range []string{"a.txt", "a/b", `a\b`, "/a//b/./c", "a/../b", "a/.", "a/", "..", "a\x00", "\u0085", "\xff", "", "/", strings.Repeat("ü", 128), "cafe\u0301/re\u0301sume\u0301.txt"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, sent string) {
		name, fault := fileName(sent)
		if fault != "" {
			return
		}
		safe(t, name)
		elements := func(s string) []string { // those that mean something
			return slices.DeleteFunc(strings.Split(strings.ReplaceAll(s, `\`, "/"), "/"), func(e string) bool { return e == "" || e == "." })
		}
		again, fault := fileName(name)
		if again != name || fault != "" || !slices.Equal(elements(norm.NFC.String(sent)), elements(name)) {
			t.Errorf("%q becomes %q", sent, name)
		}
	})
}

// A body that breaks off is reported as such, whatever its parser reports.
func TestBodyBreaksWithinAnyByte(t *testing.T) {
	multi, kind := form(t, took{"a.txt", "text"}, took{"b.txt", "text"})
	_, boundary, _ := strings.Cut(kind, "boundary=")
	gone := errors.New("gone")
	tests := []struct {
		name string
		body string
		each func(io.Reader, fileSink) error
	}{
		{"documents", `{"documents":[{"text":"a"},{"key":"b","text":"b"}]}`, func(r io.Reader, take fileSink) error { return jsonDocuments(r, 1<<20, take) }},
		{"files", multi, func(r io.Reader, take fileSink) error { return files(r, boundary, take) }},
		{"a file", "text", func(r io.Reader, take fileSink) error { return wholeBody("a", r, nil, take) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n := range len(tt.body) + 1 {
				in := io.MultiReader(bytes.NewReader([]byte(tt.body[:n])), iotest.ErrReader(gone))
				if _, err := gather(func(take fileSink) error { return tt.each(in, take) }); err != gone {
					t.Fatalf("behind %d bytes: %v", n, err)
				}
			}
		})
	}
}
