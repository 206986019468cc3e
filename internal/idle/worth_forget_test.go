package idle

import (
	"context"
	"testing"

	"github.com/percached/percached"
)

type fixedEmbedder struct{ embedder }

func (fixedEmbedder) Embed(_ context.Context, _ percached.Priority, texts []string) ([][]float32, error) {
	return make([][]float32, len(texts)), nil
}

// Vectors of questions go when their space or its history is gone.
func TestLatestVectorsForget(t *testing.T) {
	var l latestVectors
	for _, space := range []string{"kept", "gone"} {
		if _, err := l.embed(t.Context(), fixedEmbedder{}, space, []string{"Who leads Heron?"}); err != nil {
			t.Fatal(err)
		}
	}
	l.forget(func(space string) bool { return space == "gone" })
	if l.of["gone"] != nil || len(l.of["kept"]) != 1 {
		t.Errorf("%v", l.of)
	}
}
