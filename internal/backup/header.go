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

// format is the version of the archive, spaceFormat that of an archive of one space, and
// incrementFormat that of an increment. So a program that knows only whole archives does not take
// one for the other.
const (
	format          = 1
	spaceFormat     = 2
	incrementFormat = 3
)

// The names of an archive's entries.
const (
	headerName = "percached-backup"
	endName    = "end"
	metaFolder = "meta/"
)

// Header describes an archive.
type Header struct {
	Format    int       `json:"format"`
	Space     string    `json:"space,omitempty"` // the only one in the archive; empty: all
	Schema    int       `json:"schema"`          // the data folder's version
	Percached string    `json:"percached"`
	Made      time.Time `json:"made"`
	Spaces    int       `json:"spaces"`
	Documents int       `json:"documents"`
	Uploads   int       `json:"uploads"` // uploads that are not processed yet
	// Increment: the archive holds what changed since the one before it, and is useless without.
	Increment bool `json:"increment,omitempty"`
}

// check refuses an archive that cannot be read for a target.
func (h Header) check(to Target) error {
	switch {
	case h.Format > incrementFormat:
		return newerFormat(h.Format)
	case h.Format < format:
		return errors.New("its header contains no version")
	case (h.Format == spaceFormat) != (h.Space != ""), (h.Format == incrementFormat) != h.Increment:
		return errors.New("its version does not match its content")
	case h.Increment && to.Change == nil:
		return fault.New(fault.Invalid, "backup.Read", "this is one increment of a backup in object storage, useless alone; restore from there: percached restore s3://BUCKET/PREFIX")
	case !h.Increment && to.Change != nil:
		return errors.New("it is a whole backup where an increment belongs")
	}
	return nil
}

// The first byte of a value in an increment.
const (
	changeSet     = 1
	changeDeleted = 0
)

// end is the last entry of an archive.
type end struct {
	Records int    `json:"records"`
	Files   int    `json:"files"`
	SHA256  string `json:"sha256"` // of the records
}

const (
	maxJSON    = 1 << 20  // bytes of header and end
	maxText    = 1 << 20  // bytes of percached.conf or a prompt
	maxKey     = 64 << 10 // bytes of a record's key
	maxValue   = 16 << 20 // bytes of a record's value; twice the database's limit
	pieceBytes = 4 << 20  // a piece of meta ends with the record that exceeds it
	maxPiece   = pieceBytes + maxKey + maxValue + 2*binary.MaxVarintLen64
)

var (
	inboxName  = regexp.MustCompile(`^inbox/([0-9a-f]{32}\.(upload|spool)|withheld)$`)
	promptName = regexp.MustCompile(`^prompts/([^/]+/)?[^/]+\.txt$`)
)

// isDataFile says whether the name is that of a file of the data folder.
func isDataFile(name string) bool {
	return fs.ValidPath(name) && (name == "percached.conf" || inboxName.MatchString(name) || promptName.MatchString(name)) &&
		!strings.ContainsAny(name, "\\\x00")
}

// tooLarge says whether a file exceeds its limit. Uploads have none; the other files are short.
func tooLarge(name string, size int64) bool { return size > maxText && !inboxName.MatchString(name) }

var errTruncated = errors.New("it is truncated")

// damagedError makes an error of a damaged archive.
func damagedError(op string, err error) error {
	return fault.New(fault.Invalid, op, "the backup is damaged: %w", err)
}
