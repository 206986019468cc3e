package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
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
	err = a.awaitUpload(t.Context(), &client.UploadStatus{ID: "1", State: client.UploadStateQueued})
	if fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
}
