package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/kv/kvtest"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/node/nodetest"
)

// Repair recovers the readable part: every document exists afterwards or is listed as lost.
// The damaged database stays beside the new one.
func TestRepair(t *testing.T) {
	base := t.TempDir()
	killed, closed, want := usedFolder(t)
	dir := filepath.Join(base, "trial")
	for _, tc := range []struct {
		name  string
		all   kvtest.Files
		file  string // a pattern; the first file that fits is damaged
		do    func(b []byte) []byte
		whole bool // nothing may be lost
	}{
		{"sound", closed, "meta/MANIFEST", func(b []byte) []byte { return b }, true},
		{"list of tables cut", closed, "meta/MANIFEST", func(b []byte) []byte { return b[:len(b)-5] }, true},
		{"list of tables gone", killed, "meta/MANIFEST", func([]byte) []byte { return nil }, true},
		{"record gone", killed, "meta/RECORD", func([]byte) []byte { return nil }, true},
		{"table cut", closed, "meta/*.sst", func(b []byte) []byte { return b[:len(b)/2] }, false},
		{"table flipped", closed, "meta/*.sst", func(b []byte) []byte { b[len(b)/3] ^= 8; return b }, false},
		{"log flipped", killed, "meta/*.mem", func(b []byte) []byte { b[3000] ^= 8; return b }, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.all.Write(t, dir)
			found, err := filepath.Glob(filepath.Join(dir, tc.file))
			if err != nil || len(found) == 0 {
				t.Fatal(err)
			}
			b, err := os.ReadFile(found[0])
			if err == nil {
				err = os.WriteFile(found[0], tc.do(b), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			damaged := kvtest.ReadFiles(t, filepath.Join(dir, "meta"))
			out, err := printed(t, "repair", "--data", dir)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var have []string
			nameless := false
			for _, line := range strings.Split(out, "\n") {
				if lost, ok := strings.CutPrefix(line, "  lost: "); ok {
					have = append(have, lost)
					nameless = nameless || strings.Contains(lost, "without a readable title")
				}
			}
			if tc.whole && len(have) > 0 {
				t.Errorf("lost: %q", have)
			}
			if aside := filepath.Join(dir, "meta.damaged"); tc.name != "sound" && !strings.Contains(out, "changed nothing") {
				if !maps.EqualFunc(damaged, kvtest.ReadFiles(t, aside), bytes.Equal) {
					t.Error("what was damaged is not kept as it was")
				}
			}
			if err := os.RemoveAll(filepath.Join(dir, "meta.damaged")); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out, "no readable space") || strings.Contains(out, "whose names are lost") {
				return
			}
			out, err = printed(t, "documents", "list", "--data", dir, "--space", nodetest.Space, "--json")
			if err != nil {
				t.Fatal(err)
			}
			var list struct{ Documents []struct{ Title string } }
			if err := json.Unmarshal([]byte(out), &list); err != nil {
				t.Fatal(err)
			}
			for _, d := range list.Documents {
				have = append(have, d.Title)
			}
			slices.Sort(have)
			if d := cmp.Diff(want, have); d != "" && !nameless {
				t.Error(d)
			}
			if out, err := printed(t, "repair", "--data", dir); err != nil || !strings.Contains(out, "changed nothing") {
				t.Errorf("repaired twice: %s, %v", out, err)
			}
		})
	}
}

// A folder without its database is refused and stays unchanged, also if a repair has left the
// damaged one.
func TestMissingDatabase(t *testing.T) {
	base := t.TempDir()
	_, closed, _ := usedFolder(t)
	for _, to := range []string{"elsewhere", "meta.damaged"} {
		dir := filepath.Join(base, "trial")
		closed.Write(t, dir)
		if err := os.Rename(filepath.Join(dir, "meta"), filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
		if refused, err := sweepTrial(t, dir, "meta", nil); !refused || err != nil {
			t.Errorf("meta moved to %s: refused %v, %v", to, refused, err)
		}
	}
}

// After any damage of the database, the error names the commands that help.
func TestDamageNamesWayOut(t *testing.T) {
	base := t.TempDir()
	_, closed, _ := usedFolder(t)
	for name, damage := range map[string]func(meta string) error{
		"gone":    os.RemoveAll,
		"damaged": func(meta string) error { return os.Truncate(filepath.Join(meta, "MANIFEST"), 3) },
	} {
		dir := filepath.Join(base, name)
		closed.Write(t, dir)
		if err := damage(filepath.Join(dir, "meta")); err != nil {
			t.Fatal(err)
		}
		_, errs, status := called(patiently(t), "documents", "list", "--data", dir)
		if status == commands.ExitDone || !strings.Contains(errs, "restore a backup with percached restore FILE --force") {
			t.Errorf("%s: %d %s", name, status, errs)
		}
		if strings.Contains(errs, "percached repair") != (name == "damaged") {
			t.Errorf("%s: %s", name, errs)
		}
	}
}
