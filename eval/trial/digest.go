package trial

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/percached/percached/eval"
)

// digest tells data from other data: of the files all bytes count, of the questions
// all that is known.
func digest(d *eval.Data) (string, error) {
	all := sha256.New()
	say := json.NewEncoder(all)
	for i := range d.Sets {
		s := &d.Sets[i]
		if err := say.Encode([]any{s.User, s.Kind, s.Ordered, s.Questions, len(s.Files)}); err != nil {
			return "", err
		}
		for _, f := range s.Files {
			sum, err := sumOf(f)
			if err == nil {
				err = say.Encode([]string{f.Name, sum})
			}
			if err != nil {
				return "", err
			}
		}
	}
	return hex.EncodeToString(all.Sum(nil)[:16]), nil
}

func sumOf(f eval.File) (string, error) {
	in, err := f.Open()
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	h := sha256.New()
	if _, err := io.Copy(h, in); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
