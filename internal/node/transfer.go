package node

import (
	"context"
	"errors"
	"io"
	"path"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/version"
	"github.com/percached/percached/internal/inbox"
	"github.com/percached/percached/internal/ingest"
)

// ExportSpace writes one space: a backup with its records and prompts alone. It refuses while
// uploads of the space wait.
func (n *Node) ExportSpace(ctx context.Context, in *inbox.Inbox, space string, to io.Writer) error {
	if err := n.Library.CompleteDeletions(ctx, space); err != nil {
		return err
	}
	holds, err := n.Knowledge.Stats(space)
	if err != nil {
		return err
	}
	_ = n.flush(ctx) // counts in memory; an export without them is valid, too
	var meta *kv.Snapshot
	var made time.Time
	if err := in.SnapshotSpace(space, func() (err error) {
		made = n.Now()
		meta, err = n.Meta.Snapshot()
		return err
	}); err != nil {
		return err
	}
	defer meta.Close()
	seal, err := n.seal()
	if err != nil {
		return err
	}
	w, err := backup.NewWriter(to, seal, backup.Header{
		Schema: home.Version, Percached: version.String(), Made: made.UTC(), Space: space, Spaces: 1, Documents: holds.Documents,
	})
	if err != nil {
		return err
	}
	if promptName.MatchString(space) && !IsPromptFile(space) {
		if err := n.eachPrompt(path.Join("prompts", space), addTo(w)); err != nil {
			return err
		}
	}
	if err := n.Library.ExportSpace(meta, space, func(key, value []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return w.Record(key, value)
	}); err != nil {
		return err
	}
	return w.Close()
}

// seal is the encryption of a backup: that of the folder, if it has one.
func (n *Node) seal() (seal backup.Seal, err error) {
	if n.Home.Encryption == nil {
		return seal, nil
	}
	seal.Key = n.Home.Encryption
	seal.File, err = n.Home.WrappedKey()
	return seal, err
}

// ImportSpace reads an exported space and makes it exist here. The space must not exist, or be
// empty. Alone calls do while nobody else creates, changes or deletes the space. After an error,
// and after a crash meanwhile, nothing of the import exists, nor of an empty space that it replaced.
func (n *Node) ImportSpace(ctx context.Context, in *inbox.Inbox, space string, from io.Reader, alone func(do func() error) error) (percached.Space, error) {
	i := &importing{n: n, space: space}
	err := i.readAll(ctx, from, func() error {
		return alone(func() error { return i.begin(ctx, in) })
	})
	if i.into == nil {
		return percached.Space{}, err
	}
	if err == nil {
		err = n.PromptFiles(space).Write(i.prompts)
	}
	if err == nil {
		err = i.into.Commit(ctx, func(s *percached.Settings) { s.ReadOnly, s.MovedTo = nil, nil })
	}
	if err != nil {
		err = errors.Join(err, i.into.Abort(ctx))
		return percached.Space{}, errors.Join(err, n.PromptFiles(space).Remove())
	}
	sp, err := n.Knowledge.Space(space)
	if err != nil {
		return sp, err
	}
	if err := n.LimitTensors(sp); err != nil { // the space exists
		n.Log.Warn("cannot limit the tensors of an imported space; the next start will", "kind", fault.KindOf(err), "error", err)
	}
	return sp, nil
}

// importing is the import of a space in progress.
type importing struct {
	n       *Node
	space   string
	into    *ingest.Import // nil: it has not begun
	prompts Prompts
}

// begin takes the place of the space.
func (i *importing) begin(ctx context.Context, in *inbox.Inbox) error {
	const op = "percached: import"
	n, space, empty := i.n, i.space, false
	err := in.SnapshotSpace(space, func() (err error) {
		empty, err = n.isEmpty(space)
		return err
	})
	if fault.KindOf(err) == fault.NotFound {
		err = nil
	}
	if err == nil && empty {
		_, err = n.Library.DeleteSpace(ctx, space)
	}
	if err != nil {
		return err
	}
	into, err := n.Library.BeginImport(ctx, space)
	if fault.KindOf(err) == fault.Conflict && !empty {
		return fault.New(fault.Conflict, op, "the space %q exists here and is not empty, or is being imported; delete it first, or export it to keep a copy", space)
	}
	i.into = into
	return err
}

// isEmpty says whether an existing space holds nothing of a user. Marks of deleted documents are
// something.
func (n *Node) isEmpty(space string) (bool, error) {
	st, err := n.Knowledge.Stats(space)
	if err != nil || st.Documents > 0 || n.Bank.Stats(space).Entries > 0 || n.Conversations.Count(space) > 0 {
		return false, err
	}
	marks, err := n.Library.Remembered(space)
	if err != nil || marks > 0 {
		return false, err
	}
	asked, err := n.History.Recent(space, 1)
	return len(asked) == 0, err
}

// readAll calls begin when the header is checked.
func (i *importing) readAll(ctx context.Context, from io.Reader, begin func() error) error {
	const op = "percached: import"
	_, err := backup.Read(from, backup.Target{
		Header: func(b backup.Header) error {
			switch {
			case b.Schema > home.Version:
				return fault.New(fault.Unsupported, op, "a newer percached made this export (folder version %d; this percached supports %d); upgrade percached", b.Schema, home.Version)
			case b.Space == "":
				return fault.New(fault.Invalid, op, "this is a backup of all spaces, not the export of one; restore it with percached restore")
			case b.Space != i.space:
				return fault.New(fault.Invalid, op, "this is the export of the space %q; a space keeps its name", b.Space)
			}
			return begin()
		},
		Key: i.n.Home.KeyOf,
		File: func(name string, _ int64, from io.Reader) error {
			for _, one := range PromptFields(&i.prompts) {
				if name != path.Join("prompts", i.space, one.Name+".txt") {
					continue
				}
				b, err := io.ReadAll(from) // backup.Read limits its size
				text := strings.ToValidUTF8(string(b), "\uFFFD")
				*one.Text = &text
				return err
			}
			return fault.New(fault.Invalid, op, "it contains a file that does not belong to the space")
		},
		Record: func(key, value []byte) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return i.into.Set(key, value)
		},
	})
	return err
}

// dropImports deletes what a crash left of imports.
func (n *Node) dropImports() error {
	left, err := ingest.DropImports(n.Meta)
	for _, space := range left {
		err = errors.Join(err, n.PromptFiles(space).Remove())
	}
	return err
}
