package token

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Fill puts a list of so many tokens in the place of the one that is there.
func Fill(t *testing.T, dir string, n int) {
	t.Helper()
	all := make([]storedToken, n)
	for i := range all {
		all[i] = storedToken{Token{ID: newID(), Role: RoleAsk, Made: time.Unix(int64(i), 0).UTC()}, sumOf(newSecret())}
	}
	if err := replace(filepath.Join(dir, listFile), encode(all)); err != nil {
		t.Fatal(err)
	}
}

// Reads is what Check read last.
func Reads(s *Store) *known { return s.known.Load() }

// Age makes a file as old as it must be to be known by its stat.
func Age(t *testing.T, dir string) {
	t.Helper()
	old := time.Now().Add(-2 * settleTime)
	for _, name := range []string{mainFile, listFile} {
		if err := os.Chtimes(filepath.Join(dir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
}
