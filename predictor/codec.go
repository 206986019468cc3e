package predictor

import (
	"time"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/sealed"
)

// formatVersion is the first byte of every value.
const formatVersion = 1

// moment is a time as records can hold it, the zero time if they cannot.
func moment(t time.Time) time.Time {
	if y := t.Year(); y < 1700 || y > 2200 {
		return time.Time{}
	}
	return t.Round(0).UTC()
}

func utf8Text(r *sealed.Reader, limit int) string {
	s := r.Text(limit)
	if !utf8.ValidString(s) {
		r.Fail()
	}
	return s
}

func writeIDs(w *sealed.Writer, n int, at func(i int) []byte) {
	w.Count(n)
	for i := range n {
		w.Raw(at(i))
	}
}

func readIDs(r *sealed.Reader, limit int, each func(id [16]byte)) {
	for range r.Count(limit, 16) {
		each([16]byte(r.Take(16)))
	}
}
