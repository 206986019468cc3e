package backend

import (
	"context"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
)

// exportDocuments exports the documents of a space for a copy, unless they are those that the
// caller has.
func (b *Backend) exportDocuments(ctx context.Context, x api.SpaceExport) error {
	if err := b.checkHere(x.Space); err != nil {
		return err
	}
	digest, err := b.Library.DocumentsDigest(ctx, x.Space)
	if err != nil {
		return err
	}
	unchanged := x.Unless == "*" || string(x.Unless) == digest
	if x.Tag(digest, unchanged); unchanged {
		return nil
	}
	if b.Home.Encryption != nil {
		x.Encrypted()
	}
	return b.ExportDocuments(ctx, x.Space, x.To)
}

// updateCopy makes the documents of a copy those of an export.
func (b *Backend) updateCopy(ctx context.Context, x api.SpaceImport) (api.Space, error) {
	isCopy := func() error {
		sp, err := b.Knowledge.Space(x.Space)
		if err == nil && deref(sp.Settings.CopyOf) == "" {
			err = fault.New(fault.Conflict, "percached: import", "the space %q is not a copy: its setting copy_of is not set", x.Space)
		}
		return err
	}
	if err := isCopy(); err != nil {
		return api.Space{}, err
	}
	// Reports of uploads from before it was a copy may name what is deleted.
	if err := b.Inbox.Forget(x.Space); err != nil {
		return api.Space{}, err
	}
	if err := b.UpdateCopy(ctx, x.Space, readWhile(ctx, x.Archive), isCopy); err != nil {
		return api.Space{}, fault.Wrap("percached: import", err)
	}
	sp, err := b.Knowledge.Space(x.Space)
	if err != nil {
		return api.Space{}, err
	}
	return b.aboutSpace(sp)
}
