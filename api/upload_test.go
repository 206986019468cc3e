package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

// took is a received file.
type took struct{ Name, Text string }

// intake stores uploads as a backend must: completely or not at all.
type intake struct {
	mu      sync.Mutex
	uploads []Upload
	files   []took
}

func (in *intake) backend() Backend { return Backend{Upload: in.upload} }

func (in *intake) upload(_ context.Context, u Upload) (UploadStatus, error) {
	var files []took
	err := u.Each(func(name string, body io.Reader) error {
		b, err := io.ReadAll(body)
		files = append(files, took{name, string(b)})
		return err
	})
	if err != nil {
		return UploadStatus{}, fault.Wrap("intake", err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	u.Each, u.Accepted = nil, nil
	in.uploads, in.files = append(in.uploads, u), append(in.files, files...)
	state := UploadQueued
	if u.Wait {
		state = UploadDone
	}
	return UploadStatus{ID: "u1", Space: u.Space, State: state, Files: len(files), Failures: []Failure{}, LeftOut: []Failure{}}, nil
}

func (in *intake) kept() ([]Upload, []took) {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.uploads, in.files
}

const uploadPath = "POST /v1/spaces/mail/documents"

// form builds a multipart body of files, each with name and text.
func form(t testing.TB, files ...took) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, f := range files {
		part, err := w.CreateFormFile("file", f.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(part, f.Text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

func TestUpload(t *testing.T) {
	binary := "\x1f\x8b\x08\x00\xff\x00"
	many, manyType := form(t, took{"a.eml", "From: a"}, took{"b/ü.md", "# b\r\n--"}, took{"empty.txt", ""})
	two, twoType := form(t, took{"a/notes.md", "a"}, took{"b/notes.md", "b"})
	tests := []struct {
		name    string
		query   string
		body    string
		headers []string
		status  int
		want    Upload
		files   []took
	}{
		{"a file as it is", "?name=a.txt", "text", []string{"Content-Type: text/plain"}, 202, Upload{Space: "mail"}, []took{{"a.txt", "text"}}},
		{"a file without a type", "?name=box.gz", binary, []string{"Content-Type:"}, 202, Upload{Space: "mail"}, []took{{"box.gz", binary}}},
		{"a file as curl sends it", "?name=a.txt", "text", []string{"Content-Type: application/x-www-form-urlencoded"}, 202, Upload{Space: "mail"}, []took{{"a.txt", "text"}}},
		{"a file named by a header", "", "x", []string{"Content-Type: text/html", `Content-Disposition: attachment; filename="dir/p.html"`}, 202, Upload{Space: "mail"}, []took{{"dir/p.html", "x"}}},
		{"a file named by a header, encoded", "", "x", []string{"Content-Type: text/html", "Content-Disposition: attachment; filename*=UTF-8''%c3%bc.html"}, 202, Upload{Space: "mail"}, []took{{"ü.html", "x"}}},
		{"the query's name goes first", "?name=q.txt", "x", []string{"Content-Type: text/plain", `Content-Disposition: attachment; filename="h.txt"`}, 202, Upload{Space: "mail"}, []took{{"q.txt", "x"}}},
		{"a text of another charset", "?name=a.txt", "\xca\xee\xe4", []string{"Content-Type: text/plain; charset=Windows-1251"}, 202, Upload{Space: "mail"}, []took{{"a.txt", "\ufeffКод"}}},
		{"a part of another charset", "", "--b\r\nContent-Disposition: form-data; filename=a.txt\r\nContent-Type: text/plain; charset=koi8-r\r\n\r\n\xeb\xcf\xc4\r\n--b--\r\n", []string{"Content-Type: multipart/form-data; boundary=b"}, 202, Upload{Space: "mail"}, []took{{"a.txt", "\ufeffКод"}}},
		{"a text of a charset that says little", "?name=a.txt", "Код", []string{"Content-Type: text/plain; charset=us-ascii"}, 202, Upload{Space: "mail"}, []took{{"a.txt", "Код"}}},
		{"a text that is said to be UTF-8", "?name=a.txt", "Код", []string{"Content-Type: text/plain; charset=\"UTF-8\""}, 202, Upload{Space: "mail"}, []took{{"a.txt", "Код"}}},
		{"a mailbox, which names its charsets itself", "?name=a", "\xca", []string{"Content-Type: application/mbox; charset=koi8-r"}, 202, Upload{Space: "mail"}, []took{{"a", "\xca"}}},
		{"a path of another system", "?name=C:%5Cmail%5Cin.mbox", "x", []string{"Content-Type: application/mbox"}, 202, Upload{Space: "mail"}, []took{{"C:/mail/in.mbox", "x"}}},
		{"a path written in another way", "?name=./notes//a/./b.md", "x", []string{"Content-Type: text/plain"}, 202, Upload{Space: "mail"}, []took{{"notes/a/b.md", "x"}}},
		{"a long path", "?name=/" + strings.Repeat("ü", 499), "x", []string{"Content-Type: text/plain"}, 202, Upload{Space: "mail"}, []took{{"/" + strings.Repeat("ü", 499), "x"}}},
		{"one name in two folders", "", two, []string{"Content-Type: " + twoType}, 202, Upload{Space: "mail"}, []took{{"a/notes.md", "a"}, {"b/notes.md", "b"}}},
		{"many files", "", many, []string{"Content-Type: " + manyType}, 202, Upload{Space: "mail"}, []took{{"a.eml", "From: a"}, {"b/ü.md", "# b\r\n--"}, {"empty.txt", ""}}},
		{"with a key", "?name=a.txt", "x", []string{"Content-Type: text/plain", "Idempotency-Key: 3f:~!"}, 202, Upload{Space: "mail", Key: "3f:~!"}, []took{{"a.txt", "x"}}},
		{"waited for", "?name=a.txt&wait=true", "x", []string{"Content-Type: text/plain"}, 200, Upload{Space: "mail", Wait: true}, []took{{"a.txt", "x"}}},
		{"not waited for", "?name=a.txt&wait=false", "x", []string{"Content-Type: text/plain", "Content-Encoding: identity"}, 202, Upload{Space: "mail"}, []took{{"a.txt", "x"}}},
		{"documents", "", `{"documents":[{"key":"n-1","title":"A","text":"a <b>","date":"2025-03-20","source":"diary"},
			{"text":"c\nd","date":"2025-03-20t10:00:00z"}]}`, nil, 202, Upload{Space: "mail"}, []took{{
			"documents.jsonl",
			`{"id":"n-1","title":"A","date":"2025-03-20","source":"diary","text":"a \u003cb\u003e"}` + "\n" + `{"title":"c d","date":"2025-03-20T10:00:00Z","text":"c\nd"}` + "\n",
		}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := &intake{}
			a := exchangeRaw(t, testServer(t, in.backend()), raw(uploadPath+tt.query, tt.body, tt.headers...))
			if a.StatusCode != tt.status {
				t.Fatalf("status %d: %s", a.StatusCode, a.text)
			}
			uploads, files := in.kept()
			if diff := cmp.Diff([]Upload{tt.want}, uploads); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.files, files); diff != "" {
				t.Error(diff)
			}
			location := "/v1/spaces/mail/uploads/u1"
			if tt.status == 200 {
				location = ""
			}
			if got := a.Header.Get("Location"); got != location {
				t.Errorf("location %q", got)
			}
			var status UploadStatus
			if err := json.Unmarshal([]byte(a.text), &status); err != nil || status.ID != "u1" || status.Files != len(tt.files) {
				t.Errorf("%s: %v", a.text, err)
			}
		})
	}
}

// A file is passed on while it arrives: the backend has its first half before the second is
// sent.
func TestUploadIsHandedOnWhileItComes(t *testing.T) {
	multi, multiType := form(t, took{"a.txt", "HALF"})
	first, rest, _ := strings.Cut(multi, "HALF")
	tests := []struct{ name, kind, before, after string }{
		{"a file", "text/plain", "", ""},
		{"a part", multiType, first, rest},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const half = 64 << 10
			begun, got := make(chan struct{}), make(chan int64, 1)
			srv := testServer(t, Backend{Upload: func(_ context.Context, u Upload) (UploadStatus, error) {
				return UploadStatus{ID: "u"}, u.Each(func(_ string, body io.Reader) error {
					n, err := io.CopyN(io.Discard, body, half)
					if err != nil {
						return err
					}
					close(begun)
					more, err := io.Copy(io.Discard, body)
					got <- n + more
					return err
				})
			}})
			query := "?name=a.txt"
			if tt.before != "" {
				query = ""
			}
			pr, pw := io.Pipe()
			go func() {
				x := strings.Repeat("x", half)
				// The parser keeps back what might be a boundary.
				_, _ = io.WriteString(pw, tt.before+x+strings.Repeat("x", 8<<10))
				<-begun
				_, _ = io.WriteString(pw, x+tt.after)
				pw.Close()
			}()
			r, err := http.NewRequest("POST", srv.URL+"/v1/spaces/mail/documents"+query, pr)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+writeToken)
			r.Header.Set("Content-Type", tt.kind)
			resp, err := srv.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if a := answerOf(t, resp); a.StatusCode != 202 {
				t.Fatal(a.StatusCode, a.text)
			}
			resp.Body.Close()
			if n := <-got; n != 2*half+8<<10 {
				t.Errorf("%d bytes came", n)
			}
		})
	}
}

// The server skips the part of a file that the backend does not read, and passes on the next
// file.
func TestUploadUnread(t *testing.T) {
	body, kind := form(t, took{"a.txt", strings.Repeat("a", 100<<10)}, took{"b.txt", "b"})
	var names []string
	srv := testServer(t, Backend{Upload: func(_ context.Context, u Upload) (UploadStatus, error) {
		return UploadStatus{ID: "a/b"}, u.Each(func(name string, _ io.Reader) error {
			names = append(names, name)
			return nil
		})
	}})
	a := exchangeRaw(t, srv, raw(uploadPath, body, "Content-Type: "+kind))
	if diff := cmp.Diff([]string{"a.txt", "b.txt"}, names); diff != "" || a.StatusCode != 202 {
		t.Error(a.StatusCode, diff)
	}
	if got := a.Header.Get("Location"); got != "/v1/spaces/mail/uploads/a%2Fb" {
		t.Error(got)
	}
}

// The backend's error is returned, unless the body is at fault.
func TestUploadRefused(t *testing.T) {
	full := fault.New(fault.Unavailable, "spool", "the disk is full")
	tests := []struct {
		name string
		fn   func(u Upload) error
		want string
	}{
		{"at once", func(Upload) error { return fault.New(fault.Conflict, "spool", "another upload has this key") }, "conflict"},
		{"no such space", func(Upload) error { return fault.New(fault.NotFound, "spool", "no such space") }, "not_found"},
		{"while it comes", func(u Upload) error { return u.Each(func(string, io.Reader) error { return full }) }, "unavailable"},
		{"in silence", func(u Upload) error {
			_ = u.Each(func(string, io.Reader) error { return full })
			return nil
		}, "unavailable"},
	}
	for _, tt := range tests {
		for _, kind := range []string{"text/plain", "application/json", "multipart/form-data"} {
			t.Run(tt.name+", "+kind, func(t *testing.T) {
				srv := testServer(t, Backend{Upload: func(_ context.Context, u Upload) (UploadStatus, error) { return UploadStatus{}, tt.fn(u) }})
				query, body, header := "?name=a.txt", "text", kind
				switch kind {
				case "application/json":
					query, body = "", `{"documents":[{"text":"a"}]}`
				case "multipart/form-data":
					query = ""
					body, header = form(t, took{"a.txt", "text"})
				}
				if a := exchangeRaw(t, srv, raw(uploadPath+query, body, "Content-Type: "+header)); a.name() != tt.want {
					t.Errorf("%d %s", a.StatusCode, a.text)
				}
			})
		}
	}
}

// A body with many documents may exceed MaxBody, up to MaxUpload; each document becomes a line.
func TestUploadManyDocuments(t *testing.T) {
	const n = 200
	in := &intake{}
	srv := testServer(t, in.backend(), func(o *Options) { o.MaxBody = 1 << 10 })
	if a := exchangeRaw(t, srv, raw(uploadPath, manyDocuments(n))); a.StatusCode != 202 {
		t.Fatal(a.StatusCode, a.text)
	}
	if _, files := in.kept(); len(files) != 1 || strings.Count(files[0].Text, "\n") != n {
		t.Error("not every document has a line")
	}
}

func manyDocuments(n int) string {
	var b strings.Builder
	b.WriteString(`{"documents":[`)
	for i := range n {
		if i > 0 {
			b.WriteString(",\n ")
		}
		fmt.Fprintf(&b, `{"key":"k%d","text":%q}`, i, strings.Repeat("w ", 2000))
	}
	b.WriteString("]}")
	return b.String()
}

// While documents are passed on, about one document of the body is in memory.
func TestDocumentsAreNotHeld(t *testing.T) {
	const most = 8 << 10
	body := strings.NewReader(manyDocuments(200))
	d := documentsOf(body, most)
	lines := bufio.NewReader(d)
	passed := int64(0) // bytes of the body whose documents came out
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		read := body.Size() - int64(body.Len())
		if held := read - passed; held > 2*most+16<<10 {
			t.Fatalf("%d bytes are held", held)
		}
		passed += int64(len(line)) // about as long as the document
	}
}

// partWith builds a multipart body of one part with the given header.
func partWith(t testing.TB, text string, header ...string) (body, contentType string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	h := textproto.MIMEHeader{}
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	part, err := w.CreatePart(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(part, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

func TestBeginning(t *testing.T) {
	for text, want := range map[string]string{
		" The pond\nis deep. ": "The pond is deep.",
		"The plumber comes on Thursday, and the water will be off until the evening of that day.": "The plumber comes on Thursday, and the water will be off ...",
		strings.Repeat("é", 50): strings.Repeat("é", 30) + " ...",
	} {
		if got := titleOf(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
