package token_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/token"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// folder is a minimal data folder for tokens.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "schema"), []byte("{\"version\": 1}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func open(t *testing.T, dir string) *token.Store {
	t.Helper()
	s, err := token.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mainToken(t *testing.T, s *token.Store) string {
	t.Helper()
	secret, _, err := s.Main()
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func create(t *testing.T, s *token.Store, name, space string, role token.Role) (string, token.Token) {
	t.Helper()
	secret, made, err := s.Create(name, space, role)
	if err != nil {
		t.Fatal(err)
	}
	return secret, made
}

// holds says whether a secret is accepted.
func holds(s *token.Store, secret string) bool {
	_, ok := s.Check(secret)
	return ok
}

func TestOpenMakesNothing(t *testing.T) {
	dir := folder(t)
	s := open(t, dir)
	if holds(s, "") || holds(s, "pc_"+strings.Repeat("A", 43)) {
		t.Error("somebody is admitted without any token")
	}
	if all, err := s.List(); len(all) != 0 || err != nil {
		t.Error(all, err)
	}
	if entries, err := os.ReadDir(dir); len(entries) != 1 || err != nil {
		t.Error(entries, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, tc := range []struct {
		name string
		dir  func(t *testing.T) string
		kind fault.Kind
		says string
	}{
		{"no folder", func(t *testing.T) string { return filepath.Join(t.TempDir(), "typo") }, fault.NotFound, "does not exist yet"},
		{"another's folder", func(t *testing.T) string { return t.TempDir() }, fault.Invalid, "a data folder of percached"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := tc.dir(t)
			if _, err := token.Open(dir); fault.KindOf(err) != tc.kind || !strings.Contains(err.Error(), tc.says) {
				t.Error(err)
			}
			if entries, _ := os.ReadDir(dir); len(entries) > 0 {
				t.Error("something was made", entries)
			}
		})
	}
}

func TestMainToken(t *testing.T) {
	dir := folder(t)
	s, other := open(t, dir), open(t, dir)
	secret, made, err := s.Main()
	if err != nil || !made || !regexp.MustCompile(`^pc_[A-Za-z0-9_-]{43}$`).MatchString(secret) {
		t.Fatal(secret, made, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	for _, st := range []*token.Store{s, other, open(t, dir)} {
		again, made, err := st.Main()
		if again != secret || made || err != nil {
			t.Error(again, made, err)
		}
		got, ok := st.Check(secret)
		if d := cmp.Diff(token.Token{ID: token.MainID, Name: "main", Role: token.RoleAdmin}, got, cmpopts.IgnoreFields(token.Token{}, "Made")); d != "" || !ok {
			t.Error(ok, d)
		}
		for _, wrong := range []string{"", secret[:45], secret + "A", strings.ToLower(secret), secret[:45] + "!", "Bearer " + secret} {
			if wrong != secret && holds(st, wrong) {
				t.Errorf("%q is admitted", wrong)
			}
		}
	}
	// Revoking it puts another in its place at once.
	if err := other.Revoke(token.MainID); err != nil {
		t.Fatal(err)
	}
	if holds(s, secret) || holds(other, secret) {
		t.Error("the revoked one is admitted")
	}
	anew, made, err := s.Main()
	if anew == secret || made || err != nil || !holds(other, anew) {
		t.Error(anew == secret, made, err)
	}
}

func TestScoped(t *testing.T) {
	dir := folder(t)
	s, daemon := open(t, dir), open(t, dir)
	now := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	s.Now = func() time.Time { return now }
	main := mainToken(t, s)
	phone, phoneToken := create(t, s, "phone", "mail", token.RoleAsk)
	script, scriptToken := create(t, s, "", "", token.RoleWrite)
	for secret, want := range map[string]token.Token{
		phone:  {ID: phoneToken.ID, Name: "phone", Space: "mail", Role: token.RoleAsk, Made: now},
		script: {ID: scriptToken.ID, Role: token.RoleWrite, Made: now},
	} {
		got, ok := daemon.Check(secret)
		if d := cmp.Diff(want, got); d != "" || !ok {
			t.Error(ok, d)
		}
	}
	all, err := daemon.List()
	if d := cmp.Diff([]string{token.MainID, phoneToken.ID, scriptToken.ID}, ids(all)); d != "" || err != nil {
		t.Error(err, d)
	}
	// The secrets of the list are nowhere in the folder.
	for _, name := range []string{"token", "tokens.json", "tokens.lock"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(string(b), phone) || strings.Contains(string(b), script) {
			t.Errorf("%s: %v, or it holds a secret", name, err)
		}
		if info, _ := os.Stat(filepath.Join(dir, name)); info.Mode().Perm() != 0o600 {
			t.Error(name, info.Mode())
		}
	}
	if err := s.Revoke(phoneToken.ID); err != nil {
		t.Fatal(err)
	}
	if holds(daemon, phone) || !holds(daemon, script) || !holds(daemon, main) {
		t.Error("revoked is another than was named")
	}
	if err := s.Revoke(phoneToken.ID); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

func ids(all []token.Token) (ids []string) {
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	return ids
}

func TestCreateRefuses(t *testing.T) {
	dir := folder(t)
	s := open(t, dir)
	for _, tc := range []struct {
		name, space string
		role        token.Role
	}{
		{"", "", ""},
		{"", "", "root"},
		{"", "", "Ask"},
		{"", "Mail", token.RoleAsk},
		{"", "../mail", token.RoleAsk},
		{"", "mail\n", token.RoleAsk},
		{"", strings.Repeat("a", 65), token.RoleAsk},
		{strings.Repeat("ä", 101), "", token.RoleAsk},
		{"two\nlines", "", token.RoleAsk},
		{"bell\a", "", token.RoleAsk},
		{"\xff", "", token.RoleAsk},
		{"\u202eevil", "", token.RoleAsk},
	} {
		if _, _, err := s.Create(tc.name, tc.space, tc.role); fault.KindOf(err) != fault.Invalid {
			t.Errorf("%+v: %v", tc, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "tokens.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("something was written", err)
	}
	create(t, s, strings.Repeat("ä", 100), strings.Repeat("a", 64), token.RoleAdmin)
}

func TestDropSpace(t *testing.T) {
	s := open(t, folder(t))
	gone, _ := create(t, s, "", "mail", token.RoleAsk)
	gone2, _ := create(t, s, "", "mail", token.RoleAdmin)
	stays, _ := create(t, s, "", "mail2", token.RoleAsk)
	whole, _ := create(t, s, "", "", token.RoleAsk)
	for range 2 { // the second time there is nothing to do
		if err := s.DropSpace("mail"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DropSpace(""); fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
	if holds(s, gone) || holds(s, gone2) || !holds(s, stays) || !holds(s, whole) {
		t.Error("other tokens went than those of the space")
	}
}

func TestNoMoreThanAThousand(t *testing.T) {
	dir := folder(t)
	s := open(t, dir)
	first, _ := create(t, s, "", "", token.RoleAsk)
	token.Fill(t, dir, 1000)
	if _, _, err := s.Create("", "", token.RoleAsk); fault.KindOf(err) != fault.Conflict {
		t.Error(err)
	}
	if holds(s, first) {
		t.Error("the list was replaced, and is not seen")
	}
}
