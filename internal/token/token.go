package token

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/fault"
)

// Role is what the bearer of a token may do; each may do what those before may.
type Role string

// The roles.
const (
	RoleAsk   Role = "ask"
	RoleWrite Role = "write"
	RoleAdmin Role = "admin"
)

// Known says whether there is such a role.
func (r Role) Known() bool { return r == RoleAsk || r == RoleWrite || r == RoleAdmin }

// MainID is the ID of the main token.
const MainID = "main"

// Token is what is known of a token, but for its secret.
type Token struct {
	ID    string
	Name  string // what a person calls it
	Space string // empty: all spaces, and what belongs to none
	Role  Role
	Made  time.Time
}

// Observer is told what nobody asked for. Its func may be nil, and must not call
// the Store.
type Observer struct {
	// Trouble: a file cannot be used, and no token in it holds. It is told once.
	Trouble func(err error)
}

const (
	mainFile = "token"
	listFile = "tokens.json"
	lockFile = "tokens.lock"

	maxName  = 100 // characters
	maxScope = 1000
	maxMain  = 4 << 10 // bytes of the file
	maxList  = 1 << 20
)

// As the knowledge bank has it.
var spaceName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// Store is the tokens of one data folder.
type Store struct {
	// Now is the clock. It and Observer may be set before the Store is used.
	Now      func() time.Time
	Observer Observer

	dir      string
	changing sync.Mutex // held by who changes a file
	known    atomic.Pointer[known]
	reading  sync.Mutex // held by who reads the files for Check
	told     map[string]string
}

// Dir is the data folder.
func (s *Store) Dir() string { return s.dir }

// Open looks at a data folder and changes nothing in it. It refuses token files
// that cannot be used, and its error says what to do.
func Open(dir string) (*Store, error) {
	const op = "token.Open"
	s, err := at(dir)
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

// Verify says why the token files of a data folder cannot be used. A folder that is
// not there yet, or not percached's, has none.
func Verify(dir string) error {
	if _, err := at(dir); err != nil {
		return nil
	}
	_, err := Open(dir)
	return err
}

// Renew puts a new main token in the place of the old one, whatever is wrong with
// that, and gives it.
func Renew(dir string) (secret string, err error) {
	const op = "token.Renew"
	s, err := at(dir)
	if err != nil {
		return "", fault.Wrap(op, err)
	}
	if err := s.Revoke(MainID); err != nil {
		return "", fault.Wrap(op, err)
	}
	secret, _, err = s.Main()
	return secret, fault.Wrap(op, err)
}

// at is the store of a data folder, whatever its files hold.
func at(dir string) (*Store, error) {
	const op = "token.at"
	switch _, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, op, "there is no data folder %s yet", dir)
	case err != nil:
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	switch _, err := os.Stat(filepath.Join(dir, "schema")); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.Invalid, op, "%s is not a data folder of percached; name another folder with --data", dir)
	case err != nil:
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	return &Store{Now: time.Now, dir: dir, told: map[string]string{}}, nil
}

func (s *Store) path(name string) string { return filepath.Join(s.dir, name) }

// check names what is wrong with what a token is to be.
func (t Token) check() error {
	switch {
	case !t.Role.Known():
		return fault.New(fault.Invalid, "token.check", "a role is ask, write or admin")
	case t.Space != "" && !spaceName.MatchString(t.Space):
		return fault.New(fault.Invalid, "token.check", "a space's name has 1 to 64 of a-z, 0-9, dot, dash and underscore, and begins with a letter or digit")
	case !utf8.ValidString(t.Name) || utf8.RuneCountInString(t.Name) > maxName:
		return fault.New(fault.Invalid, "token.check", "a token's name has at most %d characters", maxName)
	}
	for _, r := range t.Name {
		if !unicode.IsPrint(r) {
			return fault.New(fault.Invalid, "token.check", "a token's name has letters, digits, signs and spaces only")
		}
	}
	return nil
}
