package token

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/percached/percached/internal/base/fault"
)

// Create makes a token for a space, or for all if none is named. The secret is
// told now and never again. Whether there is such a space is not asked.
func (s *Store) Create(name, space string, role Role) (secret string, t Token, err error) {
	const op = "token.Create"
	t = Token{Name: name, Space: space, Role: role, Made: s.Now().UTC().Round(0)}
	if err := t.check(); err != nil {
		return "", Token{}, fault.Wrap(op, err)
	}
	secret = newSecret()
	err = s.change(func(all []held) ([]held, error) {
		if len(all) >= maxScope {
			return nil, fault.New(fault.Conflict, op, "there are %d tokens, and no more can be: revoke some", len(all))
		}
		for t.ID = newID(); slices.ContainsFunc(all, func(h held) bool { return h.ID == t.ID }); {
			t.ID = newID()
		}
		return append(all, held{t, sumOf(secret)}), nil
	})
	if err != nil {
		return "", Token{}, fault.Wrap(op, err)
	}
	return secret, t, nil
}

func newID() string {
	b := make([]byte, 6)
	rand.Read(b)
	return hex.EncodeToString(b)
}

// List gives all tokens, the main one first, if it was made, and then as they
// were made.
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

// Revoke ends a token. In the place of the main one a new one is made at once, so
// that there is no moment without, and Main gives that.
func (s *Store) Revoke(id string) error {
	const op = "token.Revoke"
	if id == MainID {
		unlock, err := s.lock()
		if err != nil {
			return fault.Wrap(op, err)
		}
		defer unlock()
		_, err = s.renewMain()
		return fault.Wrap(op, err)
	}
	return fault.Wrap(op, s.change(func(all []held) ([]held, error) {
		rest := slices.DeleteFunc(slices.Clone(all), func(h held) bool { return h.ID == id })
		if len(rest) == len(all) {
			return nil, fault.New(fault.NotFound, op, "there is no token of this ID: percached token list shows them")
		}
		return rest, nil
	}))
}

// DropSpace revokes all tokens of a space.
func (s *Store) DropSpace(space string) error {
	const op = "token.DropSpace"
	if space == "" { // tokens for all spaces are of none
		return fault.New(fault.Invalid, op, "no space is named")
	}
	return fault.Wrap(op, s.change(func(all []held) ([]held, error) {
		return slices.DeleteFunc(slices.Clone(all), func(h held) bool { return h.Space == space }), nil
	}))
}

// list reads the tokens of the list.
func (s *Store) list() ([]held, os.FileInfo, error) {
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

// change replaces the list by what fn makes of it, unless that is the same.
func (s *Store) change(fn func(all []held) ([]held, error)) error {
	unlock, err := s.lock()
	if err != nil {
		return err
	}
	defer unlock()
	all, _, err := s.list()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	changed, err := fn(all)
	if err != nil || len(changed) == len(all) {
		return err
	}
	return replace(s.path(listFile), encode(changed))
}

// lock keeps all others from changing the files, in this process and elsewhere.
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
