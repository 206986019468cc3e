package enronqa

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/lines"
)

// inboxName is what a user's whole mail goes by. It comes before the mails that are
// asked about: those are in it too, and a document is known by the file that it
// came in last.
const inboxName = "inbox.mbox"

// inbox finds a user's whole mail. Why says why there is none.
func inbox(folder, user string) (f eval.File, why string, err error) {
	if user != filepath.Base(user) || !filepath.IsLocal(user) {
		return f, "no file can have this user's name", nil
	}
	for _, ending := range []string{".mbox", ".mbox.gz"} {
		path := filepath.Join(folder, user+ending)
		in, err := lines.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return f, "", err
		}
		size, err := io.Copy(io.Discard, in) // it tells damage, too
		if err = errors.Join(err, in.Close()); err != nil {
			return f, "", fmt.Errorf("%s: %w", path, err)
		}
		return eval.File{Name: inboxName, Size: size, Open: func() (io.ReadCloser, error) { return lines.Open(path) }}, "", nil
	}
	return f, fmt.Sprintf("%s holds neither %s.mbox nor %s.mbox.gz", folder, user, user), nil
}
