package node_test

import (
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/remotebackup"
	"github.com/percached/percached/internal/remotebackup/s3test"
)

// backingUp is a node with a clock that backs up to a fake.
type backingUp struct {
	*kept
	fake   *s3test.Fake
	in     *inbox.Inbox
	config config.Config
	remote *node.RemoteBackups
}

func backing(t *testing.T, keep time.Duration) *backingUp {
	b := &backingUp{kept: keeping(t, 0), fake: s3test.NewFake(t), config: config.Default()}
	b.config.Backup.To, b.config.Backup.KeyFile, b.config.Backup.Keep = b.fake.Address("p"), b.fake.KeyFile, keep
	var err error
	b.in, err = node.OpenInbox(b.Node, node.InboxLimits{Disk: math.MaxInt64, Documents: math.MaxInt, Expanded: math.MaxInt64}, b.Log, inbox.Observer{})
	b.do(err)
	b.start()
	return b
}

// start begins as a new process does.
func (b *backingUp) start() {
	b.t.Helper()
	var err error
	b.remote, err = node.OpenRemoteBackups(b.Node, b.in, b.config, os.Getenv)
	b.do(err)
}

func (b *backingUp) space(name string) {
	b.t.Helper()
	b.do(b.Knowledge.CreateSpace(percached.Space{Name: name, Kind: "emails"}))
}

// newest is the newest point, and how many points and chains there are.
func (b *backingUp) newest() (p remotebackup.Point, points, chains int) {
	b.t.Helper()
	store, err := node.OpenRemote(b.config, b.config.Backup.To, os.Getenv)
	b.do(err)
	defer store.Close()
	all, err := store.Points(b.t.Context())
	b.do(err)
	p, err = store.PointAt(all, time.Time{})
	b.do(err)
	names, err := store.Chains(b.t.Context())
	b.do(err)
	return p, len(all), len(names)
}

// Where the clock goes back, in a process or between two, the last backup is still the newest.
func TestBackupsWhereTheClockGoesBack(t *testing.T) {
	b := backing(t, 0)
	b.do(b.remote.Step(t.Context()))
	for i, name := range []string{"one", "two", "three"} {
		b.pass(-time.Hour)
		b.space(name)
		if i == 2 {
			b.start()
		}
		b.do(b.remote.Step(t.Context()))
		p, points, chains := b.newest()
		want := [3]int{i + 1, i + 2, 1}
		if i == 2 {
			want = [3]int{0, 4, 2}
		}
		if got := [3]int{p.Number, points, chains}; got != want {
			t.Errorf("%s: number, points, chains: %v, not %v", name, got, want)
		}
		if s := b.remote.Status(); !s.Last.Equal(b.now()) || s.Error != "" {
			t.Errorf("%s: %+v at %v", name, s, b.now())
		}
	}
}

// A whole backup that took long and failed is not repeated at once. Increments go on, and the failure
// stays in the status until there is a backup.
func TestFailedWholeBackups(t *testing.T) {
	const keep = 40 * time.Hour
	b := backing(t, keep)
	slowly := func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "/000000-") {
			return false
		}
		b.pass(time.Minute)
		return s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
	}
	b.fake.Spoil(slowly)
	if err := b.remote.Step(t.Context()); err == nil {
		t.Fatal("it did not fail")
	}
	b.fake.Spoil(nil)
	if err := b.remote.Step(t.Context()); err == nil || b.remote.Status().Error == "" || len(b.fake.Objects("")) > 0 {
		t.Errorf("at once: %v %+v", err, b.remote.Status())
	}
	b.pass(10 * time.Minute)
	b.do(b.remote.Step(t.Context()))
	if b.remote.Status().Error != "" {
		t.Error(b.remote.Status())
	}
	b.pass(keep / 4) // a new chain is due
	b.fake.Spoil(slowly)
	b.space("one")
	if err := b.remote.Step(t.Context()); err == nil {
		t.Fatal("it did not fail")
	}
	b.do(b.remote.Step(t.Context()))
	if p, points, _ := b.newest(); p.Number != 1 || points != 2 {
		t.Errorf("no increment: %+v of %d", p, points)
	}
	b.pass(10 * time.Minute)
	b.fake.Spoil(nil)
	b.do(b.remote.Step(t.Context()))
	if p, _, chains := b.newest(); p.Number != 0 || chains != 2 {
		t.Errorf("no whole one: %+v in %d chains", p, chains)
	}
}

// A failure to delete old backups is no failure to back up, and what is left of uploads goes while
// backups fail.
func TestPruneAndBackUp(t *testing.T) {
	b := backing(t, 40*time.Hour)
	left := func() bool {
		return slices.ContainsFunc(b.fake.Objects(""), func(name string) bool {
			return strings.HasSuffix(name, "-00000000/000000-20260302T100000.000Z.archive")
		})
	}
	store, err := node.OpenRemote(b.config, b.config.Backup.To, os.Getenv)
	b.do(err)
	defer store.Close()
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	m, err := store.Write(t.Context(), remotebackup.Manifest{Chain: "20260302T100000.000Z-00000000", Made: at}, func(io.Writer) error { return nil })
	b.do(err)
	b.fake.Remove("p/" + strings.TrimSuffix(m.Archive, ".archive") + ".json")
	b.fake.Spoil(func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodDelete && s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
	})
	b.do(b.remote.Step(t.Context()))
	if s := b.remote.Status(); !strings.Contains(s.Error, "cannot delete") || s.Last.IsZero() || !left() {
		t.Errorf("%+v", s)
	}
	b.fake.Spoil(func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodPut && s3test.Refuse(w, http.StatusForbidden, "AccessDenied")
	})
	b.space("one")
	if err := b.remote.Step(t.Context()); err == nil || left() {
		t.Errorf("%v, the remains are left: %v", err, left())
	}
}

// After somebody deleted the chain in use, the next backup is a whole one, whatever is kept.
func TestDeletedChain(t *testing.T) {
	for _, keep := range []time.Duration{0, 40 * time.Hour} {
		b := backing(t, keep)
		b.do(b.remote.Step(t.Context()))
		for _, name := range b.fake.Objects("") {
			b.fake.Remove(name)
		}
		b.pass(2 * time.Hour)
		b.do(b.remote.Step(t.Context())) // notices
		b.do(b.remote.Step(t.Context()))
		if p, _, _ := b.newest(); p.Number != 0 {
			t.Errorf("keep %v: %+v", keep, p)
		}
	}
}
