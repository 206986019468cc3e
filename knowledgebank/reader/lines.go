package reader

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// jsonLines reads a file of one JSON object a line, line by line.
func (f *file) jsonLines(ctx context.Context, in *bufio.Reader) error {
	found := false
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return stop{err}
		}
		l, err := boundedLine(in, f.o.MaxBytes, func(n int) error { return f.grow(ctx, n) })
		end := errors.Is(err, io.EOF)
		if err != nil && !end && !errors.Is(err, errLarge) {
			return fault.Wrap(fmt.Sprintf("line %d and all behind it", n), damaged(err))
		}
		name := fmt.Sprintf("%s: line %d", f.name, n)
		if n == 1 {
			l = bytes.TrimPrefix(l, []byte(byteMark))
		}
		l = bytes.TrimSpace(l)
		switch {
		case errors.Is(err, errLarge):
			f.leave()
			if err := f.fail(name, f.tooLarge()); err != nil {
				return err
			}
			found = true
		case len(l) > 0:
			found = true
			if f.room != nil {
				f.room.Shrink(int64(len(l)))
			}
			if err := f.document(ctx, name, func() (*knowledgebank.Source, error) { return f.jsonObject(ctx, l) }); err != nil {
				return err
			}
		}
		f.leave()
		if end {
			if !found {
				return errEmpty
			}
			return nil
		}
	}
}

// boundedLine reads one line; errLarge for a longer one, which is skipped.
func boundedLine(in *bufio.Reader, limit int64, grow func(n int) error) ([]byte, error) {
	var out []byte
	large := false
	for {
		part, err := in.ReadSlice('\n')
		if large = large || int64(len(out)+len(part)) > limit+1; large {
			out = nil
		} else {
			if err := grow(len(out) + len(part)); err != nil {
				return nil, err
			}
			out = append(out, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if large && (err == nil || err == io.EOF) {
			return nil, errors.Join(errLarge, err)
		}
		return out, err
	}
}

// jsonWhole reads one JSON value: an object, or a list of objects.
func (f *file) jsonWhole(ctx context.Context, data []byte) error {
	data = bytes.TrimSpace(bytes.TrimPrefix(data, []byte(byteMark)))
	if !json.Valid(data) {
		return errJSON
	}
	if data[0] != '[' {
		return f.document(ctx, f.name, func() (*knowledgebank.Source, error) { return f.jsonObject(ctx, data) })
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return errJSON
	}
	n := 0
	for d.More() { // one by one: a list may have millions
		if err := ctx.Err(); err != nil {
			return stop{err}
		}
		var item json.RawMessage
		if err := d.Decode(&item); err != nil {
			return errJSON
		}
		n++
		name := fmt.Sprintf("%s: item %d", f.name, n)
		if err := f.document(ctx, name, func() (*knowledgebank.Source, error) { return f.jsonObject(ctx, item) }); err != nil {
			return err
		}
	}
	if n == 0 {
		return errEmpty
	}
	return nil
}

// maxValues of one object: each takes many times its bytes while it is held.
const maxValues = 1 << 20

// values counts what an object holds: what begins with a bracket, or stands
// behind a comma.
func values(data []byte) (n int) {
	text := false // within a string
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case !text && (c == '{' || c == '[' || c == ','):
			n++
		}
	}
	return n
}

// errJSON says nothing of where: the decoder's own words quote the document.
var errJSON = fault.New(fault.Invalid, "json", "not valid JSON")

// jsonObject makes a document of one object.
func (f *file) jsonObject(ctx context.Context, data []byte) (*knowledgebank.Source, error) {
	if n := values(data); n > maxValues {
		return nil, fault.New(fault.Invalid, "json", "an object of about %d values, and %d is the most", n, maxValues)
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader([]byte(lenient(data))))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		if json.Valid(data) {
			return nil, fault.New(fault.Invalid, "json", "not an object")
		}
		return nil, errJSON
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errJSON
	}
	o := object(fields)
	key := "sha256-"
	if id := o.id(); id != "" && len(id) <= maxKey {
		key = f.id + "#" + clean(id)
	} else {
		sum := sha256.Sum256(data)
		key += hex.EncodeToString(sum[:])
	}
	s, err := f.jsonSource(ctx, o)
	if err != nil {
		return nil, err
	}
	s.Key = "json:" + key
	return s, nil
}
