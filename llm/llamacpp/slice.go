package llamacpp

import (
	"errors"
	"fmt"
	"slices"

	"github.com/percached/percached"
)

// pieceBytes is the size that pieces of a slice aim at: small enough for a
// store to write and map in one go, large enough that there are few.
const pieceBytes = 1 << 20

// sliceChecker holds what a slice must agree with to be restored.
type sliceChecker struct {
	fingerprint string
	layout      *layout // nil: slices cannot be stored
	noSlices    string  // why
	queryWidth  int     // queries of one token and layer; 0: not to be had
}

// check says why a slice cannot stand in for a step. It reads every byte of
// the slice once, for the checksum.
func (k *sliceChecker) check(s *step) error {
	sl := s.slice
	switch {
	case k.layout == nil:
		return errors.New(k.noSlices)
	case sl.Model != k.fingerprint:
		return fmt.Errorf("it is of another model or other settings (%s, not %s)", short(sl.Model), short(k.fingerprint))
	case sl.Start != s.start:
		return fmt.Errorf("it begins at position %d instead of %d", sl.Start, s.start)
	case !slices.Equal(sl.Tokens, s.tokens):
		return errors.New("its tokens are not the segment's")
	case sl.Path != s.path:
		return errors.New("it was computed behind other segments")
	case sl.Planes > percached.QKV:
		return fmt.Errorf("unknown planes %d", sl.Planes)
	case sl.Planes == percached.QKV && k.queryWidth == 0:
		return errors.New("it holds queries, which this model has not")
	case len(sl.Pieces) == 0:
		return errors.New("it has no pieces")
	}
	at := 0
	for i := range sl.Pieces {
		p := &sl.Pieces[i]
		if p.From != at || p.To <= at || p.To > len(sl.Tokens) {
			return fmt.Errorf("piece %d holds tokens %d to %d of %d; token %d should come next", i, p.From, p.To, len(sl.Tokens), at)
		}
		if err := k.checkPiece(sl, p); err != nil {
			return fmt.Errorf("piece %d %w", i, err)
		}
		at = p.To
	}
	if at != len(sl.Tokens) {
		return fmt.Errorf("its pieces end at token %d of %d", at, len(sl.Tokens))
	}
	return nil
}

func (k *sliceChecker) checkPiece(sl *percached.Slice, p *percached.Piece) error {
	n := p.To - p.From
	if err := k.layout.check(p.KV, sl.Start+p.From, n); err != nil {
		return err
	}
	queries := 0
	if sl.Planes == percached.QKV {
		queries = 2 * k.layout.depth() * n * k.queryWidth
	}
	if len(p.Q) != queries {
		return fmt.Errorf("has %d bytes of queries instead of %d", len(p.Q), queries)
	}
	if p.Checksum() != p.Sum {
		return errors.New("is damaged: its checksum is wrong")
	}
	return nil
}

func short(s string) string { return s[:min(len(s), 12)] }
