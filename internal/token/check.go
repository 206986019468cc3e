package token

import (
	"crypto/subtle"
	"errors"
	"io/fs"
	"os"
	"time"
)

// settles is how long ago a file must have been written for its stat to tell it
// from the next: two within one tick of the file system's clock look the same.
const settles = 2 * time.Second

// known is what the files held when they were read last.
type known struct {
	main, list sight
	tokens     []held
}

// sight is what was seen of a file.
type sight struct {
	info    os.FileInfo // nil: it is not there, or cannot be looked at
	settled bool
}

// look says what is to be seen of a file that was read a moment ago, or will be.
func look(path string) sight {
	now := time.Now() // the file system's clock
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return sight{settled: true}
	case err != nil:
		return sight{}
	}
	return sight{info, now.Sub(info.ModTime()) > settles}
}

// same says whether a file is the one seen before, for certain.
func (s sight) same(path string) bool {
	if !s.settled {
		return false
	}
	info, err := os.Stat(path)
	if s.info == nil || err != nil {
		return s.info == nil && errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) && s.info.Mode() == info.Mode()
}

// Check says whose a secret is. It sees at once what any process has changed.
func (s *Store) Check(secret string) (Token, bool) {
	k := s.current()
	if len(secret) != secretLen {
		return Token{}, false
	}
	sum, at := sumOf(secret), -1
	for i := range k.tokens { // all of them, whichever it is
		at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], k.tokens[i].sum[:]), i, at)
	}
	if at < 0 {
		return Token{}, false
	}
	return k.tokens[at].Token, true
}

// current gives what the files hold now.
func (s *Store) current() *known {
	if k := s.known.Load(); s.fresh(k) {
		return k
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if k := s.known.Load(); s.fresh(k) {
		return k
	}
	// They are looked at before they are read: what changes between is seen the
	// next time.
	k := &known{main: look(s.path(mainFile)), list: look(s.path(listFile))}
	secret, info, err := s.main()
	s.tell(mainFile, err)
	if err == nil {
		k.tokens = append(k.tokens, held{mainToken(info), sumOf(secret)})
	}
	scoped, _, err := s.list()
	s.tell(listFile, err)
	if err == nil {
		k.tokens = append(k.tokens, scoped...)
	}
	s.known.Store(k)
	return k
}

func (s *Store) fresh(k *known) bool {
	return k != nil && k.main.same(s.path(mainFile)) && k.list.same(s.path(listFile))
}

func mainToken(info os.FileInfo) Token {
	return Token{ID: MainID, Name: MainID, Role: RoleAdmin, Made: info.ModTime()}
}

// tell tells of trouble with a file, unless it was told already.
func (s *Store) tell(file string, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		delete(s.told, file)
		return
	}
	if s.told[file] == err.Error() {
		return
	}
	s.told[file] = err.Error()
	if s.Observer.Trouble != nil {
		s.Observer.Trouble(err)
	}
}
