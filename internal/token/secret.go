package token

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

const secretLen = 46

var secretForm = regexp.MustCompile(`^pc_[A-Za-z0-9_-]{43}$`)

// newSecret makes a secret that nobody can guess.
func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b)
	return "pc_" + base64.RawURLEncoding.EncodeToString(b)
}

// Main gives the main token, which may do everything in all spaces. The first
// call makes it.
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
	if secret, _, err = s.main(); !errors.Is(err, fs.ErrNotExist) { // another has made it meanwhile
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

// renewMain puts a new main token in the place of the old one. The caller holds
// the lock.
func (s *Store) renewMain() (string, error) {
	secret := newSecret()
	return secret, replace(s.path(mainFile), []byte(secret+"\n"))
}

// held is a token with what its secret is compared with.
type held struct {
	Token
	sum [sha256.Size]byte
}

func sumOf(secret string) [sha256.Size]byte { return sha256.Sum256([]byte(secret)) }
