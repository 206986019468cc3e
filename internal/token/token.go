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

	"github.com/percached/percached/internal/fault"
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

// Open looks at a data folder and makes nothing in it. It refuses files that
// others can read, and a list of a later version.
func Open(dir string) (*Store, error) {
	const op = "token.Open"
	switch _, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, op, "there is no data folder %s yet", dir)
	case err != nil:
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	switch _, err := os.Stat(filepath.Join(dir, "schema")); {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.Invalid, op, "%s is no data folder of percached", dir)
	case err != nil:
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	s := &Store{Now: time.Now, dir: dir, told: map[string]string{}}
	if _, _, err := read(s.path(mainFile), maxMain); fault.KindOf(err) == fault.Invalid {
		return nil, fault.Wrap(op, err)
	}
	switch _, _, err := s.list(); fault.KindOf(err) {
	case fault.Invalid, fault.Unsupported:
		return nil, fault.Wrap(op, err)
	}
	return s, nil
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
