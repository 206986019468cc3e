package backup

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// format is the version of the archive.
const format = 1

// The entries of an archive.
const (
	headerName = "percached-backup"
	endName    = "end"
	metaFolder = "meta/"
)

// Header says what an archive is.
type Header struct {
	Format    int       `json:"format"`
	Schema    int       `json:"schema"` // version of the data folder
	Percached string    `json:"percached"`
	Made      time.Time `json:"made"`
	Spaces    int       `json:"spaces"`
	Documents int       `json:"documents"`
	Uploads   int       `json:"uploads"` // that wait
}

// end closes an archive.
type end struct {
	Records int    `json:"records"`
	Files   int    `json:"files"`
	SHA256  string `json:"sha256"` // of the records
}

const (
	maxJSON    = 1 << 20  // of header and end
	maxText    = 1 << 20  // of percached.conf and a prompt
	maxKey     = 64 << 10 // of a record
	maxValue   = 16 << 20 // of a record; the database takes half of it
	pieceBytes = 4 << 20  // a piece of meta ends with the record that exceeds it
	maxPiece   = pieceBytes + maxKey + maxValue + 2*binary.MaxVarintLen64
)

var (
	inboxName  = regexp.MustCompile(`^inbox/([0-9a-f]{32}\.(upload|spool)|withheld)$`)
	promptName = regexp.MustCompile(`^prompts/([^/]+/)?[^/]+\.txt$`)
)

// isFile says whether an entry of this name is a file of the data folder.
func isFile(name string) bool {
	return fs.ValidPath(name) && (name == "percached.conf" || inboxName.MatchString(name) || promptName.MatchString(name)) &&
		!strings.ContainsAny(name, "\\\x00")
}

// tooLarge: what people write is short. An upload may be as large as it is.
func tooLarge(name string, size int64) bool { return size > maxText && !inboxName.MatchString(name) }

var errCut = errors.New("it ends too early: it was cut")

// unfit is the fault of an archive that is not whole.
func unfit(op string, err error) error {
	return fault.New(fault.Invalid, op, "the backup is damaged: %w", err)
}
