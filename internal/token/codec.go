package token

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"time"
)

const version = 1

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	idForm     = regexp.MustCompile(`^[0-9a-f]{12}$`)
	errVersion = errors.New("it has version")
)

// listed is tokens.json.
type listed struct {
	Version int             `json:"version"`
	Sum     string          `json:"sum"`
	Tokens  json.RawMessage `json:"tokens"`
}

// entry is a token in it.
type entry struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Space  string    `json:"space"`
	Role   Role      `json:"role"`
	SHA256 string    `json:"sha256"`
	Made   time.Time `json:"made"`
}

func encode(all []held) []byte {
	entries := make([]entry, len(all))
	for i, h := range all {
		entries[i] = entry{h.ID, h.Name, h.Space, h.Role, hex.EncodeToString(h.sum[:]), h.Made}
	}
	tokens, err := json.Marshal(entries)
	if err != nil {
		panic(err) // a time beyond the year 9999
	}
	b, err := json.MarshalIndent(listed{version, sumList(tokens), tokens}, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}

// sumList is the checksum of tokens in JSON, however they are spaced.
func sumList(tokens []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, tokens) != nil {
		return ""
	}
	return fmt.Sprintf("%08x", crc32.Checksum(b.Bytes(), castagnoli))
}

// decode takes a list apart, and trusts nothing in it.
func decode(b []byte) ([]held, error) {
	var other struct {
		Version *int `json:"version"`
	}
	if json.Unmarshal(b, &other) == nil && other.Version != nil && *other.Version != version {
		return nil, fmt.Errorf("%w %d and this percached reads version %d", errVersion, *other.Version, version)
	}
	var l listed
	if err := strictly(b, &l); err != nil {
		return nil, errors.New("it is not the JSON it should be")
	}
	var entries []entry
	switch {
	case l.Version != version:
		return nil, errors.New("it names no version")
	case l.Sum != sumList(l.Tokens):
		return nil, errors.New("its checksum is wrong")
	case strictly(l.Tokens, &entries) != nil:
		return nil, errors.New("its tokens are not the JSON they should be")
	case len(entries) > maxScope:
		return nil, fmt.Errorf("it has %d tokens", len(entries))
	}
	all := make([]held, len(entries))
	ids, sums := map[string]bool{}, map[[sha256.Size]byte]bool{}
	for i, e := range entries {
		h := held{Token: Token{e.ID, e.Name, e.Space, e.Role, e.Made}}
		n, err := hex.Decode(h.sum[:], []byte(e.SHA256)[:min(len(e.SHA256), 2*sha256.Size)])
		switch {
		case !idForm.MatchString(h.ID) || ids[h.ID]:
			return nil, fmt.Errorf("token %d has a wrong ID", i+1)
		case err != nil || n != sha256.Size || len(e.SHA256) != 2*sha256.Size || sums[h.sum]:
			return nil, fmt.Errorf("token %d has a wrong hash", i+1)
		case h.check() != nil:
			return nil, fmt.Errorf("token %d has a wrong name, space or role", i+1)
		}
		ids[h.ID], sums[h.sum] = true, true
		all[i] = h
	}
	return all, nil
}

// strictly decodes one JSON value with no other fields than those of v.
func strictly(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}
