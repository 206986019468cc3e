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

// Version 2 has limits and ends. A list without them is written as version 1, which an earlier
// percached reads.
const (
	version       = 2
	simpleVersion = 1
)

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
	// Since version 2.
	Expires time.Time `json:"expires,omitzero"`
	Limits  Limits    `json:"limits,omitzero"`
}

// isSimple says whether version 1 can hold the token.
func (e *entry) isSimple() bool { return e.Expires.IsZero() && e.Limits == Limits{} }

func encode(all []storedToken) []byte {
	entries := make([]entry, len(all))
	as := simpleVersion
	for i, h := range all {
		entries[i] = entry{h.ID, h.Name, h.Space, h.Role, hex.EncodeToString(h.sum[:]), h.Made, h.Expires, h.Limits}
		if !entries[i].isSimple() {
			as = version
		}
	}
	tokens, err := json.Marshal(entries)
	if err != nil {
		panic(err) // impossible: the year is below 10000
	}
	b, err := json.MarshalIndent(listed{as, sumList(tokens), tokens}, "", "  ")
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
	if json.Unmarshal(b, &other) == nil && other.Version != nil && *other.Version != version && *other.Version != simpleVersion {
		return nil, fmt.Errorf("%w %d and this percached reads versions %d and %d", errVersion, *other.Version, simpleVersion, version)
	}
	var l listed
	if err := decodeStrict(b, &l); err != nil {
		return nil, errors.New("it is not valid JSON of a token list")
	}
	var entries []entry
	switch {
	case l.Version == 0:
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
		h := storedToken{Token: Token{ID: e.ID, Name: e.Name, Space: e.Space, Role: e.Role, Made: e.Made, Expires: e.Expires, Limits: e.Limits}}
		n, err := hex.Decode(h.sum[:], []byte(e.SHA256)[:min(len(e.SHA256), 2*sha256.Size)])
		switch {
		case !idForm.MatchString(h.ID) || ids[h.ID]:
			return nil, fmt.Errorf("token %d has an invalid ID", i+1)
		case err != nil || n != sha256.Size || len(e.SHA256) != 2*sha256.Size || sums[h.sum]:
			return nil, fmt.Errorf("token %d has an invalid hash", i+1)
		case h.check() != nil:
			return nil, fmt.Errorf("token %d has an invalid name, space, role or limit", i+1)
		case l.Version == simpleVersion && !e.isSimple():
			return nil, fmt.Errorf("token %d has a limit or an end, which version %d does not know", i+1, simpleVersion)
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
