package predictor

import (
	"crypto/sha256"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/percached/percached/internal/base/kv"
)

// NewID is the ID of the prediction of this question in this space, whether or
// not there is one.
func NewID(space, question string) [16]byte { return newID(kv.NewSpaceID(space), question) }

func newID(space kv.SpaceID, question string) [16]byte {
	h := sha256.New()
	h.Write([]byte("prediction\x00"))
	h.Write(space[:])
	h.Write([]byte("\x00" + normalise(question)))
	return [16]byte(h.Sum(nil)[:16])
}

// normalise writes a question so that repeats of it are equal. IDs rest on it:
// changing it needs a new format version.
func normalise(question string) string {
	s := norm.NFC.String(strings.ToLower(strings.ToValidUTF8(question, "")))
	s = strings.Join(strings.Fields(s), " ")
	if bare := strings.TrimFunc(s, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) }); bare != "" {
		return bare
	}
	return s
}
