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

// listed is the content of tokens.json.
type listed struct {
	Version int             `json:"version"`
	Sum     string          `json:"sum"`
	Tokens  json.RawMessage `json:"tokens"`
}

// entry is one token of tokens.json.
type entry struct {
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Space  string    `json:"space"`
	Role   Role      `json:"role"`
	SHA256 string    `json:"sha256"`
	Made   time.Time `json:"made"`
}

func encode(all []storedToken) []byte {
	entries := make([]entry, len(all))
	for i, h := range all {
		entries[i] = entry{h.ID, h.Name, h.Space, h.Role, hex.EncodeToString(h.sum[:]), h.Made}
	}
	tokens, err := json.Marshal(entries)
	if err != nil {
		panic(err) // impossible: the year is below 10000
	}
	b, err := json.MarshalIndent(listed{version, sumList(tokens), tokens}, "", "  ")
	if err != nil {
		panic(err)
	}
	return append(b, '\n')
}

// sumList returns the checksum of the tokens' JSON, without white space.
func sumList(tokens []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, tokens) != nil {
		return ""
	}
	return fmt.Sprintf("%08x", crc32.Checksum(b.Bytes(), castagnoli))
}

// decode decodes and validates a list.
func decode(b []byte) ([]storedToken, error) {
	var other struct {
		Version *int `json:"version"`
	}
	if json.Unmarshal(b, &other) == nil && other.Version != nil && *other.Version != version {
		return nil, fmt.Errorf("%w %d and this percached reads version %d", errVersion, *other.Version, version)
	}
	var l listed
	if err := decodeStrict(b, &l); err != nil {
		return nil, errors.New("it is not valid JSON of a token list")
	}
	var entries []entry
	switch {
	case l.Version != version:
		return nil, errors.New("it contains no version")
	case l.Sum != sumList(l.Tokens):
		return nil, errors.New("its checksum does not match")
	case decodeStrict(l.Tokens, &entries) != nil:
		return nil, errors.New("its tokens are not valid JSON")
	case len(entries) > maxTokens:
		return nil, fmt.Errorf("it contains too many tokens (%d)", len(entries))
	}
	all := make([]storedToken, len(entries))
	ids, sums := map[string]bool{}, map[[sha256.Size]byte]bool{}
	for i, e := range entries {
		h := storedToken{Token: Token{e.ID, e.Name, e.Space, e.Role, e.Made}}
		n, err := hex.Decode(h.sum[:], []byte(e.SHA256)[:min(len(e.SHA256), 2*sha256.Size)])
		switch {
		case !idForm.MatchString(h.ID) || ids[h.ID]:
			return nil, fmt.Errorf("token %d has an invalid ID", i+1)
		case err != nil || n != sha256.Size || len(e.SHA256) != 2*sha256.Size || sums[h.sum]:
			return nil, fmt.Errorf("token %d has an invalid hash", i+1)
		case h.check() != nil:
			return nil, fmt.Errorf("token %d has an invalid name, space or role", i+1)
		}
		ids[h.ID], sums[h.sum] = true, true
		all[i] = h
	}
	return all, nil
}

// decodeStrict decodes one JSON value and refuses unknown fields.
func decodeStrict(b []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the file contains more than one JSON value")
	}
	return nil
}
