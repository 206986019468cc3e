package backend

import (
	"context"
	"time"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/telemetry"
)

func wireStatus(begun time.Time, q api.StatusQuestions, m telemetry.State) api.Status {
	out := api.Status{
		Started: begun.UTC(), Questions: q,
		Stored: api.StatusStored{
			Spaces: m.Spaces, Documents: m.Documents, Chunks: m.Chunks, Entries: m.Entries, Answered: m.Answered, Stale: m.Stale,
			BankBytes: m.Bank.Bytes, BankLimit: m.Bank.Limit, Slices: m.Slices, TensorBytes: m.Tensors.Bytes, TensorLimit: m.Tensors.Limit,
			DiskBytes: m.Disk.Bytes,
		},
		Waiting: api.StatusWaiting{Questions: m.Questions, Uploads: m.Uploads, Parked: m.Parked},
		Idle:    api.StatusIdle{State: m.Idle},
	}
	for _, jobs := range m.Queue {
		out.Waiting.Jobs += jobs
	}
	for _, a := range m.Ledger {
		out.Idle.SpentSeconds += a.Spent
		out.Idle.SavedSeconds += a.Saved
	}
	return out
}

func (b *Backend) status(context.Context, api.Nothing) (api.Status, error) {
	now, err := b.State()
	if err != nil {
		return api.Status{}, err
	}
	out := wireStatus(b.Started, b.recorder.Questions(), now)
	out.Placements, err = b.listPlacements()
	return out, err
}
