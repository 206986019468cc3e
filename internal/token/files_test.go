//go:build linux || darwin || freebsd

package token_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/token"
)

// Files left by another process's crash are never read and block nobody.
func TestTornWrite(t *testing.T) {
	dir := folder(t)
	s := open(t, dir)
	main := mainToken(t, s)
	secret, _ := create(t, s, "", "", token.RoleAsk)
	torn := `{"version": 1, "sum": "00000000", "tok`
	for _, name := range []string{"token.part", "tokens.json.part"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(torn), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, dir)
	if !holds(s, main) || !holds(s, secret) {
		t.Error("what was there is not admitted any more")
	}
	another, _ := create(t, s, "", "", token.RoleAsk)
	if err := s.Revoke(token.MainID); err != nil {
		t.Fatal(err)
	}
	if anew := mainToken(t, s); !holds(s, secret) || !holds(s, another) || !holds(s, anew) || holds(s, main) {
		t.Error("not the tokens that there should be")
	}
	for _, name := range []string{"token", "tokens.json"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != 0o600 {
			t.Error(name, info.Mode(), err)
		}
		if _, err := os.Stat(filepath.Join(dir, name+".part")); err == nil {
			t.Error(name, "the torn file is still there")
		}
	}
}

// trouble opens a store and collects its reported problems.
func trouble(t *testing.T, dir string) (*token.Store, *[]error) {
	t.Helper()
	s := open(t, dir)
	told := &[]error{}
	s.Observer.Trouble = func(err error) { *told = append(*told, err) }
	return s, told
}

// The tokens of an unusable list are rejected and the list is not changed; the main token still
// works.
func TestListOfNoUse(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(path string, whole []byte) error
		kind  fault.Kind // of Open, and of what would change it
		says  string
	}{
		{"cut", func(p string, b []byte) error { return os.WriteFile(p, b[:len(b)/2], 0o600) }, fault.Unavailable, "not valid JSON"},
		{"empty", func(p string, _ []byte) error { return os.Truncate(p, 0) }, fault.Unavailable, "not valid JSON"},
		{"another space", func(p string, b []byte) error {
			return os.WriteFile(p, []byte(strings.Replace(string(b), `"mail"`, `"male"`, 1)), 0o600)
		}, fault.Unavailable, "checksum"},
		{"newer", func(p string, _ []byte) error { return os.WriteFile(p, []byte(`{"version": 3, "grants": {}}`), 0o600) }, fault.Unsupported, "it has version 3"},
		{"open to all", func(p string, _ []byte) error { return os.Chmod(p, 0o644) }, fault.Unavailable, "other users can access it"},
		{"open to the group", func(p string, _ []byte) error { return os.Chmod(p, 0o610) }, fault.Unavailable, "other users can access it"},
		{"a folder", func(p string, _ []byte) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) }, fault.Unavailable, "not a regular file"},
		{"a pipe", func(p string, _ []byte) error { return errors.Join(os.Remove(p), syscall.Mkfifo(p, 0o600)) }, fault.Unavailable, "not a regular file"},
		{"huge", func(p string, _ []byte) error { return os.Truncate(p, 1<<30) }, fault.Unavailable, "larger than"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := folder(t)
			path := filepath.Join(dir, "tokens.json")
			s, told := trouble(t, dir)
			main := mainToken(t, s)
			secret, made := create(t, s, "", "mail", token.RoleAsk)
			if !holds(s, secret) {
				t.Fatal("it is not admitted while all is well")
			}
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := tc.spoil(path, whole); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Stat(path)
			for range 5 {
				if holds(s, secret) || !holds(s, main) {
					t.Error("the list is used, or the main token is not")
				}
			}
			if len(*told) != 1 || !strings.Contains((*told)[0].Error(), tc.says) {
				t.Errorf("told: %v", *told)
			}
			_, _, err = s.Create("", "", token.RoleAsk)
			_, err2 := s.List()
			for _, err := range []error{err, err2, s.Revoke(made.ID), s.DropSpace("mail")} {
				if fault.KindOf(err) != tc.kind || !strings.Contains(err.Error(), path) {
					t.Error(err)
				}
			}
			if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) || before.Size() != after.Size() {
				t.Error("it was written over", err)
			}
			if _, err := token.Open(dir); fault.KindOf(err) != tc.kind {
				t.Error(err)
			}
			// Mended, it holds again, and the next trouble is told again.
			if err := errors.Join(os.Remove(path), os.WriteFile(path, whole, 0o600)); err != nil {
				t.Fatal(err)
			}
			if !holds(s, secret) {
				t.Error("mended, and not admitted")
			}
			if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			if holds(s, secret) || len(*told) != 2 {
				t.Errorf("told: %v", *told)
			}
		})
	}
}

func TestMainOfNoUse(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(path string) error
		kind  fault.Kind
		says  string
	}{
		{"cut", func(p string) error { return os.Truncate(p, 20) }, fault.Unavailable, "does not contain a token"},
		{"empty", func(p string) error { return os.Truncate(p, 0) }, fault.Unavailable, "does not contain a token"},
		{"open to all", func(p string) error { return os.Chmod(p, 0o604) }, fault.Unavailable, "other users can access it"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := folder(t)
			path := filepath.Join(dir, "token")
			s, told := trouble(t, dir)
			main := mainToken(t, s)
			scoped, _ := create(t, s, "", "", token.RoleAsk)
			if err := tc.spoil(path); err != nil {
				t.Fatal(err)
			}
			if holds(s, main) || !holds(s, scoped) || len(*told) != 1 {
				t.Error("the file is used, or the others are not, or it was not told once", *told)
			}
			if _, _, err := s.Main(); fault.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), path) {
				t.Error(err)
			}
			if _, err := token.Open(dir); fault.KindOf(err) != tc.kind {
				t.Error(err)
			}
			// Who has the store can put another in its place.
			if err := s.Revoke(token.MainID); err != nil {
				t.Fatal(err)
			}
			if anew := mainToken(t, s); anew == main || !holds(s, anew) {
				t.Error("there is no new one")
			}
		})
	}
}

// The next Check sees changes by other processes, however they write the files.
func TestCheckSeesChanges(t *testing.T) {
	dir := folder(t)
	s, other := open(t, dir), open(t, dir)
	main := mainToken(t, other)
	secret, made := create(t, other, "", "mail", token.RoleAsk)
	list, err := os.ReadFile(filepath.Join(dir, "tokens.json"))
	if err != nil {
		t.Fatal(err)
	}
	type admitted struct{ Main, Scoped bool }
	for _, step := range []struct {
		name string
		do   func() error
		want admitted
	}{
		{"as it is", func() error { return nil }, admitted{true, true}},
		{"list deleted", func() error { return os.Remove(filepath.Join(dir, "tokens.json")) }, admitted{true, false}},
		{"list put back", func() error { return os.WriteFile(filepath.Join(dir, "tokens.json"), list, 0o600) }, admitted{true, true}},
		{"main deleted", func() error { return os.Remove(filepath.Join(dir, "token")) }, admitted{false, true}},
		{"main put back", func() error { return os.WriteFile(filepath.Join(dir, "token"), []byte(main), 0o600) }, admitted{true, true}},
		{"one of many revoked", func() error { return other.Revoke(made.ID) }, admitted{true, false}},
		{"written in place", func() error { return os.WriteFile(filepath.Join(dir, "tokens.json"), list, 0o600) }, admitted{true, true}},
		{"folder gone", func() error { return os.Rename(dir, dir+"-gone") }, admitted{}},
		{"folder back", func() error { return os.Rename(dir+"-gone", dir) }, admitted{true, true}},
	} {
		if err := step.do(); err != nil {
			t.Fatal(step.name, err)
		}
		for range 2 {
			if d := cmp.Diff(step.want, admitted{holds(s, main), holds(s, secret)}); d != "" {
				t.Error(step.name, d)
			}
		}
	}
}

// Two changes within one tick of the clock have the same stat; the second is detected too.
func TestCheckSeesQuickChanges(t *testing.T) {
	dir := folder(t)
	s := open(t, dir)
	secret := mainToken(t, s)
	path := filepath.Join(dir, "token")
	tick := time.Now().Add(time.Hour) // the clock of the file system stands still
	for i := range 10 {
		next := "pc_" + strings.Repeat(string(rune('A'+i)), 43)
		if err := errors.Join(os.WriteFile(path, []byte(next+"\n"), 0o600), os.Chtimes(path, tick, tick)); err != nil {
			t.Fatal(err)
		}
		if holds(s, secret) || !holds(s, next) {
			t.Fatal("the change before the last is what is seen")
		}
		secret = next
	}
}

// Unchanged files are not read again.
func TestCheckReadsOnce(t *testing.T) {
	dir := folder(t)
	s := open(t, dir)
	main := mainToken(t, s)
	secret, _ := create(t, s, "", "", token.RoleAsk)
	token.Age(t, dir)
	first := holds(s, main)
	before := token.Reads(s)
	for range 10 {
		if !first || !holds(s, main) || !holds(s, secret) || token.Reads(s) != before {
			t.Fatal("not admitted, or the files were read again")
		}
	}
}

// Two stores on one folder accept each other's tokens at once, and no token is lost.
func TestManyAtOnce(t *testing.T) {
	dir := folder(t)
	stores := []*token.Store{open(t, dir), open(t, dir)}
	for _, s := range stores {
		s.Observer.Trouble = func(err error) { t.Error(err) }
	}
	const makers = 100
	secrets, mains := make([]string, makers), make([]string, makers)
	end := make(chan struct{})
	var making, checking sync.WaitGroup
	for i := range makers {
		making.Go(func() {
			s, other := stores[i%2], stores[1-i%2]
			var err error
			if mains[i], _, err = s.Main(); err != nil {
				t.Error(err)
			}
			secret, made, err := s.Create(fmt.Sprint(i), "mail", token.RoleAsk)
			if err != nil {
				t.Error(err)
				return
			}
			if got, ok := other.Check(secret); !ok || got.ID != made.ID {
				t.Error("made, and not admitted by the other")
			}
			if i%4 == 0 {
				if err := other.Revoke(made.ID); err != nil {
					t.Error(err)
				}
				if holds(s, secret) {
					t.Error("revoked, and admitted")
				}
			}
			secrets[i] = secret
		})
	}
	for i := range 8 {
		checking.Go(func() {
			for {
				select {
				case <-end:
					return
				default:
				}
				if holds(stores[i%2], "pc_"+strings.Repeat("A", 43)) {
					t.Error("a stranger is admitted")
				}
			}
		})
	}
	making.Wait()
	close(end)
	checking.Wait()
	for i, secret := range secrets {
		if mains[i] != mains[0] || mains[i] == "" {
			t.Error("two main tokens were made")
		}
		if holds(stores[0], secret) != (i%4 != 0) {
			t.Errorf("token %d: not as it was left", i)
		}
	}
	if all, err := stores[0].List(); err != nil || len(all) != 1+makers*3/4 {
		t.Error(len(all), err)
	}
}

// For files that are old enough, any change of the stat is detected.
func TestCheckSeesTheStat(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(path string, info os.FileInfo) error
	}{
		{"another file of this size and time", func(p string, info os.FileInfo) error {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b[len(b)-3] ^= 1
			return errors.Join(os.WriteFile(p+".new", b, 0o600), os.Chtimes(p+".new", info.ModTime(), info.ModTime()), os.Rename(p+".new", p))
		}},
		{"another time", func(p string, info os.FileInfo) error {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b[len(b)-3] ^= 1
			before := info.ModTime().Add(-1)
			return errors.Join(os.WriteFile(p, b, 0o600), os.Chtimes(p, before, before))
		}},
		{"another size", func(p string, info os.FileInfo) error {
			return errors.Join(os.Truncate(p, info.Size()-20), os.Chtimes(p, info.ModTime(), info.ModTime()))
		}},
		{"other rights", func(p string, _ os.FileInfo) error { return os.Chmod(p, 0o644) }},
	} {
		for _, name := range []string{"token", "tokens.json"} {
			dir := folder(t)
			s := open(t, dir)
			secrets := map[string]string{"token": mainToken(t, s)}
			secrets["tokens.json"], _ = create(t, s, "", "", token.RoleAsk)
			token.Age(t, dir)
			path := filepath.Join(dir, name)
			info, err := os.Stat(path)
			if err != nil || !holds(s, secrets[name]) {
				t.Fatal("not admitted while all is well", err)
			}
			if err := tc.change(path, info); err != nil {
				t.Fatal(err)
			}
			if holds(s, secrets[name]) {
				t.Errorf("%s, %s: not seen", name, tc.name)
			}
		}
	}
}
