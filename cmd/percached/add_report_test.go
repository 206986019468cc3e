package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/link"
)

// If a deletion removes the report of an upload, percached watch tries again.
func TestReportDeletedMeanwhile(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		if err := json.NewEncoder(w).Encode(client.Problem{Type: client.ProblemTypeNotFound, Status: http.StatusNotFound}); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	l, err := link.New(server.URL, "pc_x", server.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	a := (&session{Link: l, space: "mail", stderr: io.Discard}).newAddRun()
	err = a.awaitUpload(t.Context(), &client.UploadStatus{ID: "1", State: client.UploadStateQueued}, 1)
	if fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}

// uploads is a daemon that ends each upload with the file bad.txt as failed, and stores the others.
type uploads struct {
	*testing.T
	reason string
	all    [][]string
	stored []string
}

func (u *uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseMultipartForm(1 << 20); err != nil {
		u.Error(err)
	}
	var names []string
	for _, f := range r.MultipartForm.File["files"] {
		names = append(names, f.Filename)
	}
	u.all = append(u.all, names)
	up := client.UploadStatus{ID: "1", State: client.UploadStateDone, Added: len(names)}
	if slices.Contains(names, "bad.txt") {
		up.State, up.Added, up.Error = client.UploadStateFailed, 0, &u.reason
	} else {
		u.stored = append(u.stored, names...)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	if err := json.NewEncoder(w).Encode(up); err != nil {
		u.Error(err)
	}
}

// send sends three files, the second of which is bad.
func (u *uploads) send() (*addRun, error) {
	u.Helper()
	server := httptest.NewServer(u)
	defer server.Close()
	l, err := link.New(server.URL, "pc_x", server.Client().Transport)
	if err != nil {
		u.Fatal(err)
	}
	a := (&session{Link: l, space: "mail", stderr: io.Discard}).newAddRun()
	var files []inputFile
	for _, name := range []string{"good.txt", "bad.txt", "better.txt"} {
		files = append(files, inputFile{name: name, open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("The pond is deep.")), nil }})
	}
	return a, a.sendPortion(u.Context(), files)
}

// A file whose upload fails for good keeps out no other file, and is not sent for ever.
func TestUploadFailsForGood(t *testing.T) {
	u := &uploads{T: t, reason: "percached ended 3 times while it read this upload"}
	a, err := u.send()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"good.txt", "better.txt"}; !slices.Equal(u.stored, want) || a.report.Added != 2 || a.report.Failed != 1 || a.report.Failures[0].Name != "bad.txt" {
		t.Errorf("%q stored, %+v", u.stored, a.report)
	}
}

// If an upload fails and no file is to blame, the next run sends all of them again.
func TestUploadFailsInDaemon(t *testing.T) {
	u := &uploads{T: t, reason: inbox.InternalError}
	a, err := u.send()
	if fault.KindOf(err) != fault.Unavailable || len(u.all) != 1 || a.report.Failed > 0 {
		t.Errorf("%v, sent %q, %+v", err, u.all, a.report)
	}
}
