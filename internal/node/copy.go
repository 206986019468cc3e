package node

import (
	"context"
	"io"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/version"
)

// ExportDocuments writes the documents of a space, for a copy of it on another node. It is
// written while the space changes: what is missed is in the next export.
func (n *Node) ExportDocuments(ctx context.Context, space string, to io.Writer) error {
	holds, err := n.Knowledge.Stats(space)
	if err != nil {
		return err
	}
	seal, err := n.seal()
	if err != nil {
		return err
	}
	w, err := backup.NewWriter(to, seal, backup.Header{
		Schema: home.Version, Percached: version.String(), Made: n.Now().UTC(), Space: space, Spaces: 1, Documents: holds.Documents,
	})
	if err != nil {
		return err
	}
	if err := n.Library.ExportDocuments(ctx, space, w.Record); err != nil {
		return err
	}
	return w.Close()
}

// UpdateCopy makes the documents of a space those of an export. Allowed is asked before each
// change. After an error or a crash some documents are as before.
func (n *Node) UpdateCopy(ctx context.Context, space string, from io.Reader, allowed func() error) error {
	const op = "percached: import"
	update := n.Library.BeginCopyUpdate(space, allowed)
	if _, err := backup.Read(from, backup.Target{
		Header: func(b backup.Header) error {
			if b.Space != space {
				return fault.New(fault.Invalid, op, "this is not an export of the documents of the space %q", space)
			}
			return nil
		},
		Key: n.Home.KeyOf,
		File: func(string, int64, io.Reader) error {
			return fault.New(fault.Invalid, op, "this is not an export of documents alone")
		},
		Record: func(key, value []byte) error { return update.Set(ctx, key, value) },
	}); err != nil {
		return err
	}
	return update.Commit(ctx)
}
