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

// SpaceExport receives the bytes of an exported space.
type SpaceExport struct {
	InSpace
	Backup
	// Documents exports the documents alone, for a copy on another node.
	Documents bool `query:"documents"`
	// Unless is the ETag of what the client has, or *: then only the ETag is wanted.
	Unless Given `query:"unless"`
	// Tag is called with the ETag of the documents, before the first byte. If they are unchanged,
	// nothing is written.
	Tag func(tag string, unchanged bool)
}

func (x SpaceExport) check() error {
	if x.Unless != "" && !x.Documents {
		return invalidField("query:unless", "needs documents=true")
	}
	return nil
}

// SpaceImport is an exported space to import.
type SpaceImport struct {
	InSpace
	// Update makes the documents of an existing copy those of an export of documents.
	Update  bool `query:"update"`
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
	return sendArchive(w, "percached-backup", func(to io.Writer, encrypted func()) error {
		_, err := s.backend.Backup(r.Context(), Backup{to, encrypted})
		return err
	})
}

// exportSpace sends a space, as backup does all.
func (s *Server) exportSpace(w http.ResponseWriter, r *http.Request) error {
	in, err := params[SpaceExport](r)
	if err != nil {
		return err
	}
	same := false
	in.Tag = func(tag string, unchanged bool) {
		w.Header().Set("ETag", `"`+tag+`"`)
		same = unchanged
	}
	if err := sendArchive(w, "percached-space", func(to io.Writer, encrypted func()) error {
		in.Backup = Backup{to, encrypted}
		_, err := s.backend.ExportSpace(r.Context(), in)
		return err
	}); err != nil || !same {
		return err
	}
	w.Header().Del("Content-Type")
	w.Header().Del("Content-Disposition")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func sendArchive(w http.ResponseWriter, name string, send func(to io.Writer, encrypted func()) error) error {
	h := w.Header()
	h.Set("Content-Type", archiveType)
	h.Set("Content-Disposition", `attachment; filename="`+name+`.tar.gz"`)
	to := bufio.NewWriterSize(w, 1<<20)
	encrypted := func() {
		h.Set("Content-Type", encryptedType)
		h.Set("Content-Disposition", `attachment; filename="`+name+`.encrypted"`)
	}
	if err := send(to, encrypted); err != nil {
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
	var out Restored
	if err := receiveArchive(r, func() (err error) {
		in.Archive = r.Body
		out, err = s.backend.Restore(r.Context(), in)
		return err
	}); err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

func (s *Server) importSpace(w http.ResponseWriter, r *http.Request) error {
	in, err := params[SpaceImport](r)
	if err != nil {
		return err
	}
	var out Space
	if err := receiveArchive(r, func() (err error) {
		in.Archive = r.Body
		out, err = s.backend.ImportSpace(r.Context(), in)
		return err
	}); err != nil {
		return err
	}
	return reply(w, http.StatusCreated, out)
}

// receiveArchive calls read for the archive in the body.
func receiveArchive(r *http.Request, read func() error) error {
	if err := requireType(r, archiveType, encryptedType); err != nil {
		return err
	}
	setBodyLimit(r, math.MaxInt64) // the disk is the only limit
	err := read()
	if body := exchangeOf(r.Context()).body.readError(); body != nil && err != nil {
		err = body // the archive is incomplete because the client did not send all of it
	}
	return err
}
