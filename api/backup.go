package api

import (
	"bufio"
	"io"
	"math"
	"net/http"
	"time"
)

// archiveType is the media type of a backup.
const archiveType = "application/gzip"

// Backup is where a backup goes.
type Backup struct{ To io.Writer }

// Restore is a backup that replaces what is stored.
type Restore struct {
	// Force replaces documents that are there.
	Force   bool `query:"force"`
	Archive io.Reader
}

// Restored is what a backup held.
type Restored struct {
	Made      time.Time `json:"made"` // when the backup was made
	Spaces    int       `json:"spaces"`
	Documents int       `json:"documents"`
	Uploads   int       `json:"uploads"` // that wait to be taken in
}

// backup sends a backup. What fails at once is told as any problem; behind the first
// bytes sent the connection is cut: a backup that ends well is whole.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) error {
	if _, err := params[Nothing](r); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", archiveType)
	h.Set("Content-Disposition", `attachment; filename="percached-backup.tar.gz"`)
	to := bufio.NewWriterSize(w, 1<<20)
	if _, err := s.backend.Backup(r.Context(), Backup{To: to}); err != nil {
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
	if err := requireType(r, archiveType); err != nil {
		return err
	}
	setBodyLimit(r, math.MaxInt64) // the disk bounds it
	in.Archive = r.Body
	out, err := s.backend.Restore(r.Context(), in)
	if body := exchangeOf(r.Context()).body.readError(); body != nil && err != nil {
		err = body // the archive is not whole because it was not sent whole
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
