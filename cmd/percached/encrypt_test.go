package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/node"
)

// cheap is for tests, which open a folder often.
var cheap = encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1}

// encryptedData makes an encrypted data folder, which this test and its processes can open.
func encryptedData(t *testing.T) string {
	t.Helper()
	key, data := filepath.Join(t.TempDir(), "key"), filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(key, []byte("the passphrase\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PERCACHED_KEY_FILE", key)
	if err := home.Encrypt(data, encryption.Source{File: key}, cheap); err != nil {
		t.Fatal(err)
	}
	return data
}

// must runs a command.
func must(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, status := called(t.Context(), args...)
	if status != commands.ExitDone {
		t.Fatalf("%v: status %d: %s", args, status, errs)
	}
	return out
}

// The marks are words that occur nowhere else.
var marks = map[string]string{
	"document":     "qzxdocument7261",
	"file":         "qzxfile8812",
	"space":        "qzxspace5523",
	"question":     "qzxquestion9034",
	"conversation": "qzxconversation4417",
	"turn":         "qzxturn3381",
	"fact":         "qzxfact6670",
	"deleted":      "qzxdeleted2519",
	"synced file":  "qzxsynced1106",
	"upload":       "qzxupload7745",
	"upload file":  "qzxuploadfile3392",
	"token":        "qzxtoken2284",
}

// live fills a data folder with marked words, and returns what of them its files contain: of the folder in
// use, as a crash would leave it, of the closed folder, and of a backup.
func live(t *testing.T, data string) map[string][]string {
	t.Helper()
	ctx, in := t.Context(), t.TempDir()
	found := map[string][]string{}
	file := func(name, text string) string {
		path := filepath.Join(in, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := func(a ...string) []string { return append(a, "--data", data, "--space", marks["space"]) }
	filler := strings.Repeat("The committee of "+marks["document"]+" met in the harbour and agreed on the plan. ", 60)
	must(t, args("add", file(marks["file"]+".md", "# Title "+marks["document"]+"\n\nThe budget for "+marks["document"]+" is $46,000. It was agreed on last week.\n\n"+filler))...)
	gone := file("gone.md", "# Gone\n\nThe word is "+marks["deleted"]+".\n")
	must(t, args("add", gone)...)
	folder := filepath.Join(in, "folder")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file(filepath.Join("folder", marks["synced file"]+".md"), "# Note\n\nThe keys are in the drawer.\n")
	must(t, args("add", "--sync", folder)...)
	answer := must(t, append(args("ask", "How much is the budget for "+marks["document"]+", "+marks["question"]+"?"), "--threads", "1", "--max-tokens", "12")...)
	answer = strings.TrimSpace(strings.Split(answer, "\n")[0])
	talk := strings.TrimSpace(must(t, args("conversations", "new", marks["conversation"])...))
	must(t, append(args("ask", "And who of "+marks["turn"]+" knows?"), "--conversation", talk, "--threads", "1", "--max-tokens", "8")...)
	must(t, args("facts", "add", "My car "+marks["fact"]+" is parked on level 2")...)
	id := ""
	for line := range strings.Lines(must(t, args("documents", "list")...)) {
		if strings.Contains(line, "Gone") {
			id = strings.Fields(line)[0]
		}
	}
	must(t, append(args("documents", "delete", id), "--yes")...)

	// An upload that waits, in a folder that is in use.
	c := node.Default()
	c.Data, c.Threads, c.KeyFile = data, 1, os.Getenv("PERCACHED_KEY_FILE")
	n, err := node.Open(ctx, c, false, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	box, err := node.OpenInbox(n, node.InboxLimits{Disk: 1 << 30, Documents: 10, Expanded: 1 << 20}, slog.New(slog.DiscardHandler), inbox.Observer{})
	if err == nil {
		_, err = box.Accept(ctx, marks["space"], "", func(take inbox.Take) error {
			return take(marks["upload file"]+".txt", strings.NewReader("An upload with "+marks["upload"]+"."))
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := n.Backup(ctx, box, &archive); err != nil {
		t.Fatal(err)
	}
	found["in use"] = held(t, data, answer)
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	found["closed"] = held(t, data, answer)
	text := archive.Bytes()
	if gz, err := gzip.NewReader(&archive); err == nil {
		if text, err = io.ReadAll(gz); err != nil {
			t.Fatal(err)
		}
	}
	found["backup"] = marksIn(text, answer)

	// The backup brings everything back.
	other := data
	if home.Encrypted(data) {
		other = encryptedData(t)
	} else {
		other += "-restored"
	}
	path := file("backup", "")
	must(t, "backup", path, "--force", "--data", data)
	must(t, "restore", path, "--data", other)
	if got := must(t, append(args("ask", "How much is the budget for "+marks["document"]+", "+marks["question"]+"?"), "--threads", "1", "--data", other)...); !strings.Contains(got, answer) {
		t.Errorf("the restored folder answers %q instead of %q", got, answer)
	}
	list := must(t, append(args("documents", "list"), "--data", other)...)
	if !strings.Contains(list, marks["document"]) {
		t.Errorf("the restored folder has\n%s", list)
	}
	if uploads, err := filepath.Glob(filepath.Join(other, "inbox", "*.spool")); err != nil || len(uploads) > 1 {
		t.Error(uploads, err)
	}
	return found
}

// held returns the marks in the names and contents of files.
func held(t *testing.T, dir, answer string) []string {
	t.Helper()
	var all []string
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		all = append(all, marksIn([]byte(path), "")...)
		if !d.Type().IsRegular() || strings.HasPrefix(path, filepath.Join(dir, "models")) {
			return nil
		}
		b, err := os.ReadFile(path)
		all = append(all, marksIn(b, answer)...)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func marksIn(b []byte, answer string) (found []string) {
	for what, mark := range marks {
		if bytes.Contains(b, []byte(mark)) {
			found = append(found, what)
		}
	}
	if answer != "" && bytes.Contains(b, []byte(answer)) {
		found = append(found, "answer")
	}
	slices.Sort(found)
	return found
}

// No file of an encrypted folder and no backup contains a word of documents, questions, answers,
// conversations or facts, or a name. The same life in a plain folder shows that the test looks in the right places.
func TestEncryptedFolder(t *testing.T) {
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
	everything := []string{"answer", "conversation", "document", "fact", "file", "question", "space", "synced file", "turn", "upload", "upload file"}
	if !testing.Short() {
		got := live(t, filepath.Join(t.TempDir(), "data"))
		for _, where := range []string{"in use", "closed", "backup"} {
			missing := slices.DeleteFunc(slices.Clone(everything), func(what string) bool { return slices.Contains(got[where], what) })
			if len(missing) > 0 {
				t.Errorf("plain, %s: %q is nowhere, so the test looks in the wrong place", where, missing)
			}
		}
	}
	for where, found := range live(t, encryptedData(t)) {
		if len(found) > 0 {
			t.Errorf("encrypted, %s: found in plain text: %q", where, found)
		}
	}
}

// Without the right passphrase no command changes a byte, and each says why.
func TestEncryptedRefused(t *testing.T) {
	data := encryptedData(t)
	note := filepath.Join(t.TempDir(), "note.md")
	if err := os.WriteFile(note, []byte("# Note\n\nThe keys are in the drawer.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "add", note, "--data", data)
	backup := filepath.Join(t.TempDir(), "backup")
	must(t, "backup", backup, "--data", data)
	before := allBytes(t, data)
	wrong := filepath.Join(t.TempDir(), "wrong")
	if err := os.WriteFile(wrong, []byte("another passphrase"), 0o600); err != nil {
		t.Fatal(err)
	}
	for key, says := range map[string]string{wrong: "the passphrase is wrong; nothing was changed", "": "there is no key"} {
		t.Setenv("PERCACHED_KEY_FILE", key)
		for _, args := range [][]string{
			{"add", note},
			{"add", "--sync", note},
			{"sources", "list"},
			{"ask", "Where are the keys?"},
			{"documents", "list"},
			{"status"},
			{"serve", "--listen", "127.0.0.1:0"},
			{"repair"},
			{"reindex"},
			{"backup", backup, "--force"},
			{"restore", backup, "--force"},
			{"rekey", "--new-key-file", wrong},
		} {
			_, errs, status := called(t.Context(), append(args, "--data", data)...)
			if status == commands.ExitDone || !strings.Contains(errs, says) || strings.Contains(errs, "encryption.") {
				t.Errorf("%v with %q: status %d: %s", args, key, status, errs)
			}
		}
		if d := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(allBytes(t, data)))); d != "" {
			t.Errorf("files came or went:\n%s", d)
		}
		for name, b := range allBytes(t, data) {
			if b != before[name] {
				t.Errorf("%s has changed", name)
			}
		}
	}
}

// allBytes is the content of all files of a folder.
func allBytes(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// An encrypted folder works with a daemon, is repaired, gets another passphrase, and does not accept what
// another key encrypted.
func TestEncryptedUse(t *testing.T) {
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
	data := encryptedData(t)
	a := startServe(t, data)
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	if !a.addNote("north") {
		t.Fatal("cannot add a note")
	}
	a.settled()
	archive := a.backup()
	if !a.addNote("south") {
		t.Fatal("cannot add a note")
	}
	a.settled()
	if status, text := a.restore(archive, "?force=true"); status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	a.isReady()
	if got := a.titles(); len(got) != 1 {
		t.Errorf("after the restore: %v", got)
	}
	a.end()
	if out := must(t, "repair", "--data", data); !strings.Contains(out, "changed nothing") {
		t.Error(out)
	}
	next := filepath.Join(t.TempDir(), "next")
	if err := os.WriteFile(next, []byte("the next passphrase"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "rekey", "--new-key-file", next, "--data", data)
	if err := home.ChangeSecret(data, encryption.Source{File: next}, encryption.Source{File: next}, cheap); err != nil {
		t.Fatal(err)
	}
	if errs, status := restoreInto(t, data, archive, "--force"); status != commands.ExitFailed || !strings.Contains(errs, "wrong") {
		t.Errorf("with the old passphrase: %d %s", status, errs)
	}
	t.Setenv("PERCACHED_KEY_FILE", next)
	if errs, status := restoreInto(t, data, archive, "--force"); status != commands.ExitDone { // the data key is the same
		t.Errorf("the backup of the time before: %s", errs)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	if errs, status := restoreInto(t, plain, archive); status != commands.ExitFailed || !strings.Contains(errs, "init --encrypt") || home.Exists(plain) {
		t.Errorf("into a plain folder: %d %s", status, errs)
	}
	for _, n := range []int{40, len(archive) / 2, len(archive) - 1} {
		if errs, status := restoreInto(t, data, archive[:n], "--force"); status != commands.ExitFailed || !strings.Contains(errs, "backup") {
			t.Errorf("cut at %d: %d %s", n, status, errs)
		}
		flipped := bytes.Clone(archive)
		flipped[n] ^= 1
		if errs, status := restoreInto(t, data, flipped, "--force"); status != commands.ExitFailed {
			t.Errorf("a flip at %d: %d %s", n, status, errs)
		}
	}
}

// The export of a space of an encrypted folder is encrypted: another folder needs the same
// passphrase to import it.
func TestEncryptedExport(t *testing.T) {
	data := encryptedData(t)
	note := filepath.Join(t.TempDir(), "gate.md")
	if err := os.WriteFile(note, []byte("The code of the gate is qzxgate5127.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "add", note, "--space", "mail", "--kind", "notes", "--data", data)
	archive := filepath.Join(t.TempDir(), "mail")
	must(t, "spaces", "export", "mail", archive, "--data", data)
	if b, err := os.ReadFile(archive); err != nil || !bytes.HasPrefix(b, []byte("percached-encrypted-backup")) || bytes.Contains(b, []byte("qzxgate5127")) {
		t.Errorf("the export is not encrypted: %v", err)
	}
	plain := filepath.Join(t.TempDir(), "plain")
	_, errs, status := called(t.Context(), "spaces", "import", "mail", archive, "--data", plain)
	if status != commands.ExitFailed || !strings.Contains(errs, "init --encrypt") {
		t.Errorf("a plain folder: status %d: %s", status, errs)
	}
	second := filepath.Join(t.TempDir(), "second")
	if err := home.Encrypt(second, encryption.Source{File: os.Getenv("PERCACHED_KEY_FILE")}, cheap); err != nil {
		t.Fatal(err)
	}
	must(t, "spaces", "import", "mail", archive, "--data", second)
	if out := must(t, "search", "gate", "code", "--space", "mail", "--data", second); !strings.Contains(out, "qzxgate5127") {
		t.Errorf("%s", out)
	}
	must(t, "spaces", "delete", "mail", "--yes", "--data", second)
	to := startServe(t, second)
	to.ready()
	out := must(t, "spaces", "move", "mail", "--data", data, "--to", to.url, "--to-token-file", filepath.Join(second, "token"))
	if !strings.Contains(out, ": 1 documents") {
		t.Error(out)
	}
	if out := must(t, "search", "gate", "code", "--space", "mail", "--data", second); !strings.Contains(out, "qzxgate5127") {
		t.Errorf("moved: %s", out)
	}
	to.end()
}
