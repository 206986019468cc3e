package grammar

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"
	"strings"
)

// A value is JSON that keeps the order of its members and knows where it stands.
type value struct {
	at      string // its JSON pointer
	scalar  any    // string, bool, json.Number or nil; not set for objects and arrays
	object  bool
	array   bool
	members []member
	items   []*value
	raw     []byte // compact
}

type member struct {
	name string
	*value
}

const (
	maxSchema      = 64 << 10 // bytes
	maxSchemaDepth = 48
)

// readValue reads one JSON value.
func readValue(text []byte) (*value, error) {
	if len(text) > maxSchema {
		return nil, unsupported("", "the schema has %d bytes; at most %d are allowed", len(text), maxSchema)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := read(dec, "", 0)
	if err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, unsupported("", "something follows the schema")
	}
	return v, nil
}

// maxPointer bounds the JSON pointer of a value.
const maxPointer = 1 << 10

func read(dec *json.Decoder, at string, depth int) (*value, error) {
	if depth > maxSchemaDepth {
		return nil, unsupported("", "the schema is nested more than %d deep", maxSchemaDepth)
	}
	if len(at) > maxPointer { // each value keeps one
		return nil, unsupported("", "the names on the way to a value have more than %d bytes together", maxPointer)
	}
	token, err := dec.Token()
	if err != nil {
		return nil, unsupported(at, "it is not JSON")
	}
	v := &value{at: at}
	delim, _ := token.(json.Delim)
	switch delim {
	case '{':
		v.object, v.raw = true, []byte("{")
		for dec.More() {
			name, err := dec.Token()
			key, ok := name.(string)
			if err != nil || !ok {
				return nil, unsupported(at, "it is not JSON")
			}
			kid, err := read(dec, at+"/"+escapePointer(key), depth+1)
			if err != nil {
				return nil, err
			}
			if len(v.members) > 0 {
				v.raw = append(v.raw, ',')
			}
			v.raw = append(append(append(v.raw, literal(key)...), ':'), kid.raw...)
			v.members = append(v.members, member{key, kid})
		}
		v.raw = append(v.raw, '}')
	case '[':
		v.array, v.raw = true, []byte("[")
		for dec.More() {
			kid, err := read(dec, at+"/"+strconv.Itoa(len(v.items)), depth+1)
			if err != nil {
				return nil, err
			}
			if len(v.items) > 0 {
				v.raw = append(v.raw, ',')
			}
			v.raw = append(v.raw, kid.raw...)
			v.items = append(v.items, kid)
		}
		v.raw = append(v.raw, ']')
	default:
		v.scalar, v.raw = token, literal(token)
		return v, nil
	}
	if _, err := dec.Token(); err != nil { // the closing one
		return nil, unsupported(at, "it is not JSON")
	}
	return v, nil
}

// literal is a scalar in JSON.
func literal(scalar any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(scalar) // scalars always encode
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func escapePointer(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// get returns a member; the last, if there are several. Nil: there is none.
func (v *value) get(name string) *value {
	for i := len(v.members) - 1; i >= 0; i-- {
		if v.members[i].name == name {
			return v.members[i].value
		}
	}
	return nil
}

// find follows a JSON pointer from v.
func (v *value) find(pointer string) *value {
	for _, key := range strings.Split(pointer, "/")[1:] {
		key = strings.ReplaceAll(strings.ReplaceAll(key, "~1", "/"), "~0", "~")
		switch i, err := strconv.Atoi(key); {
		case v.object:
			v = v.get(key)
		case v.array && err == nil && i >= 0 && i < len(v.items):
			v = v.items[i]
		default:
			return nil
		}
		if v == nil {
			return nil
		}
	}
	return v
}
