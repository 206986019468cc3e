package s3test

import (
	"bufio"
	"bytes"
	"crypto/md5"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Fake keeps objects in memory. It checks no signature and knows no uploads in parts.
type Fake struct {
	*Server

	mu      sync.Mutex
	objects map[string][]byte
	spoil   Spoiler
}

// Spoiler is called before a request is answered; if it returns true, it has answered.
type Spoiler func(w http.ResponseWriter, r *http.Request) bool

// Spoil has fn called from now on; nil ends that.
func (f *Fake) Spoil(fn Spoiler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spoil = fn
}

// NewFake starts a fake with an empty bucket, which ends with the test.
func NewFake(t testing.TB) *Fake {
	t.Helper()
	f := &Fake{objects: map[string][]byte{}}
	at := httptest.NewServer(f)
	t.Cleanup(at.Close)
	f.Server = newServer(t, at.URL)
	return f
}

// Change replaces the content of an object.
func (f *Fake) Change(name string, to func([]byte) []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[name] = to(bytes.Clone(f.objects[name]))
}

// Refuse answers with an error of S3.
func Refuse(w http.ResponseWriter, status int, code string) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>refused</Message></Error>", code)
	return true
}

// Cut ends the connection without an answer.
func Cut(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }

func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	spoil := f.spoil
	f.mu.Unlock()
	if spoil != nil && spoil(w, r) {
		return
	}
	name, inBucket := strings.CutPrefix(r.URL.Path, "/"+Bucket+"/")
	if !inBucket {
		Refuse(w, http.StatusNotFound, "NoSuchBucket")
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.Method == http.MethodPut:
		b, err := body(r)
		if err != nil {
			Refuse(w, http.StatusBadRequest, "IncompleteBody")
			return
		}
		f.objects[name] = b
		w.Header().Set("ETag", tag(b))
	case r.Method == http.MethodDelete:
		delete(f.objects, name)
		w.WriteHeader(http.StatusNoContent)
	case name == "":
		f.list(w, r.URL.Query().Get("prefix"), r.URL.Query().Get("delimiter"))
	case f.objects[name] == nil:
		Refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", tag(f.objects[name]))
		http.ServeContent(w, r, name, time.Unix(1, 0), bytes.NewReader(f.objects[name]))
	}
}

func tag(b []byte) string { return fmt.Sprintf(`"%x"`, md5.Sum(b)) }

// body reads a body, in signed chunks or plain.
func body(r *http.Request) ([]byte, error) {
	if !strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING-") {
		return io.ReadAll(r.Body)
	}
	all := []byte{}
	for in := bufio.NewReader(r.Body); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, err
		}
		size, _, _ := strings.Cut(strings.TrimSpace(line), ";")
		n, err := strconv.ParseInt(size, 16, 32)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return all, nil
		}
		chunk := make([]byte, n+2) // with the line end
		if _, err := io.ReadFull(in, chunk); err != nil {
			return nil, err
		}
		all = append(all, chunk[:n]...)
	}
}

type listed struct {
	Key          string
	Size         int
	LastModified time.Time
	ETag         string
}

type folder struct{ Prefix string }

func (f *Fake) list(w http.ResponseWriter, prefix, delimiter string) {
	result := struct {
		XMLName     xml.Name `xml:"ListBucketResult"`
		Name        string
		IsTruncated bool
		Contents    []listed
		Folders     []folder `xml:"CommonPrefixes"`
	}{Name: Bucket}
	for _, name := range slices.Sorted(maps.Keys(f.objects)) {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if first, _, deep := strings.Cut(rest, "/"); deep && delimiter == "/" {
			if at := (folder{prefix + first + "/"}); !slices.Contains(result.Folders, at) {
				result.Folders = append(result.Folders, at)
			}
		} else {
			result.Contents = append(result.Contents, listed{name, len(f.objects[name]), time.Unix(1, 0).UTC(), tag(f.objects[name])})
		}
	}
	w.Header().Set("Content-Type", "application/xml")
	xml.NewEncoder(w).Encode(result) //nolint:errcheck // the client notices
}
