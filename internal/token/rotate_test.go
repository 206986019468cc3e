package token_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/token"
)

// rotation is a store whose time a test moves.
func rotation(t *testing.T) (dir string, s *token.Store, pass func(time.Duration)) {
	dir = folder(t)
	s = open(t, dir)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s.Now = func() time.Time { return now }
	return dir, s, func(d time.Duration) { now = now.Add(d) }
}

// The old secret works for the time of grace and not longer; the new one has the same rights.
func TestRotate(t *testing.T) {
	limit := int64(7)
	for _, which := range []string{"main", "listed"} {
		t.Run(which, func(t *testing.T) {
			dir, s, pass := rotation(t)
			before := mainToken(t, s)
			id := token.MainID
			if which == "listed" {
				secret, made, err := s.CreateLimited("phone", "mail", token.RoleWrite, token.Limits{AsksPerDay: &limit})
				if err != nil {
					t.Fatal(err)
				}
				before, id = secret, made.ID
			}
			rights, _ := s.Check(before)
			secret, anew, old, err := s.Rotate(id, time.Hour)
			if err != nil || secret == before || old.ID == anew.ID || old.ID == "" || !old.Expires.Equal(s.Now().Add(time.Hour)) {
				t.Fatalf("%+v %+v %v", anew, old, err)
			}
			got, ok := s.Check(secret)
			if d := cmp.Diff(rights, got, cmpopts.IgnoreFields(token.Token{}, "ID", "Made")); d != "" || !ok || got.ID != anew.ID {
				t.Error(ok, d)
			}
			if got, ok := s.Check(before); !ok || got.ID != old.ID || got.Role != rights.Role || got.Space != rights.Space {
				t.Error(got, ok)
			}
			pass(time.Hour - 1)
			if !holds(s, before) || !holds(open(t, dir), secret) {
				t.Error("the time of grace is shorter")
			}
			pass(1)
			if holds(s, before) || !holds(s, secret) {
				t.Error("the time of grace is longer, or the new token has ended")
			}
			create(t, s, "", "", token.RoleAsk)
			all, err := s.List()
			if err != nil || strings.Contains(strings.Join(ids(all), " "), old.ID) {
				t.Error("a token that ended is still listed after a change", err)
			}
		})
	}
}

// Without a time of grace the old secret ends at once.
func TestRotateAtOnce(t *testing.T) {
	_, s, _ := rotation(t)
	main := mainToken(t, s)
	phone, made := create(t, s, "phone", "mail", token.RoleAsk)
	for id, before := range map[string]string{token.MainID: main, made.ID: phone} {
		secret, _, old, err := s.Rotate(id, 0)
		if err != nil || old.ID != "" || holds(s, before) || !holds(s, secret) {
			t.Error(id, old, err)
		}
	}
	if all, err := s.List(); err != nil || len(all) != 2 {
		t.Error(all, err)
	}
}

// The old token can be revoked before its time.
func TestRotateThenRevoke(t *testing.T) {
	_, s, _ := rotation(t)
	before := mainToken(t, s)
	secret, _, old, err := s.Rotate(token.MainID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Revoke(old.ID); err != nil || holds(s, before) || !holds(s, secret) {
		t.Error(err)
	}
}

// A crash after the old main token was listed and before the new one was written loses nothing.
func TestRotateCutShort(t *testing.T) {
	dir, s, pass := rotation(t)
	before := mainToken(t, s)
	file := filepath.Join(dir, "token")
	if _, _, _, err := s.Rotate(token.MainID, time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(before+"\n"), 0o600); err != nil { // as if it had not been replaced
		t.Fatal(err)
	}
	s2 := open(t, dir)
	s2.Now = s.Now
	if got, ok := s2.Check(before); !ok || got.ID != token.MainID {
		t.Error(got, ok)
	}
	pass(2 * time.Hour)
	if !holds(s2, before) {
		t.Error("the main token ended")
	}
	pass(-2 * time.Hour)
	if _, _, _, err := s2.Rotate(token.MainID, time.Minute); err != nil {
		t.Error(err)
	}
	if all, err := s2.List(); err != nil || len(all) != 2 {
		t.Error(all, err)
	}
}

// A secret that such a crash has left in both places ends in both.
func TestRotateCutShortThenRevoke(t *testing.T) {
	for name, end := range map[string]func(*token.Store) error{
		"revoke": func(s *token.Store) error { return s.Revoke(token.MainID) },
		"rotate": func(s *token.Store) error { _, _, _, err := s.Rotate(token.MainID, 0); return err },
	} {
		t.Run(name, func(t *testing.T) {
			dir, s, _ := rotation(t)
			before := mainToken(t, s)
			phone, _ := create(t, s, "phone", "mail", token.RoleAsk)
			if _, _, _, err := s.Rotate(token.MainID, time.Hour); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "token"), []byte(before+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s2 := open(t, dir)
			s2.Now = s.Now
			if err := end(s2); err != nil || holds(s2, before) || !holds(s2, phone) {
				t.Error("the old secret still works, or another token ended", err)
			}
		})
	}
}

func TestRotateRefuses(t *testing.T) {
	_, s, _ := rotation(t)
	_, made := create(t, s, "phone", "mail", token.RoleAsk)
	_, _, old, err := s.Rotate(made.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		id    string
		grace time.Duration
		kind  fault.Kind
	}{
		{"000000000000", time.Hour, fault.NotFound},
		{token.MainID, -1, fault.Invalid},
		{old.ID, time.Hour, fault.Conflict},
	} {
		if _, _, _, err := s.Rotate(tc.id, tc.grace); fault.KindOf(err) != tc.kind {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

func TestSetLimits(t *testing.T) {
	dir, s, _ := rotation(t)
	secret, made := create(t, s, "phone", "mail", token.RoleAsk)
	five := int64(5)
	got, err := s.SetLimits(made.ID, func(l *token.Limits) { l.AsksPerDay = &five })
	if err != nil || got.Limits.AsksPerDay == nil || *got.Limits.AsksPerDay != 5 {
		t.Fatal(got, err)
	}
	daemon := open(t, dir)
	if l := daemon.LimitsOf(made.ID); l.AsksPerDay == nil || *l.AsksPerDay != 5 || l.UploadPerDay != nil {
		t.Error(l)
	}
	if l := daemon.LimitsOf("000000000000"); l != (token.Limits{}) {
		t.Error(l)
	}
	if _, err := s.SetLimits(made.ID, func(l *token.Limits) { l.AsksPerDay = nil }); err != nil || daemon.LimitsOf(made.ID) != (token.Limits{}) || !holds(s, secret) {
		t.Error(err)
	}
	minus := int64(-1)
	for id, kind := range map[string]fault.Kind{made.ID: fault.Invalid, token.MainID: fault.Invalid, "000000000000": fault.NotFound} {
		if _, err := s.SetLimits(id, func(l *token.Limits) { l.UploadPerDay = &minus }); fault.KindOf(err) != kind {
			t.Error(id, err)
		}
	}
}
