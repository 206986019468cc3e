package account

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/emersion/go-imap/v2"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/follow"
	"github.com/percached/percached/knowledgebank/reader"
)

// saveEvery is how often the state is written while mails are sent.
const saveEvery = 5 * time.Second

// space is where the documents are.
type space interface {
	Documents(ctx context.Context, fn func(follow.Document)) error
	Add(ctx context.Context, files []follow.File) (unsent map[string]error, err error)
	Delete(ctx context.Context, ids []string) error
}

// Options of a Run.
type Options struct {
	Source Source
	State  *State
	Space  space
	// Sources are all sources: mails of others stay.
	Sources []Source
	// Empty: the documents of a folder that is empty or missing are deleted.
	Empty bool
	// Full: compare with the documents of the space, not only with the state.
	Full     bool
	Now      func() time.Time
	Observer follow.Observer // of a path of the source
}

// run is one Run in progress.
type run struct {
	Options
	account *Account
	keys    *reader.Reader
	have    map[percached.DocumentID]follow.Document // of the space; nil: not listed
	// known are mails that need not be fetched. The value says whether they are absent.
	known  map[content]bool
	seen   map[percached.DocumentID]bool // documents of these mails, of any size
	bare   []string                      // folders that are empty although mails of theirs are known
	unread bool                          // some folder could not be opened
	fresh  []*mail                       // that were sent
	saved  time.Time
	report follow.Report
}

// content is a mail by what it says, wherever it is.
type content struct {
	document percached.DocumentID
	size     int64
}

// Run puts the space in step with the folders of the account once. With an error the report
// covers what was done before; the next Run does the rest.
func Run(ctx context.Context, a *Account, o Options) (follow.Report, error) {
	r, err := begin(a, o)
	if err == nil {
		err = r.do(ctx)
	}
	if late := o.State.save(); err == nil {
		err = late
	}
	if ctx.Err() != nil && err != nil {
		err = ctx.Err()
	}
	return r.report, fault.Wrap("account.Run", err)
}

func begin(a *Account, o Options) (*run, error) {
	r := &run{Options: o, account: a, saved: o.Now()}
	var err error
	r.keys, err = reader.New(reader.Default())
	return r, err
}

// Sync connects and runs once. If the connection is lost after some mails were stored, it
// goes on with another.
func Sync(ctx context.Context, password string, o Options) (total follow.Report, err error) {
	for {
		a, err := Dial(ctx, o.Source, password)
		if err != nil {
			return total, err
		}
		before := o.State.stored()
		r, err := Run(ctx, a, o)
		a.Close()
		r.Deleted += total.Deleted
		total = r
		if !errors.As(err, new(*lost)) || o.State.stored() == before || ctx.Err() != nil {
			return total, err
		}
	}
}

// stored counts the mails that are known.
func (s *State) stored() (n int) {
	for _, f := range s.kept.Folders {
		n += len(f.Mails)
	}
	return n
}

func (r *run) do(ctx context.Context) error {
	if r.Full {
		if err := r.list(ctx); err != nil {
			return err
		}
	}
	r.index()
	added := map[string][]imap.UID{}
	for _, name := range r.Source.Folders {
		uids, err := r.compare(name)
		if err != nil {
			return err
		}
		added[name] = uids
	}
	missing := map[string][]heading{}
	bytes := int64(0)
	for _, name := range r.Source.Folders {
		some, err := r.adopt(ctx, name, added[name])
		if err != nil {
			return err
		}
		for _, h := range some {
			bytes += h.size
		}
		missing[name] = some
	}
	if r.Observer.Found != nil {
		r.Observer.Found(bytes)
	}
	for _, name := range r.Source.Folders {
		if err := r.sendFolder(ctx, name, missing[name]); err != nil {
			return err
		}
	}
	if r.Full && len(r.fresh) > 0 {
		if err := r.list(ctx); err != nil {
			return err
		}
		for _, m := range r.fresh {
			m.Absent = r.incomplete(m)
		}
		r.State.dirty = true
	}
	return r.clear(ctx)
}

// list reads which documents the space has.
func (r *run) list(ctx context.Context) error {
	r.have = map[percached.DocumentID]follow.Document{}
	return r.Space.Documents(ctx, func(d follow.Document) {
		r.have[percached.NewDocumentID(d.Key)] = follow.Document{ID: d.ID, Path: d.Path}
	})
}

// incomplete says that the space lacks a document of a mail.
func (r *run) incomplete(m *mail) bool {
	return slices.ContainsFunc(m.Documents, func(id percached.DocumentID) bool {
		_, ok := r.have[id]
		return !ok
	})
}

// index collects the mails that need not be fetched. It forgets those that the space lost.
func (r *run) index() {
	r.known, r.seen = map[content]bool{}, map[percached.DocumentID]bool{}
	for _, f := range r.State.kept.Folders {
		for uid, m := range f.Mails {
			if r.have != nil && !m.Absent && r.incomplete(m) {
				delete(f.Mails, uid)
				r.State.dirty = true
				continue
			}
			r.learn(m)
		}
	}
	for id, g := range r.State.kept.Gone {
		if _, ok := r.have[id]; ok || g.Absent || r.have == nil {
			r.known[content{id, g.Size}], r.seen[id] = g.Absent, true
		}
	}
}

// learn notes that a mail need not be fetched again.
func (r *run) learn(m *mail) {
	if len(m.Documents) == 1 {
		r.known[content{m.Documents[0], m.Size}], r.seen[m.Documents[0]] = m.Absent, true
	}
}

// path is the path of a document from a mail.
func (r *run) path(folder string, uid imap.UID) string {
	return r.Source.Path(plainName(folder), strconv.FormatUint(uint64(uid), 10)+".eml")
}

// plainName is the name of a folder as a part of a path.
func plainName(folder string) string {
	elements := strings.Split(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c == '\\' {
			return '_'
		}
		return c
	}, folder), "/")
	for i, e := range elements {
		if strings.Trim(e, ".") == "" {
			elements[i] = "_"
		}
	}
	return strings.Join(elements, "/")
}

// compare notes which mails left a folder, and returns those that are new.
func (r *run) compare(name string) (added []imap.UID, err error) {
	now, err := r.account.examine(name)
	if refused, ok := errors.AsType[*imap.Error](err); ok {
		missing := refused.Code == imap.ResponseCodeNonExistent
		if !missing || !r.Empty {
			r.block(name, fault.New(fault.Unavailable, "account.compare", "cannot open the folder, so no document is deleted: %s%s", reasonOf(err), hint(missing)))
			return nil, nil
		}
		now, err = box{}, nil
	}
	if err != nil {
		return nil, err
	}
	r.account.seen[name] = now
	f := r.State.folder(name)
	if now.mails == 0 && len(f.Mails) > 0 && !r.Empty {
		r.bare = append(r.bare, name)
		return nil, nil
	}
	var found []imap.UID
	if now.mails > 0 {
		if found, err = r.account.uids(); err != nil {
			return nil, err
		}
	}
	r.report.Files += len(found)
	for uid := range f.Mails {
		if _, still := slices.BinarySearch(found, uid); !still || f.Validity != now.validity {
			r.State.leave(f, uid, r.path(name, uid))
		}
	}
	if f.Validity != now.validity {
		f.Validity = now.validity
		r.State.dirty = true
	}
	for _, uid := range found {
		if f.Mails[uid] == nil {
			added = append(added, uid)
		}
	}
	r.report.Unchanged += len(found) - len(added)
	return added, nil
}

func hint(missing bool) string {
	if missing {
		return "; if it is gone for good, add --empty"
	}
	return ""
}

// block reports a folder that could not be opened.
func (r *run) block(name string, err error) {
	r.unread = true
	r.report.Blocked = append(r.report.Blocked, follow.Obstacle{Path: r.Source.Path(plainName(name)), Err: err})
}

// reopen opens a folder once more. It returns false if it is not as it was.
func (r *run) reopen(name string) (bool, error) {
	now, err := r.account.examine(name)
	if _, refused := errors.AsType[*imap.Error](err); refused {
		r.block(name, fault.New(fault.Unavailable, "account.reopen", "cannot open the folder: %s", reasonOf(err)))
		return false, nil
	}
	return err == nil && now.validity == r.State.folder(name).Validity, err
}

// adopt notes those of the new mails of a folder that percached has already, and returns the
// others.
func (r *run) adopt(ctx context.Context, name string, uids []imap.UID) (missing []heading, err error) {
	if len(uids) == 0 {
		return nil, nil
	}
	if ok, err := r.reopen(name); !ok {
		return nil, err
	}
	err = r.account.headings(uids, func(h heading) {
		if !r.take(name, h, r.keyOf(ctx, h.header)) {
			h.header = bytes.Clone(h.header)
			missing = append(missing, h)
		}
	})
	return missing, err
}

// keyOf is the document that a mail with this header becomes, or none.
func (r *run) keyOf(ctx context.Context, header []byte) (id percached.DocumentID) {
	_ = r.keys.Keys(ctx, "mail.eml", bytes.NewReader(header), func(key string) { // without one the mail is fetched
		if named(key) {
			id = percached.NewDocumentID(key)
		}
	})
	return id
}

// named says that a key is a Message-ID, and not a hash of the whole mail.
func named(key string) bool { return !strings.HasPrefix(key, "mail:sha256-") }

// take notes a mail of a folder if percached has its document. Of a document that came from an
// account while no state is left, only the Message-ID is compared.
func (r *run) take(name string, h heading, id percached.DocumentID) bool {
	absent, ok := r.known[content{id, h.size}]
	if d, there := r.have[id]; !ok && (!there || r.seen[id] || !fromMail(d.Path)) {
		return false
	}
	m := &mail{Size: h.size, Documents: []percached.DocumentID{id}, Absent: absent}
	r.State.folder(name).Mails[h.uid] = m
	r.learn(m)
	r.State.dirty = true
	r.report.Unchanged++
	path := r.path(name, h.uid)
	if was, moved := r.State.kept.Gone[id]; moved && !strings.HasPrefix(was.Path, r.Source.Path(plainName(name))+"/") {
		r.changed(follow.Change{What: follow.Moved, Path: path})
	}
	return true
}

func (r *run) changed(c follow.Change) {
	if r.Observer.Changed != nil {
		r.Observer.Changed(c)
	}
}
