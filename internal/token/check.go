package token

import (
	"crypto/subtle"
	"errors"
	"io/fs"
	"os"
	"time"
)

// settleTime is the least age of a file at which its stat identifies its content. Two writes
// within one tick of the file system's clock look the same.
const settleTime = 2 * time.Second

// known is the content of the files when they were last read.
type known struct {
	main, list fileState
	tokens     []storedToken
}

// fileState is the stat of a file.
type fileState struct {
	info    os.FileInfo // nil: the file is missing or not accessible
	settled bool
}

// statFile returns the state of a file, shortly before or after it is read.
func statFile(path string) fileState {
	now := time.Now() // file times use the machine's clock
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fileState{settled: true}
	case err != nil:
		return fileState{}
	}
	return fileState{info, now.Sub(info.ModTime()) > settleTime}
}

// matches says whether a file is certainly unchanged.
func (s fileState) matches(path string) bool {
	if !s.settled {
		return false
	}
	info, err := os.Stat(path)
	if s.info == nil || err != nil {
		return s.info == nil && errors.Is(err, fs.ErrNotExist)
	}
	return os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) && s.info.Mode() == info.Mode()
}

// Check returns the token of a secret, and false if there is none. It sees changes by other
// processes at once.
func (s *Store) Check(secret string) (Token, bool) {
	k := s.current()
	if len(secret) != secretLen {
		return Token{}, false
	}
	sum, at := sumOf(secret), -1
	now := s.Now()
	for i := len(k.tokens) - 1; i >= 0; i-- { // constant time: compare with all tokens
		if !k.tokens[i].expired(now) {
			at = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], k.tokens[i].sum[:]), i, at)
		}
	}
	if at < 0 {
		return Token{}, false
	}
	return k.tokens[at].Token, true
}

// LimitsOf returns the limits of the token with an ID. A token that does not exist has none.
func (s *Store) LimitsOf(id string) Limits {
	for _, t := range s.current().tokens {
		if t.ID == id {
			return t.Limits
		}
	}
	return Limits{}
}

// current returns the current content of the files.
func (s *Store) current() *known {
	if k := s.known.Load(); s.isCurrent(k) {
		return k
	}
	s.reading.Lock()
	defer s.reading.Unlock()
	if k := s.known.Load(); s.isCurrent(k) {
		return k
	}
	// Stat before reading: a change in between is detected at the next call.
	k := &known{main: statFile(s.path(mainFile)), list: statFile(s.path(listFile))}
	secret, info, err := s.main()
	s.reportTrouble(mainFile, err)
	if err == nil {
		k.tokens = append(k.tokens, storedToken{mainToken(info), sumOf(secret)})
	}
	scoped, _, err := s.list()
	s.reportTrouble(listFile, err)
	if err == nil {
		k.tokens = append(k.tokens, scoped...)
	}
	s.known.Store(k)
	return k
}

func (s *Store) isCurrent(k *known) bool {
	return k != nil && k.main.matches(s.path(mainFile)) && k.list.matches(s.path(listFile))
}

func mainToken(info os.FileInfo) Token {
	return Token{ID: MainID, Name: MainID, Role: RoleAdmin, Made: info.ModTime()}
}

// reportTrouble reports an unusable file to the Observer, once per error.
func (s *Store) reportTrouble(file string, err error) {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		delete(s.reported, file)
		return
	}
	if s.reported[file] == err.Error() {
		return
	}
	s.reported[file] = err.Error()
	if s.Observer.Trouble != nil {
		s.Observer.Trouble(err)
	}
}
