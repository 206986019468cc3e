package audit_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/audit"
	"github.com/percached/percached/internal/base/fault"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func open(t *testing.T, path string) *audit.Log {
	t.Helper()
	l, err := audit.Open(path, clock)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func write(t *testing.T, l *audit.Log, operation string) {
	t.Helper()
	if err := l.Write(audit.Record{Operation: operation, Outcome: "done", Sync: true}); err != nil {
		t.Fatal(err)
	}
}

// operations lists the operations in a file. A line that is no JSON is "torn".
func operations(t *testing.T, path string) (all []string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		var r audit.Record
		if json.Unmarshal(line, &r) != nil {
			r.Operation = "torn"
		}
		all = append(all, r.Operation)
	}
	return all
}

func want(t *testing.T, path string, operationsThere ...string) {
	t.Helper()
	if d := cmp.Diff(operationsThere, operations(t, path)); d != "" {
		t.Error(d)
	}
}

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path)
	full := audit.Record{
		Time: clock(), Operation: "deleteDocument", Token: "5e0f6c1d2b3a", Name: "phone", Space: "mail", Outcome: "done", Status: 200, Request: "r1",
		IDs: audit.IDs{"document": "d1"}, Counts: audit.Counts{"chunks": 3}, Keys: []string{"k"},
	}
	if err := l.Write(full); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const line = `{"time":"2026-01-02T03:04:05Z","operation":"deleteDocument","token":"5e0f6c1d2b3a","name":"phone","space":"mail",` +
		`"outcome":"done","status":200,"request":"r1","ids":{"document":"d1"},"counts":{"chunks":3},"keys":["k"]}` + "\n"
	if d := cmp.Diff(line, string(b)); d != "" {
		t.Error(d)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
}

// Several logs, as of a daemon and commands, share a file.
func TestShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	const writers, records = 4, 100
	var all sync.WaitGroup
	for range writers {
		l := open(t, path)
		all.Go(func() {
			for range records {
				if err := l.Write(audit.Record{Operation: "ask", Name: strings.Repeat("n", 100)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	got := operations(t, path)
	for _, operation := range got {
		if operation != "ask" {
			t.Fatal(operation)
		}
	}
	if len(got) != writers*records {
		t.Error(len(got))
	}
}

// A renamed file is left, and a new one begun.
func TestRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l := open(t, path)
	write(t, l, "a")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	write(t, l, "b")
	write(t, l, "c")
	want(t, path+".1", "a")
	want(t, path, "b", "c")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	write(t, l, "d")
	want(t, path, "d")
}

// A line that a crash cut does not spoil the next.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(path, []byte(`{"operation":"a"}`+"\n"+`{"opera`), 0o600); err != nil {
		t.Fatal(err)
	}
	l := open(t, path)
	write(t, l, "b")
	write(t, l, "c")
	want(t, path, "a", "torn", "b", "c")
}

// After a failed write the log is not ready, until it can be written again.
func TestFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "logs")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "audit.jsonl")
	l := open(t, path)
	write(t, l, "a")
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Write(audit.Record{Operation: "b"}); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), "audit-log") {
			t.Fatal(err)
		}
	}
	if err := l.Ready(); fault.KindOf(err) != fault.Unavailable {
		t.Error(err)
	}
	if err := os.Rename(dir+".away", dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := l.Ready(); err != nil {
			t.Error(err)
		}
	}
	write(t, l, "c")
	want(t, path, "a", "audit.resumed", "c")
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing", "audit.jsonl")} {
		if _, err := audit.Open(path, clock); fault.KindOf(err) != fault.Unavailable || !strings.Contains(err.Error(), path) {
			t.Error(err)
		}
	}
}
