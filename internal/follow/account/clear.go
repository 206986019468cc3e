package account

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/emersion/go-imap/v2"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/follow"
)

var errBare = errors.New("it is empty, so its documents stay; if it should be empty, run percached sources sync with --empty")

// clear deletes the documents whose mail left all folders.
func (r *run) clear(ctx context.Context) error {
	held := map[percached.DocumentID]bool{}
	for name, f := range r.State.kept.Folders {
		if !slices.Contains(r.bare, name) {
			hold(f, held)
		}
	}
	for _, name := range r.bare {
		r.clearBare(name, held)
	}
	if r.unread || len(r.State.kept.Gone) == 0 {
		return nil
	}
	others, err := r.State.held(r.Sources, r.Source)
	if err != nil {
		return err
	}
	due := maps.Clone(r.State.kept.Gone)
	maps.DeleteFunc(due, func(id percached.DocumentID, _ gone) bool { return held[id] || others[id] })
	if len(due) > 0 && (r.have == nil || len(r.fresh) > 0 && !r.Full) {
		if err := r.list(ctx); err != nil {
			return err
		}
	}
	var ids, paths []string
	for id, g := range due {
		if d, ok := r.have[id]; ok && fromMail(d.Path) {
			ids = append(ids, d.ID)
			paths = append(paths, g.Path)
		}
	}
	if len(ids) > 0 {
		slices.Sort(ids)
		if err := r.State.save(); err != nil { // with the mails that hold other documents
			return err
		}
		if err := r.Space.Delete(ctx, ids); err != nil {
			return err
		}
	}
	r.report.Deleted += len(ids)
	clear(r.State.kept.Gone)
	r.State.dirty = true
	slices.Sort(paths)
	for _, path := range paths {
		r.changed(follow.Change{What: follow.Removed, Path: path, Deleted: 1})
	}
	return nil
}

// clearBare keeps those documents of an empty folder that no other folder holds, and reports
// the folder if there are any.
func (r *run) clearBare(name string, held map[percached.DocumentID]bool) {
	f := r.State.folder(name)
	maps.DeleteFunc(f.Mails, func(_ imap.UID, m *mail) bool {
		return !slices.ContainsFunc(m.Documents, func(id percached.DocumentID) bool { return !held[id] })
	})
	r.State.dirty = true
	if len(f.Mails) > 0 {
		hold(f, held)
		r.report.Blocked = append(r.report.Blocked, follow.Obstacle{Path: r.Source.Path(plainName(name)), Err: errBare})
	}
}

// hold collects the documents of a folder.
func hold(f *folder, held map[percached.DocumentID]bool) {
	for _, m := range f.Mails {
		for _, id := range m.Documents {
			held[id] = true
		}
	}
}

// Documents calls fn with the documents of the space that a source holds or that came from it,
// and that nothing else holds.
func Documents(ctx context.Context, o Options, fn func(follow.Document)) error {
	others, err := o.State.held(o.Sources, o.Source)
	if err != nil {
		return err
	}
	own := map[percached.DocumentID]bool{}
	o.State.kept.documents(func(id percached.DocumentID) { own[id] = true })
	return o.Space.Documents(ctx, func(d follow.Document) {
		id := percached.NewDocumentID(d.Key)
		if (own[id] && fromMail(d.Path) || strings.HasPrefix(d.Path, o.Source.Path()+"/")) && !others[id] {
			fn(d)
		}
	})
}
