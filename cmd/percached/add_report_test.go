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

// A file whose upload fails for good keeps out no other file, and is not sent for ever.
func TestUploadFailsForGood(t *testing.T) {
	var stored []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			t.Error(err)
		}
		up := client.UploadStatus{ID: "1", State: client.UploadStateDone}
		var names []string
		for _, f := range r.MultipartForm.File["files"] {
			names = append(names, f.Filename)
		}
		if slices.Contains(names, "bad.txt") {
			up.State, up.Error = client.UploadStateFailed, new("percached ended 3 times while it read this upload")
		} else {
			up.Added, stored = len(names), append(stored, names...)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		if err := json.NewEncoder(w).Encode(up); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	l, err := link.New(server.URL, "pc_x", server.Client().Transport)
	if err != nil {
		t.Fatal(err)
	}
	a := (&session{Link: l, space: "mail", stderr: io.Discard}).newAddRun()
	var files []inputFile
	for _, name := range []string{"good.txt", "bad.txt", "better.txt"} {
		files = append(files, inputFile{name: name, in: strings.NewReader("The pond is deep.")})
	}
	if err := a.sendPortion(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	if want := []string{"good.txt", "better.txt"}; !slices.Equal(stored, want) || a.report.Added != 2 || a.report.Failed != 1 || a.report.Failures[0].Name != "bad.txt" {
		t.Errorf("%q stored, %+v", stored, a.report)
	}
}
