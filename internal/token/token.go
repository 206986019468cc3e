package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/fault"
)

// Role is what a token may do. Each role includes those before it.
type Role string

// The roles.
const (
	RoleAsk   Role = "ask"
	RoleWrite Role = "write"
	RoleAdmin Role = "admin"
)

// IsValid says whether the role exists.
func (r Role) IsValid() bool { return r == RoleAsk || r == RoleWrite || r == RoleAdmin }

// MainID is the ID of the main token.
const MainID = "main"

// Token describes a token without its secret.
type Token struct {
	ID    string
	Name  string // chosen by the user
	Space string // empty: all spaces, and operations that concern no space
	Role  Role
	Made  time.Time
	// Expires is when a rotated token ends; zero: never.
	Expires time.Time
	Limits  Limits
}

// expired says whether the token has ended.
func (t *Token) expired(now time.Time) bool { return !t.Expires.IsZero() && !now.Before(t.Expires) }

// Limits are the quotas of a token. Nil is no limit; 0 allows nothing.
type Limits struct {
	RequestsPerMinute *int64 `json:"requests_per_minute,omitempty"`
	AsksPerDay        *int64 `json:"asks_per_day,omitempty"`
	UploadPerDay      *int64 `json:"upload_bytes_per_day,omitempty"`
}

// check refuses a negative limit.
func (l Limits) check() error {
	for _, n := range []*int64{l.RequestsPerMinute, l.AsksPerDay, l.UploadPerDay} {
		if n != nil && *n < 0 {
			return fault.New(fault.Invalid, "token.check", "invalid limit: %d is negative", *n)
		}
	}
	return nil
}

// Observer receives problems. Its func may be nil and must not call the Store.
type Observer struct {
	// Trouble reports once that a file cannot be used and its tokens are rejected.
	Trouble func(err error)
}

const (
	mainFile = "token"
	listFile = "tokens.json"
	lockFile = "tokens.lock"

	maxName   = 100 // characters
	maxTokens = 1000
	maxMain   = 4 << 10 // bytes of the file
	maxList   = 1 << 20
)

// The rule of package knowledgebank.
var spaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// IsSpaceName says whether a space can have this name.
func IsSpaceName(name string) bool { return spaceName.MatchString(name) }

// Store manages the tokens of one data folder.
type Store struct {
	// Now is the clock. Now and Observer may be set before the Store is used.
	Now      func() time.Time
	Observer Observer

	dir      string
	changing sync.Mutex // held while a file is changed
	known    atomic.Pointer[known]
	reading  sync.Mutex // held while Check reads the files
	reported map[string]string
}

// Dir returns the data folder.
func (s *Store) Dir() string { return s.dir }

// Open opens the tokens of a data folder and changes nothing. It refuses unusable token files;
// its error says what to do.
func Open(dir string) (*Store, error) {
	const op = "token.Open"
	s, err := openFolder(dir)
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	_, _, noMain := s.main()
	_, _, noList := s.list()
	for _, err := range []error{noMain, noList} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fault.Wrap(op, err)
		}
	}
	return s, nil
}

// Verify says why the token files of a data folder cannot be used. It returns nil if the folder
// is missing or not percached's.
func Verify(dir string) error {
	if _, err := openFolder(dir); err != nil {
		return nil
	}
	_, err := Open(dir)
	return err
}

// Renew replaces the main token, in whatever state it is, and returns the new one.
func Renew(dir string) (secret string, err error) {
	const op = "token.Renew"
	s, err := openFolder(dir)
	if err != nil {
		return "", fault.Wrap(op, err)
	}
	if err := s.Revoke(MainID); err != nil {
		return "", fault.Wrap(op, err)
	}
	secret, _, err = s.Main()
	return secret, fault.Wrap(op, err)
}

// openFolder returns the store of a data folder without reading its token files.
func openFolder(dir string) (*Store, error) {
	const op = "token.at"
	switch _, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, op, "the data folder %s does not exist yet", dir)
	case err != nil:
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	switch _, err := os.Stat(filepath.Join(dir, "schema")); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.Invalid, op, "%s is not a data folder of percached; name another folder with --data", dir)
	case err != nil:
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	return &Store{Now: time.Now, dir: dir, reported: map[string]string{}}, nil
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// check validates the name, space and role of a new token.
func (t Token) check() error {
	switch {
	case !t.Role.IsValid():
		return fault.New(fault.Invalid, "token.check", "invalid role: use ask, write or admin")
	case t.Space != "" && !spaceName.MatchString(t.Space):
		return fault.New(fault.Invalid, "token.check", "invalid space name: use 1 to 64 characters of a-z, 0-9, dot, dash and underscore, beginning with a letter or digit")
	case !utf8.ValidString(t.Name) || utf8.RuneCountInString(t.Name) > maxName:
		return fault.New(fault.Invalid, "token.check", "invalid token name: use at most %d characters", maxName)
	}
	for _, r := range t.Name {
		if !unicode.IsPrint(r) {
			return fault.New(fault.Invalid, "token.check", "invalid token name: use printable characters only")
		}
	}
	return t.Limits.check()
}

const secretLen = 46

var secretForm = regexp.MustCompile(`^pc_[A-Za-z0-9_-]{43}$`)

// newSecret returns a random secret.
func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b)
	return "pc_" + base64.RawURLEncoding.EncodeToString(b)
}

// Main returns the main token, which allows everything in all spaces. The first call creates
// it.
func (s *Store) Main() (secret string, made bool, err error) {
	const op = "token.Main"
	secret, _, err = s.main()
	if !errors.Is(err, fs.ErrNotExist) {
		return secret, false, fault.Wrap(op, err)
	}
	unlock, err := s.lock()
	if err != nil {
		return "", false, fault.Wrap(op, err)
	}
	defer unlock()
	if secret, _, err = s.main(); !errors.Is(err, fs.ErrNotExist) { // another process created it meanwhile
		return secret, false, fault.Wrap(op, err)
	}
	if secret, err = s.renewMain(); err != nil {
		return "", false, fault.Wrap(op, err)
	}
	return secret, true, nil
}

// main reads the main token.
func (s *Store) main() (string, os.FileInfo, error) {
	b, info, err := s.read(mainSource)
	if err != nil {
		return "", info, err
	}
	secret := strings.TrimSpace(string(b))
	if !secretForm.MatchString(secret) {
		return "", info, unusable(fault.Unavailable, s.path(mainFile), errors.New("it does not contain a token"), mainSource.damaged)
	}
	return secret, info, nil
}

// renewMain replaces the main token. The caller holds the lock.
func (s *Store) renewMain() (string, error) {
	secret := newSecret()
	return secret, replace(s.path(mainFile), []byte(secret+"\n"))
}

// storedToken is a token with the hash of its secret.
type storedToken struct {
	Token
	sum [sha256.Size]byte
}

func sumOf(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }
