package backend

import (
	"context"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
)

func (b *Backend) backup(ctx context.Context, to api.Backup) (api.Nothing, error) {
	return api.Nothing{}, b.Backup(ctx, b.Inbox, to.To)
}

func (b *Backend) restore(ctx context.Context, r api.Restore) (api.Restored, error) {
	if b.Restorer == nil {
		return api.Restored{}, fault.New(fault.Unsupported, "percached: restore", "only a daemon restores over its interface: use percached restore FILE")
	}
	return b.Restorer(ctx, r)
}
