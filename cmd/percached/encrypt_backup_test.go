package main

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// The media type and the file name of a backup say what it is, and each may be restored.
func TestMediaTypeOfABackup(t *testing.T) {
	for name, tc := range map[string]struct {
		data       string
		kind, file string
		gzip       bool
	}{
		"plain":     {t.TempDir(), "application/gzip", "percached-backup.tar.gz", true},
		"encrypted": {encryptedData(t), "application/octet-stream", "percached-backup.encrypted", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := startServe(t, tc.data)
			defer d.end()
			d.isReady()
			resp, err := d.client.Do(d.request("GET", "/v1/backup", nil))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close() //nolint:errcheck // it was read
			var archive bytes.Buffer
			if _, err := archive.ReadFrom(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
				t.Fatal(resp.Status, err)
			}
			if kind, named := resp.Header.Get("Content-Type"), resp.Header.Get("Content-Disposition"); kind != tc.kind || !strings.Contains(named, tc.file) {
				t.Errorf("%s, %s", kind, named)
			}
			if gzip := bytes.HasPrefix(archive.Bytes(), []byte{0x1f, 0x8b}); gzip != tc.gzip {
				t.Errorf("gzip: %t", gzip)
			}
			back := d.request("POST", "/v1/restore?force=true", bytes.NewReader(archive.Bytes()))
			back.Header.Set("Content-Type", tc.kind)
			if resp, err := d.client.Do(back); err != nil || resp.StatusCode != http.StatusOK {
				t.Error(resp, err)
			} else {
				_ = resp.Body.Close()
			}
			d.isReady()
		})
	}
}
