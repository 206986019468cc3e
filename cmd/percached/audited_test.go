package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
)

// A change that makes the data folder is recorded in it.
func TestAuditedInNewFolder(t *testing.T) {
	c := config.Default()
	c.Data, c.Serving.Audit = filepath.Join(t.TempDir(), "data"), "audit.jsonl"
	err := auditedIn(c, "restore", func() (audit.Record, error) {
		h, err := home.Open(c.Data, encryption.Source{})
		if err == nil {
			err = h.Close()
		}
		return audit.Record{Counts: audit.Counts{"documents": 3}}, err
	})
	if b, wrong := os.ReadFile(c.AuditLog()); err != nil || wrong != nil || !strings.Contains(string(b), `"operation":"restore"`) || !strings.Contains(string(b), `"documents":3`) {
		t.Errorf("%v %v: %s", err, wrong, b)
	}
}

// A repair without a daemon is recorded, also if it fails: here there is no database.
func TestRepairAudited(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	h, err := home.Open(dir, encryption.Source{})
	if err == nil {
		err = h.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "audit.jsonl")
	t.Setenv("PERCACHED_AUDIT_LOG", log)
	out, err := printed(t, "repair", "--data", dir)
	if b, wrong := os.ReadFile(log); err == nil || wrong != nil || !strings.Contains(string(b), `"operation":"repair"`) || !strings.Contains(string(b), `"outcome":"failed"`) {
		t.Errorf("%v %v: %s\n%s", err, wrong, b, out)
	}
}
