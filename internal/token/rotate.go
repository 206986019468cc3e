package token

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// mainBefore is the name of a main token that was rotated.
const mainBefore = "main before rotation"

// Rotate replaces the secret of a token. The old secret works for the time of grace, as a token
// of its own that ends then. The new token of a list gets a new ID, so that the old one can be
// revoked alone; the main token keeps its ID.
func (s *Store) Rotate(id string, grace time.Duration) (secret string, t, old Token, err error) {
	const op = "token.Rotate"
	fail := func(err error) (string, Token, Token, error) { return "", Token{}, Token{}, fault.Wrap(op, err) }
	if grace < 0 {
		return fail(fault.New(fault.Invalid, op, "the time of grace is negative"))
	}
	unlock, err := s.lock()
	if err != nil {
		return fail(err)
	}
	defer unlock()
	all, _, err := s.list()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fail(err)
	}
	now := s.Now().UTC().Round(0)
	ends := now.Add(grace)
	if id == MainID {
		before, _, err := s.main()
		if err != nil {
			return fail(err)
		}
		if grace > 0 {
			old = Token{Name: mainBefore, Role: RoleAdmin, Made: now, Expires: ends}
			err = s.changeLocked(all, func(all []storedToken) ([]storedToken, error) {
				all = without(all, before)
				if len(all) >= maxTokens {
					return nil, tooMany(len(all))
				}
				old.ID = freeID(all)
				return append(all, storedToken{old, sumOf(before)}), nil
			})
			if err != nil {
				return fail(err)
			}
		}
		if grace == 0 {
			if err := s.changeLocked(all, func(all []storedToken) ([]storedToken, error) { return without(all, before), nil }); err != nil {
				return fail(err)
			}
		}
		if secret, err = s.renewMain(); err != nil {
			return fail(err)
		}
		_, info, err := s.main()
		if err != nil {
			return fail(err)
		}
		return secret, mainToken(info), old, nil
	}
	secret = newSecret()
	err = s.changeLocked(all, func(all []storedToken) ([]storedToken, error) {
		at := slices.IndexFunc(all, func(h storedToken) bool { return h.ID == id })
		switch {
		case at < 0:
			return nil, unknownID()
		case !all[at].Expires.IsZero():
			return nil, fault.New(fault.Conflict, op, "the token was rotated already and ends by itself")
		case len(all) >= maxTokens:
			return nil, tooMany(len(all))
		}
		t = all[at].Token
		t.ID, t.Made = freeID(all), now
		if grace > 0 {
			all[at].Expires = ends
			old = all[at].Token
		} else {
			all = slices.Delete(all, at, at+1)
		}
		return append(all, storedToken{t, sumOf(secret)}), nil
	})
	if err != nil {
		return fail(err)
	}
	return secret, t, old, nil
}

// without removes a main secret from a list. A rotation that a crash cut has left it there.
func without(all []storedToken, main string) []storedToken {
	return slices.DeleteFunc(all, func(h storedToken) bool { return h.sum == sumOf(main) })
}

// SetLimits replaces the limits of a token. The main token has none.
func (s *Store) SetLimits(id string, change func(*Limits)) (t Token, err error) {
	const op = "token.SetLimits"
	if id == MainID {
		return Token{}, fault.New(fault.Invalid, op, "the main token has no limits; create another token")
	}
	err = s.change(func(all []storedToken) ([]storedToken, error) {
		at := slices.IndexFunc(all, func(h storedToken) bool { return h.ID == id })
		if at < 0 {
			return nil, unknownID()
		}
		change(&all[at].Limits)
		t = all[at].Token
		return all, t.check()
	})
	return t, fault.Wrap(op, err)
}
