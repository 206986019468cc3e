package telemetry

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
)

// The event of an answer names the chunks that it rests on, in order, as its space
// does.
func TestEventNamesChunks(t *testing.T) {
	a, b := percached.ChunkID{1}, percached.ChunkID{2}
	ids := percached.NewPublicIDs([16]byte{1})
	r := &Recorder{IDs: func(space string) (percached.PublicIDs, error) {
		if space != "mail" {
			return percached.PublicIDs{}, errors.New("it is gone")
		}
		return ids, nil
	}}
	for name, tt := range map[string]struct {
		cited []answer.Citation
		want  []percached.ChunkID
	}{
		"some": {[]answer.Citation{{Chunk: b}, {Chunk: a}}, ids.Chunks([]percached.ChunkID{b, a})},
		"none": {nil, []percached.ChunkID{}},
	} {
		if got := r.chunksOf("gone", answer.Answer{Citations: tt.cited}); len(got) > 0 {
			t.Errorf("%s: %v in no space", name, got)
		}
		if d := cmp.Diff(tt.want, r.chunksOf("mail", answer.Answer{Citations: tt.cited})); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}
