package node

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/remotebackup"
)

const (
	firstRetry = 5 * time.Second
	maxRetry   = 10 * time.Minute
	// pruneEvery is the longest time between two looks for backups that were kept long enough.
	pruneEvery = time.Hour
	// fullShare: a whole backup waits until at most this share of the time goes into whole backups.
	fullShare = 10
	// smallChain: below this many bytes of increments a chain is never too long.
	smallChain = 1 << 20
	// longChain is the number of archives after which a chain is too long: names have six digits.
	longChain = 5000
)

// errEarly: a whole backup is due, but not yet. The lag shows it.
var errEarly = errors.New("it is too early for a whole backup")

// RemoteStatus says how far backups in object storage have come.
type RemoteStatus struct {
	To       string    // the address
	Last     time.Time // everything that was acknowledged by then is there; zero: there is no backup of this process
	Started  time.Time
	Error    string // why the last attempt failed; empty: it did not
	Failures int    // attempts that failed
}

// Lag is the age of the oldest change that may be missing.
func (s RemoteStatus) Lag(now time.Time) time.Duration {
	since := s.Last
	if since.IsZero() {
		since = s.Started
	}
	return max(0, now.Sub(since))
}

// RemoteBackups stores backups of a node in object storage: a whole one, then what changed since. A
// process starts with a whole one, because it does not know what changed before.
type RemoteBackups struct {
	node        *Node
	in          *inbox.Inbox
	store       *remotebackup.Store
	every, keep time.Duration
	log         *slog.Logger

	mu     sync.Mutex
	status RemoteStatus

	// Used by Run only:
	chain     *remoteChain // nil: a whole backup is due
	own       []string     // names of all chains that were begun
	newest    time.Time    // of all archives; the next one is later, also where the clock went back
	fullAgain time.Time    // no whole backup before
	pruned    time.Time
}

// remoteChain is the chain that is being continued.
type remoteChain struct {
	last         remotebackup.Manifest
	begun        time.Time       // by the clock; its name may be later
	full, behind int64           // bytes of the whole archive, and of all increments
	sent         map[string]bool // files of uploads that it has
	files        [sha256.Size]byte
	held         int    // files of the inbox at the last archive
	key          []byte // the key file; nil: the archives are plain
}

// OpenRemoteBackups prepares the backups that the configuration asks for; nil: none. It sends nothing.
// The node closes them.
func OpenRemoteBackups(n *Node, in *inbox.Inbox, c config.Config, getenv func(string) string) (*RemoteBackups, error) {
	if c.Backup.To == "" {
		return nil, nil
	}
	store, err := OpenRemote(c, c.Backup.To, getenv)
	if err != nil {
		return nil, err
	}
	n.closers = append(n.closers, func() error { store.Close(); return nil })
	return &RemoteBackups{
		node: n, in: in, store: store, every: c.Backup.Every, keep: c.Backup.Keep, log: n.Log,
		status: RemoteStatus{To: store.Place().String(), Started: n.Now()},
	}, nil
}

// OpenRemote opens a place in object storage with the credentials of a configuration.
func OpenRemote(c config.Config, to string, getenv func(string) string) (*remotebackup.Store, error) {
	place, err := remotebackup.Parse(to)
	if err != nil {
		return nil, cmdline.Misused(fault.New(fault.Invalid, "percached: backup", "%w", err))
	}
	return remotebackup.Open(place, c.Backup.KeyFile, getenv)
}

// Status says how far the backups have come.
func (r *RemoteBackups) Status() RemoteStatus {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Run makes backups until ctx ends. After a failure it tries again, ever more rarely.
func (r *RemoteBackups) Run(ctx context.Context, after func(time.Duration) <-chan time.Time) {
	retry := firstRetry
	for {
		pause := r.every
		err := r.Step(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil && !errors.Is(err, errEarly) {
			pause, retry = retry, min(2*retry, max(r.every, maxRetry))
		} else if err == nil {
			retry = firstRetry
		}
		select {
		case <-ctx.Done():
			return
		case <-after(pause):
		}
	}
}

// Step stores what changed since the last backup, and deletes backups that were kept long enough. It
// returns an error if there is no backup. All errors are in the status.
func (r *RemoteBackups) Step(ctx context.Context) error {
	chains, err := r.store.Chains(ctx) // before a snapshot keeps deleted bytes on the disk
	if err == nil && r.newest.IsZero() {
		err = r.findNewest(ctx, chains)
	}
	reached := err == nil
	if reached {
		err = r.backUp(ctx)
	}
	other := r.checkAlone(chains)
	if reached && ctx.Err() == nil { // also after a failure, because its remains need room
		other = cmp.Or(other, r.prune(ctx))
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch {
	case err != nil && !errors.Is(err, errEarly):
		r.report(err)
	case other != nil || err == nil:
		r.report(other)
	}
	return err
}

// findNewest finds the time of the newest archive that is stored.
func (r *RemoteBackups) findNewest(ctx context.Context, chains []string) error {
	points, err := r.store.Points(ctx)
	if err != nil {
		return err
	}
	r.newest = time.Unix(0, 0)
	for _, p := range points {
		r.newest = later(r.newest, p.Made)
	}
	for _, name := range chains {
		r.newest = later(r.newest, remotebackup.Begun(name))
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// prune deletes, if it is time, what nobody may restore any more. If the chain in use is no longer
// there, the next backup is a whole one.
func (r *RemoteBackups) prune(ctx context.Context) error {
	now, every := r.node.Now(), pruneEvery
	if r.keep > 0 {
		every = min(every, r.keep/16)
	}
	if since := now.Sub(r.pruned); since >= 0 && since < every {
		return nil
	}
	chain := ""
	if r.chain != nil {
		chain = r.chain.last.Chain
	}
	there, err := r.store.Prune(ctx, chain, r.keep, now)
	if err != nil {
		return fault.New(fault.KindOf(err), "percached: backup", "cannot delete backups that are older than backup-keep: %s", cmdline.Sentence(err))
	}
	if r.pruned = now; r.chain != nil && !there {
		r.log.Warn("the backup was deleted in object storage; the next one is a whole one", "to", r.status.To)
		r.chain = nil
	}
	return nil
}

// checkAlone says whether another daemon began a chain after this one did. That is likely one that was
// restored from the same place, with its configuration.
func (r *RemoteBackups) checkAlone(chains []string) error {
	for _, name := range chains {
		if len(r.own) > 0 && name > r.own[0] && !slices.Contains(r.own, name) {
			return fault.New(fault.Conflict, "percached: backup", "another daemon backs up to %s, too, and a restore cannot tell the two apart; give one of them another prefix, and delete %s there", r.status.To, name)
		}
	}
	return nil
}

// report puts the end of an attempt into the status and, if it is new, into the log.
func (r *RemoteBackups) report(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := ""
	if err != nil {
		text = cmdline.Sentence(err)
		r.status.Failures++
	}
	switch before := r.status.Error; {
	case text != "" && text != before:
		r.log.Warn("cannot back up to object storage; will retry", "to", r.status.To, "error", text)
	case text == "" && before != "":
		r.log.Info("backups to object storage work again", "to", r.status.To)
	}
	r.status.Error = text
}

// backUp stores one archive, unless nothing changed.
func (r *RemoteBackups) backUp(ctx context.Context) error {
	now := r.node.Now()
	early := now.Before(r.fullAgain)
	if r.chain == nil && early {
		return errEarly
	}
	var changes *kv.Changes
	took := false
	m, err := r.node.takeMoment(ctx, r.in, func() (s *kv.Snapshot, err error) {
		s, changes, err = r.node.Meta.TakeChanges()
		took = err == nil
		return s, err
	})
	if err != nil {
		if took {
			r.node.Meta.ReturnChanges(changes)
		}
		return err
	}
	taken := m.header.Made.Truncate(time.Millisecond) // as in names
	r.newest = later(taken, r.newest.Add(time.Millisecond))
	m.header.Made = r.newest
	// A new passphrase does not open what is in the chain.
	full := r.chain == nil || changes == nil || !bytes.Equal(r.chain.key, m.seal.File)
	if !full && !early {
		full = r.chain.behind > max(r.chain.full, smallChain) || r.chain.last.Number >= longChain || r.keep > 0 && now.Sub(r.chain.begun) >= remotebackup.Renewal(r.keep)
	}
	if full && early { // an increment cannot take its place
		m.close()
		r.chain = nil
		return errEarly
	}
	next, err := r.archive(ctx, m, changes, full)
	if full {
		r.fullAgain = r.node.Now().Add(fullShare * r.node.Now().Sub(now))
	}
	if err != nil {
		r.node.Meta.ReturnChanges(changes)
		return err
	}
	r.chain = next
	if full {
		r.chain.begun = now.Round(0) // also while the machine sleeps
	}
	r.mu.Lock()
	r.status.Last = taken
	r.mu.Unlock()
	return nil
}

// archive stores an archive of a moment, closes the moment, and returns the chain with it.
func (r *RemoteBackups) archive(ctx context.Context, m *moment, changes *kv.Changes, full bool) (*remoteChain, error) {
	files, err := r.filesSum()
	closed := sync.OnceFunc(m.close)
	defer closed()
	if err != nil {
		return nil, err
	}
	next := &remoteChain{sent: map[string]bool{}, files: files, held: len(m.uploads), key: m.seal.File}
	mf := remotebackup.Manifest{
		Made: m.header.Made, Percached: m.header.Percached, Spaces: m.header.Spaces, Documents: m.header.Documents, Uploads: m.header.Uploads,
	}
	records := func(w *backup.Writer) error { return m.writeAll(ctx, w) }
	leaveOut := map[string]bool{}
	news := false
	for _, f := range m.uploads {
		if path.Ext(f.Name) == ".spool" {
			next.sent[f.Name] = true
			news = news || !full && !r.chain.sent[f.Name]
		}
	}
	if full {
		mf.Chain = remotebackup.NewChain(mf.Made)
		r.own = append(r.own, mf.Chain)
	} else {
		if changes.Len() == 0 && !news && files == r.chain.files && len(m.uploads) == r.chain.held {
			return r.chain, nil
		}
		next.begun, leaveOut, m.header.Increment = r.chain.begun, r.chain.sent, true
		mf.Chain, mf.Number, mf.Previous = r.chain.last.Chain, r.chain.last.Number+1, r.chain.last.SHA256
		records = func(w *backup.Writer) error { return m.meta.EachChange(changes, w.Change) }
	}
	next.last, err = r.store.Write(ctx, mf, func(to io.Writer) error {
		defer closed() // before the last part is sent
		return r.node.writeMoment(m, to, leaveOut, records)
	})
	if err != nil {
		return nil, err
	}
	if full {
		next.full = next.last.Size
	} else {
		next.full, next.behind = r.chain.full, r.chain.behind+next.last.Size
	}
	return next, nil
}

// filesSum is a checksum of percached.conf and the prompts.
func (r *RemoteBackups) filesSum() (sum [sha256.Size]byte, err error) {
	var all bytes.Buffer
	err = r.node.eachFile(func(name string, content []byte) error {
		fmt.Fprintf(&all, "%s %d\n%s", name, len(content), content)
		return nil
	})
	return sha256.Sum256(all.Bytes()), err
}
