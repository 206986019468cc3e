package remotebackup_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/remotebackup"
	"github.com/percached/percached/internal/remotebackup/s3test"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, s *s3test.Server, prefix string) *remotebackup.Store {
	t.Helper()
	place, err := remotebackup.Parse(s.Address(prefix))
	if err != nil {
		t.Fatal(err)
	}
	store, err := remotebackup.Open(place, s.KeyFile, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	return store
}

var began = time.Date(2026, 11, 1, 12, 0, 0, 123e6, time.UTC)

// write adds archives with these texts to a chain that begins at a time, an hour apart.
func write(t *testing.T, s *remotebackup.Store, from time.Time, texts ...string) (all []remotebackup.Manifest) {
	t.Helper()
	m := remotebackup.Manifest{Chain: remotebackup.NewChain(from)}
	for i, text := range texts {
		m.Number, m.Made, m.Previous = i, from.Add(time.Duration(i)*time.Hour), m.SHA256
		var err error
		if m, err = s.Write(t.Context(), m, func(to io.Writer) error {
			_, err := io.WriteString(to, text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// restored returns the texts that a moment needs, joined.
func restored(ctx context.Context, s *remotebackup.Store, at time.Time) (string, error) {
	points, err := s.Points(ctx)
	if err != nil {
		return "", err
	}
	p, err := s.PointAt(points, at)
	if err != nil {
		return "", err
	}
	archives, err := s.Archives(ctx, points, p)
	if err != nil {
		return "", err
	}
	var all []string
	for _, m := range archives {
		from, err := s.Read(ctx, m)
		if err != nil {
			return "", err
		}
		b, err := io.ReadAll(from)
		from.Close()
		if err != nil {
			return "", err
		}
		all = append(all, string(b))
	}
	return strings.Join(all, " "), nil
}

// What was written to a real server comes back, at every moment.
func TestRealServer(t *testing.T) {
	server := s3test.Start(t)
	s := open(t, server, "some/where")
	if names, err := s.Chains(t.Context()); err != nil || len(names) != 0 {
		t.Fatal(names, err)
	}
	if _, err := restored(t.Context(), s, time.Time{}); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	large := strings.Repeat("sixteen bytes. \n", 40<<16) // in three parts
	write(t, s, began, "a", large, "c")
	write(t, s, began.Add(24*time.Hour), "d")
	if names, err := s.Chains(t.Context()); err != nil || len(names) != 2 || names[0] > names[1] {
		t.Error(names, err)
	}
	for _, tc := range []struct {
		at   time.Time
		want string
	}{
		{began, "a"},
		{began.Add(time.Hour), "a " + large},
		{began.Add(3 * time.Hour), "a " + large + " c"},
		{time.Time{}, "d"},
	} {
		if got, err := restored(t.Context(), s, tc.at); err != nil || got != tc.want {
			t.Errorf("at %v: %d bytes instead of %d, %v", tc.at, len(got), len(tc.want), err)
		}
	}
	if _, err := restored(t.Context(), s, began.Add(-time.Second)); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if _, err := restored(t.Context(), open(t, server, "else"), time.Time{}); fault.KindOf(err) != fault.NotFound {
		t.Error("another prefix has the backup, too:", err)
	}
	if _, err := s.Prune(t.Context(), "", 40*time.Hour, began.Add(60*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got, err := restored(t.Context(), s, time.Time{}); err != nil || got != "d" {
		t.Errorf("%q %v", got, err)
	}
	if names := server.Objects(""); len(names) != 2 {
		t.Errorf("the old chain was not deleted: %q", names)
	}
}

// A server that fails, at any request, leaves what was there, and the error says why without the
// credentials.
func TestFailures(t *testing.T) {
	text := func(to io.Writer) error {
		_, err := io.WriteString(to, "new")
		return err
	}
	for _, tc := range []struct {
		name  string
		spoil func(w http.ResponseWriter, r *http.Request) bool
		says  string
	}{
		{"unavailable", func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPut && s3test.Refuse(w, http.StatusServiceUnavailable, "SlowDown")
		}, "cannot write"},
		{"cut", func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPut && s3test.Cut(w, r)
		}, "cannot write"},
		{"cut within the body", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodPut {
				return false
			}
			io.CopyN(io.Discard, r.Body, 10) //nolint:errcheck // it is cut
			return s3test.Cut(w, r)
		}, "cannot write"},
		{"no manifest", func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, ".json") && s3test.Refuse(w, http.StatusInternalServerError, "InternalError")
		}, "cannot write"},
		{"denied", func(w http.ResponseWriter, r *http.Request) bool {
			return r.Method == http.MethodPut && s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
		}, "refuses the credentials"},
		{"stored something else", func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodHead {
				return false
			}
			w.Header().Set("Content-Length", "7")
			w.Header().Set("ETag", `"00000000000000000000000000000000"`)
			w.Header().Set("Last-Modified", time.Unix(1, 0).UTC().Format(http.TimeFormat))
			return true
		}, "stored another size"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := s3test.NewFake(t)
			s := open(t, f.Server, "p")
			chain := write(t, s, began, "a", "b")
			f.Spoil(tc.spoil)
			m := chain[1]
			m.Number, m.Made, m.Previous = 2, began.Add(9*time.Hour), m.SHA256
			_, err := s.Write(t.Context(), m, text)
			if err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "not-a-secret") {
				t.Errorf("%v", err)
			}
			f.Spoil(nil)
			if got, err := restored(t.Context(), s, time.Time{}); err != nil || got != "a b" {
				t.Errorf("%q %v", got, err)
			}
			if _, err := s.Write(t.Context(), m, text); err != nil {
				t.Error("the next attempt fails, too:", err)
			}
			if got, err := restored(t.Context(), s, time.Time{}); err != nil || got != "a b new" {
				t.Errorf("%q %v", got, err)
			}
		})
	}
}

// An archive that cannot be made leaves no manifest, and its own error comes back.
func TestArchiveFails(t *testing.T) {
	f := s3test.NewFake(t)
	s := open(t, f.Server, "p")
	broken := errors.New("broken")
	_, err := s.Write(t.Context(), remotebackup.Manifest{Chain: remotebackup.NewChain(began), Made: began}, func(to io.Writer) error {
		_, _ = io.WriteString(to, "half")
		return broken
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	if names := f.Objects(""); len(names) != 0 {
		t.Errorf("%q", names)
	}
}

// Damage of any object is found, and the moments before it can still be restored.
func TestDamage(t *testing.T) {
	flip := func(b []byte) []byte {
		b[len(b)/2] ^= 1
		return b
	}
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	longer := func(b []byte) []byte { return append(b, 'x') }
	for name, change := range map[string]func([]byte) []byte{"flipped": flip, "cut": cut, "longer": longer, "missing": nil} {
		for i, end := range []string{".archive", ".json"} {
			t.Run(name+end, func(t *testing.T) {
				f := s3test.NewFake(t)
				s := open(t, f.Server, "p")
				write(t, s, began, "first", "second", "third")
				var at string
				for _, n := range f.Objects("p/") {
					if strings.Contains(n, "/000001-") && strings.HasSuffix(n, end) {
						at = n
					}
				}
				if change == nil {
					f.Remove(at)
				} else {
					f.Change(at, change)
				}
				if got, err := restored(t.Context(), s, began); err != nil || got != "first" {
					t.Errorf("%q %v", got, err)
				}
				got, err := restored(t.Context(), s, time.Time{})
				if i == 1 && (name == "longer" || name == "missing") {
					// Without its manifest a moment and those after it are not there; white space is nothing.
					if name == "missing" && (err != nil || got != "first") {
						t.Errorf("%q %v", got, err)
					}
					return
				}
				if err == nil && got != "first second third" || fault.KindOf(err) == fault.Internal && err != nil {
					t.Errorf("%q %v", got, err)
				}
				if i == 0 && err == nil {
					t.Error("it was not noticed")
				}
			})
		}
	}
}

// After a lost response an archive is there twice. The next one says which it continues.
func TestTwoOfOneNumber(t *testing.T) {
	f := s3test.NewFake(t)
	s := open(t, f.Server, "p")
	chain := write(t, s, began, "a", "lost")
	for i, text := range []string{"again", "next"} {
		m := chain[0]
		if i > 0 {
			m = chain[len(chain)-1]
		}
		m.Number, m.Previous = i+1, m.SHA256
		m.Made = began.Add(time.Duration(10+i) * time.Hour)
		m, err := s.Write(t.Context(), m, func(to io.Writer) error {
			_, err := io.WriteString(to, text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		chain = append(chain, m)
	}
	for at, want := range map[time.Time]string{began.Add(time.Hour): "a lost", began.Add(10 * time.Hour): "a again", {}: "a again next"} {
		if got, err := restored(t.Context(), s, at); err != nil || got != want {
			t.Errorf("%v: %q %v", at, got, err)
		}
	}
}

// An archive that is too large is an error, and has no manifest: the server would have only its beginning.
func TestTooLarge(t *testing.T) {
	f := s3test.NewFake(t)
	s := open(t, f.Server, "p")
	s.LimitArchives(10)
	for text, fits := range map[string]bool{"ten bytes.": true, "more than ten": false} {
		chain := remotebackup.NewChain(began)
		_, err := s.Write(t.Context(), remotebackup.Manifest{Chain: chain, Made: began}, func(to io.Writer) error {
			_, err := io.WriteString(to, text)
			return err
		})
		if !fits && (fault.KindOf(err) != fault.Unsupported || len(f.Objects("p/"+chain)) > 0) {
			t.Errorf("%q: %v", text, err)
		}
		// The manifest has more than 10 bytes.
		if fits && len(f.Objects("p/"+chain)) != 1 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The points of a chain stay in the order of their numbers where the clock went back.
func TestClockWentBack(t *testing.T) {
	f := s3test.NewFake(t)
	s := open(t, f.Server, "p")
	m := remotebackup.Manifest{Chain: remotebackup.NewChain(began)}
	for i, text := range []string{"a", "b", "c"} {
		m.Number, m.Made, m.Previous = i, began.Add(-time.Duration(i)*time.Hour), m.SHA256
		var err error
		if m, err = s.Write(t.Context(), m, func(to io.Writer) error {
			_, err := io.WriteString(to, text)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := restored(t.Context(), s, time.Time{}); err != nil || got != "a b c" {
		t.Errorf("%q %v", got, err)
	}
}
