package token

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/percached/percached/internal/base/fault"
)

// Create makes a token for a space, or for all spaces if space is empty. It returns the secret,
// which cannot be read again. It does not check that the space exists.
func (s *Store) Create(name, space string, role Role) (secret string, t Token, err error) {
	return s.CreateLimited(name, space, role, Limits{})
}

// CreateLimited makes a token as Create does, with limits.
func (s *Store) CreateLimited(name, space string, role Role, limits Limits) (secret string, t Token, err error) {
	const op = "token.Create"
	t = Token{Name: name, Space: space, Role: role, Made: s.Now().UTC().Round(0), Limits: limits}
	if err := t.check(); err != nil {
		return "", Token{}, fault.Wrap(op, err)
	}
	secret = newSecret()
	err = s.change(func(all []storedToken) ([]storedToken, error) {
		if len(all) >= maxTokens {
			return nil, tooMany(len(all))
		}
		t.ID = freeID(all)
		return append(all, storedToken{t, sumOf(secret)}), nil
	})
	if err != nil {
		return "", Token{}, fault.Wrap(op, err)
	}
	return secret, t, nil
}

func tooMany(n int) error {
	return fault.New(fault.Conflict, "token.change", "%d tokens exist, which is the maximum; revoke one with percached token revoke", n)
}

// freeID returns an ID that no token has.
func freeID(all []storedToken) string {
	for {
		if id := newID(); !slices.ContainsFunc(all, func(h storedToken) bool { return h.ID == id }) {
			return id
		}
	}
}

func newID() string {
	b := make([]byte, 6)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// List returns all tokens: the main one first, if it exists, then the others in order of
// creation.
func (s *Store) List() ([]Token, error) {
	const op = "token.List"
	var all []Token
	switch _, info, err := s.main(); {
	case err == nil:
		all = append(all, mainToken(info))
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fault.Wrap(op, err)
	}
	scoped, _, err := s.list()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Wrap(op, err)
	}
	for _, h := range scoped {
		all = append(all, h.Token)
	}
	return all, nil
}

// Revoke revokes a token. The main token is replaced by a new one at once; Main returns it.
func (s *Store) Revoke(id string) error {
	const op = "token.Revoke"
	if id == MainID {
		unlock, err := s.lock()
		if err != nil {
			return fault.Wrap(op, err)
		}
		defer unlock()
		// Without a readable file nobody has the main token's rights.
		if before, _, err := s.main(); err == nil {
			if all, _, err := s.list(); err == nil {
				if err := s.changeLocked(all, func(all []storedToken) ([]storedToken, error) { return without(all, before), nil }); err != nil {
					return fault.Wrap(op, err)
				}
			}
		}
		_, err = s.renewMain()
		return fault.Wrap(op, err)
	}
	return fault.Wrap(op, s.change(func(all []storedToken) ([]storedToken, error) {
		rest := slices.DeleteFunc(slices.Clone(all), func(h storedToken) bool { return h.ID == id })
		if len(rest) == len(all) {
			return nil, unknownID()
		}
		return rest, nil
	}))
}

func unknownID() error {
	return fault.New(fault.NotFound, "token.change", "no token has this ID; percached token list shows the IDs")
}

// DropSpace revokes all tokens of a space.
func (s *Store) DropSpace(space string) error {
	const op = "token.DropSpace"
	if space == "" { // would match the tokens for all spaces
		return fault.New(fault.Invalid, op, "the space is empty")
	}
	return fault.Wrap(op, s.change(func(all []storedToken) ([]storedToken, error) {
		return slices.DeleteFunc(slices.Clone(all), func(h storedToken) bool { return h.Space == space }), nil
	}))
}

// list reads tokens.json.
func (s *Store) list() ([]storedToken, os.FileInfo, error) {
	b, info, err := s.read(listSource)
	if err != nil {
		return nil, info, err
	}
	all, err := decode(b)
	switch {
	case errors.Is(err, errVersion):
		err = unusable(fault.Unsupported, s.path(listFile), err, "use the percached that wrote it, or "+listSource.moved)
	case err != nil:
		err = unusable(fault.Unavailable, s.path(listFile), err, listSource.damaged)
	}
	return all, info, err
}

// change replaces the list by the result of fn, without tokens that have expired, unless nothing
// changed.
func (s *Store) change(fn func(all []storedToken) ([]storedToken, error)) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	all, _, err := s.list()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return s.changeLocked(all, fn)
}

// changeLocked is change for a caller that holds the lock and has read the list.
func (s *Store) changeLocked(all []storedToken, fn func(all []storedToken) ([]storedToken, error)) error {
	before := encode(all)
	now := s.Now()
	changed, err := fn(slices.DeleteFunc(slices.Clone(all), func(h storedToken) bool { return h.expired(now) }))
	if err != nil {
		return err
	}
	if after := encode(changed); !bytes.Equal(before, after) {
		return replace(s.path(listFile), after)
	}
	return nil
}

// lock excludes other writers, in this process and others.
func (s *Store) lock() (unlock func(), err error) {
	s.changing.Lock()
	let, err := lock(s.path(lockFile))
	if err != nil {
		s.changing.Unlock()
		return nil, fault.New(fault.Unavailable, "token.lock", "cannot lock the tokens: %w; remove %s if it is not a file that percached can write", err, s.path(lockFile))
	}
	return func() {
		let()
		s.changing.Unlock()
	}, nil
}
