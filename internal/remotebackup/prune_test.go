package remotebackup_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/remotebackup"
	"github.com/percached/percached/internal/remotebackup/s3test"
)

// Prune deletes chains by the age of what continued them, and never the newest or the one in use.
func TestPrune(t *testing.T) {
	const keep = 40 * time.Hour
	day := func(n int) time.Time { return began.Add(time.Duration(n) * 24 * time.Hour) }
	for _, tc := range []struct {
		name string
		now  time.Time
		used int // index of the chain in use
		want []int
	}{
		{"all is new", day(2), 2, []int{0, 1, 2}},
		{"kept for 30 hours after the next began", day(1).Add(29 * time.Hour), 2, []int{0, 1, 2}},
		{"and no longer", day(1).Add(31 * time.Hour), 2, []int{1, 2}},
		{"the newest stays", day(90), -1, []int{2}},
		{"the one in use, too", day(90), 0, []int{0, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := s3test.NewFake(t)
			s := open(t, f.Server, "p")
			var chains []string
			for i := range 3 {
				chains = append(chains, write(t, s, day(i), "a", "b")[0].Chain)
			}
			if _, err := s.Write(t.Context(), remotebackup.Manifest{Chain: remotebackup.NewChain(day(2)), Made: day(2)}, func(io.Writer) error { return nil }); err != nil {
				t.Fatal(err)
			}
			// A chain that never got its manifest.
			for _, n := range f.Objects("p/") {
				if strings.HasSuffix(n, ".json") && !slices.ContainsFunc(chains, func(c string) bool { return strings.Contains(n, c) }) {
					f.Remove(n)
				}
			}
			used := ""
			if tc.used >= 0 {
				used = chains[tc.used]
			}
			if _, err := s.Prune(t.Context(), used, keep, tc.now); err != nil {
				t.Fatal(err)
			}
			var left []int
			others := 0
			for i, c := range chains {
				if names := f.Objects("p/" + c); len(names) == 4 {
					left = append(left, i)
				} else if len(names) > 0 {
					t.Errorf("half of a chain is left: %q", names)
				}
			}
			if diff := cmp.Diff(tc.want, left); diff != "" {
				t.Error(diff)
			}
			if others = len(f.Objects("p/")) - 4*len(left); (others > 0) != (tc.now.Sub(day(2)) < 24*time.Hour) {
				t.Errorf("%d objects of an upload that never ended", others)
			}
		})
	}
}

// Where Prune is interrupted, no chain is listed that cannot be restored.
func TestPruneInterrupted(t *testing.T) {
	for stop := range 6 {
		f := s3test.NewFake(t)
		s := open(t, f.Server, "p")
		write(t, s, began, "a", "b", "c")
		write(t, s, began.Add(24*time.Hour), "d")
		n := 0
		f.Spoil(func(w http.ResponseWriter, r *http.Request) bool { // one request after the other
			if r.Method != http.MethodDelete {
				return false
			}
			n++
			return n > stop && s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
		})
		if _, err := s.Prune(t.Context(), "", time.Hour, began.Add(90*24*time.Hour)); err == nil {
			t.Fatal("it was not interrupted")
		}
		f.Spoil(nil)
		points, err := s.Points(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			if _, err := restored(t.Context(), s, p.Made); err != nil {
				t.Errorf("after %d deletions: %v", stop, err)
			}
		}
		if _, err := s.Prune(t.Context(), "", time.Hour, began.Add(90*24*time.Hour)); err != nil {
			t.Fatal(err)
		}
		if names := f.Objects(""); len(names) != 2 {
			t.Errorf("after %d deletions: %q is left", stop, names)
		}
	}
}
