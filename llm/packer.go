package llm

import "github.com/percached/percached"

// Packer is an engine that can make slices smaller at the cost of exactness. It restores
// the slices that it packed like others. A segment that was computed behind a packed slice
// is not exact either, so the engine does not capture it.
type Packer interface {
	// Pack returns a copy of a slice in a smaller form. It is Unsupported for a model whose
	// tensors have none.
	Pack(s *percached.Slice, to percached.Form) (*percached.Slice, error)
}
