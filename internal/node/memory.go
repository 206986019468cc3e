package node

import (
	"context"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/ingest"
	"github.com/percached/percached/knowledgebank"
)

// consult decides how a question uses the facts of its space.
func (n *Node) consult(space, question string) (answer.Consulted, error) {
	u, err := n.Memory.Decide(space, question)
	return answer.Consulted{Memory: answer.Memory{Facts: u.Facts, Needed: u.Needed, Why: u.Why}, All: u.All, Best: u.Best}, err
}

// storeDocument adds one document to all layers.
func (n *Node) storeDocument(ctx context.Context, space string, s *knowledgebank.Source) error {
	const op = "node.storeDocument"
	one := func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
		return emit(s)
	}
	r, err := n.Library.Add(ctx, space, ingest.Source(one), nil)
	if err == nil && r.Failed > 0 {
		err = fault.New(fault.Internal, op, "the document was not added: %s", r.Failures[0].Reason)
	}
	return fault.Wrap(op, err)
}
