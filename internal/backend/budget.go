package backend

import (
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/budget"
	"github.com/percached/percached/internal/node"
)

// wireStatusBudget returns the budget with unknown figures left out.
func wireStatusBudget(b node.Budget) api.StatusBudget {
	known := func(n int64) *int64 {
		if n < 0 {
			return nil
		}
		return &n
	}
	m := api.BudgetMemory{
		FreeBytes: known(b.Memory.Available), WeightBytes: b.Model.Weights + b.Model.Mapped, TokenBytes: b.Model.TokenBytes, MarginBytes: budget.Margin,
		RoomBytes: known(b.Context.Room), UsedBytes: b.Context.Bytes, Context: b.Context.Tokens, From: string(b.Context.Bound), Why: b.Context.Why(),
	}
	if len(b.Experts.Parts) > 0 {
		m.Experts = &api.BudgetExperts{
			Bytes: b.Model.Experts + b.Model.Mapped, ResidentBytes: known(b.Cached), MappedBytes: b.Model.Mapped,
		}
	}
	if b.Memory.Total > 0 {
		m.TotalBytes = &b.Memory.Total
	}
	var sharing *api.BudgetSharing
	if s := b.Shares; s != nil {
		sharing = &api.BudgetSharing{
			SliceBytes: b.Hot, SliceLimitBytes: s.Hot, SliceHits: int64(b.HotHits), TypedBytes: b.Typed, Idle: s.Idle, Scarce: s.Scarce, Why: s.Why(),
		}
	}
	return api.StatusBudget{
		Memory: m, Changed: b.Changed, Sharing: sharing,
		Disk: api.BudgetDisk{
			FreeBytes: known(b.Disk.Free), HeldBytes: b.Disk.Held, ReserveBytes: budget.Reserve, LimitBytes: b.Tensors.Limit, From: string(b.Tensors.Bound), Why: b.Tensors.Why(),
		},
	}
}
