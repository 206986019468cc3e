package api

import (
	"bufio"
	"io"
	"math"
	"net/http"
	"time"
)

// The media types of a backup.
const (
	archiveType   = "application/gzip"
	encryptedType = "application/octet-stream" // of an encrypted folder
)

// Backup receives the bytes of a backup.
type Backup struct {
	To io.Writer
	// Encrypted is called before the first byte of an encrypted backup.
	Encrypted func()
}

// Restore is a backup that replaces the stored data.
type Restore struct {
	// Force allows the restore to replace existing documents.
	Force   bool `query:"force"`
	Archive io.Reader
}

// Restored counts what the backup contained.
type Restored struct {
	Made      time.Time `json:"made"` // when the backup was made
	Spaces    int       `json:"spaces"`
	Documents int       `json:"documents"`
	Uploads   int       `json:"uploads"` // uploads that are not processed yet
}

// backup sends a backup. An error before the first byte becomes a problem. After that the
// server cuts the connection, so a response that ends normally is complete.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) error {
	if _, err := params[Nothing](r); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", archiveType)
	h.Set("Content-Disposition", `attachment; filename="percached-backup.tar.gz"`)
	to := bufio.NewWriterSize(w, 1<<20)
	encrypted := func() {
		h.Set("Content-Type", encryptedType)
		h.Set("Content-Disposition", `attachment; filename="percached-backup.encrypted"`)
	}
	if _, err := s.backend.Backup(r.Context(), Backup{to, encrypted}); err != nil {
		h.Del("Content-Disposition")
		return err
	}
	return to.Flush()
}

func (s *Server) restore(w http.ResponseWriter, r *http.Request) error {
	in, err := params[Restore](r)
	if err != nil {
		return err
	}
	if err := requireType(r, archiveType, encryptedType); err != nil {
		return err
	}
	setBodyLimit(r, math.MaxInt64) // the disk is the only limit
	in.Archive = r.Body
	out, err := s.backend.Restore(r.Context(), in)
	if body := exchangeOf(r.Context()).body.readError(); body != nil && err != nil {
		err = body // the archive is incomplete because the client did not send all of it
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
