package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/config"
)

// An audit log in an encrypted data folder is refused, also behind a link, and elsewhere allowed.
func TestAuditOfEncryptedFolder(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte("a long passphrase"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain, encrypted := filepath.Join(dir, "plain"), filepath.Join(dir, "encrypted")
	if err := home.Encrypt(encrypted, encryption.Source{File: key}, encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(plain, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(encrypted, link); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		data, path string
		refused    bool
	}{
		{plain, "audit.jsonl", false},
		{plain, "", false},
		{encrypted, "", false},
		{encrypted, "audit.jsonl", true},
		{encrypted, filepath.Join(encrypted, "audit.jsonl"), true},
		{encrypted, filepath.Join(link, "audit.jsonl"), true},
		{link, "audit.jsonl", true},
		{encrypted, "../audit.jsonl", false},
		{encrypted, filepath.Join(dir, "audit.jsonl"), false},
	} {
		c := config.Default()
		c.Data, c.Serving.Audit = tc.data, tc.path
		log, err := OpenAudit(c)
		if (err != nil) != tc.refused || err != nil && !strings.Contains(err.Error(), "audit-log") {
			t.Errorf("%+v: %v", tc, err)
		}
		if (log != nil) != (tc.path != "" && !tc.refused) {
			t.Errorf("%+v: %v", tc, log)
		}
		if log != nil {
			if err := log.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
