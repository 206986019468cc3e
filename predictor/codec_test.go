package predictor

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/sealed"
)

var codecKey = []byte("Pa")

func samplePart() *part {
	return &part{version: 7, made: time.Unix(1, 2).UTC(), used: true, bytes: 5, at: recency{
		date: time.Unix(3, 4).UTC(), added: time.Unix(5, 6).UTC(), document: percached.DocumentID{1}, number: 300,
	}}
}

func samplePrediction() Prediction {
	return Prediction{
		Question: "Who came?", From: History, Chunks: []percached.ChunkID{{1}, {2}}, Asked: [][16]byte{{3}}, Made: time.Unix(1, 2).UTC(),
	}
}

func TestCodec(t *testing.T) {
	p, text, err := decodePart(codecKey, encodePart(codecKey, samplePart(), "A lot"))
	if d := cmp.Diff(samplePart(), p, cmp.AllowUnexported(part{}, recency{})); d != "" || text != "A lot" || err != nil {
		t.Error(d, text, err)
	}
	want := samplePrediction()
	q, err := decodePrediction(codecKey, encodePrediction(codecKey, &want))
	if d := cmp.Diff(want, q); d != "" || err != nil {
		t.Error(d, err)
	}
	s := state{true, 9, time.Unix(1, 2).UTC()}
	if got, err := decodeState(codecKey, encodeState(codecKey, s)); got != s || err != nil {
		t.Error(got, err)
	}
	c := map[Drop]uint64{Known: 3, Cut: 1}
	got, err := decodeCounts(codecKey, encodeCounts(codecKey, c))
	if d := cmp.Diff(c, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

// decoders by name, each with a record.
func decoders() map[string]struct {
	value  []byte
	decode func(b []byte) error
} {
	q := samplePrediction()
	return map[string]struct {
		value  []byte
		decode func(b []byte) error
	}{
		"part":       {encodePart(codecKey, samplePart(), "A lot"), func(b []byte) error { _, _, err := decodePart(codecKey, b); return err }},
		"prediction": {encodePrediction(codecKey, &q), func(b []byte) error { _, err := decodePrediction(codecKey, b); return err }},
		"state":      {encodeState(codecKey, state{}), func(b []byte) error { _, err := decodeState(codecKey, b); return err }},
		"counts":     {encodeCounts(codecKey, map[Drop]uint64{Cut: 1}), func(b []byte) error { _, err := decodeCounts(codecKey, b); return err }},
	}
}

// Every flipped or missing byte is detected.
func TestCodecFindsDamage(t *testing.T) {
	for name, r := range decoders() {
		for i := range r.value {
			flipped := append([]byte{}, r.value...)
			flipped[i] ^= 0x41
			if err := r.decode(flipped); err == nil {
				t.Errorf("%s: byte %d flipped, no error", name, i)
			}
			if err := r.decode(r.value[:i]); err == nil {
				t.Errorf("%s: cut at %d, no error", name, i)
			}
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range decoders() {
		f.Add(r.value[1 : len(r.value)-4])
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		// A valid version and checksum, so that the decoders read what is between.
		w := sealed.NewWriter(formatVersion, codecKey)
		w.Raw(b)
		value := w.Seal()
		for name, r := range decoders() {
			if err := r.decode(value); err != nil && !errors.Is(err, sealed.ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if p, err := decodePrediction(codecKey, value); err == nil {
			again, err := decodePrediction(codecKey, encodePrediction(codecKey, &p))
			if d := cmp.Diff(p, again); d != "" || err != nil || !isQuestion(p.Question) {
				t.Error(d, err, p.Question)
			}
		}
		if p, text, err := decodePart(codecKey, value); err == nil {
			again, text2, err := decodePart(codecKey, encodePart(codecKey, p, text))
			if d := cmp.Diff(p, again, cmp.AllowUnexported(part{}, recency{})); d != "" || err != nil || text != text2 {
				t.Error(d, err)
			}
		}
	})
}
