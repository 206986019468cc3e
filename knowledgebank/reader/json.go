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
	"slices"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// jsonLines reads a file with one JSON object in each line.
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
			f.releaseRoom()
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
		f.releaseRoom()
		if end {
			if !found {
				return errEmpty
			}
			return nil
		}
	}
}

// boundedLine reads one line. It skips a line that is too long and returns errLarge.
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

// jsonValue reads one JSON value: an object, or a list of objects.
func (f *file) jsonValue(ctx context.Context, in *bufio.Reader) error {
	data, err := f.whole(ctx, in)
	if err != nil {
		return err
	}
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

// maxValues is the most values of one object. Each takes many times its bytes in
// memory.
const maxValues = 1 << 20

// values counts the values of an object: brackets that open, and commas.
func values(data []byte) (n int) {
	text := false // inside a string
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

// errJSON does not say where: the decoder's own message quotes the document.
var errJSON = fault.New(fault.Invalid, "json", "not valid JSON")

// jsonObject makes a document of one object.
func (f *file) jsonObject(ctx context.Context, data []byte) (*knowledgebank.Source, error) {
	if n := values(data); n > maxValues {
		return nil, fault.New(fault.Invalid, "json", "the JSON object holds about %d values, more than %d", n, maxValues)
	}
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader([]byte(lenient(data))))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil {
		if json.Valid(data) {
			return nil, fault.New(fault.Invalid, "json", "the JSON value is not an object")
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

// object is a JSON object. Its fields are found by the names that people give them.
type object map[string]any

// find returns the first field that exists; the case of letters does not matter.
func (o object) find(names ...string) any {
	for _, name := range names {
		if v, ok := o[name]; ok && v != nil {
			return v
		}
	}
	for _, name := range names {
		first := ""
		for k, v := range o {
			if v != nil && strings.EqualFold(k, name) && (first == "" || k < first) {
				first = k
			}
		}
		if first != "" {
			return o[first]
		}
	}
	return nil
}

// text returns the first of the fields that holds words or a number.
func (o object) text(names ...string) string {
	for _, name := range names {
		switch v := o.find(name).(type) {
		case string:
			if strings.TrimSpace(v) != "" {
				return v
			}
		case json.Number:
			return v.String()
		}
	}
	return ""
}

// textWithin also looks into the objects inside an object.
func (o object) textWithin(names ...string) string {
	if t := o.text(names...); t != "" {
		return t
	}
	for _, k := range slices.Sorted(keysOf(o)) {
		if in, ok := o[k].(map[string]any); ok {
			if t := object(in).text(names...); t != "" {
				return t
			}
		}
	}
	return ""
}

func keysOf(o object) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range o {
			if !yield(k) {
				return
			}
		}
	}
}

// id is the id of an object. What was said in one meeting has the meeting's.
func (o object) id() string {
	id := o.text("id", "path", "message_id", "message-id", "messageid")
	for _, name := range []string{"meetingid", "dialogid", "conversationid"} {
		id = or(id, o.textWithin(name))
	}
	return id
}

// jsonSource makes a document of an object: a mail, a talk, or a note.
func (f *file) jsonSource(ctx context.Context, o object) (*knowledgebank.Source, error) {
	s := &knowledgebank.Source{Source: "note", Format: "json", Title: oneLine(o.text("title", "subject", "name"))}
	s.Date = jsonDate(o.find("date", "created_at", "created", "timestamp", "time", "sent"), f.o.Location)
	text := o.text(textFields...)
	if mailStart(lineEnds(text), "") {
		m, err := f.parseMail(ctx, []byte(text), "")
		if err == nil && len(m.Blocks) > 0 {
			return m, nil
		}
	}
	from := clean(o.text("from", "sender", "author"))
	switch {
	case text == "":
		s.Format, s.Source = "transcript", "meeting"
		if o.find("messages") != nil {
			s.Source = "conversation"
		}
		s.Blocks = o.talk(ctx, 3)
		if id := o.textWithin("meetingid"); s.Title == "" && id != "" {
			s.Title = oneLine("Meeting " + id)
		}
	case from != "" && o.text("subject") != "":
		s.Format, s.Source = "mail", "mail from "+person(from)
		s.Blocks = writerBlocks(ctx, mailText{text: clean(lineEnds(text))}, forwarding.MatchString(s.Title), s.Title)
	default:
		s.Blocks = blocksOf(ctx, strings.Split(clean(lineEnds(text)), "\n"), false)
		if source := oneLine(o.text("source")); source != "" {
			s.Source = source
		} else if user := or(from, o.text("user", "speaker")); user != "" {
			s.Source = "note from " + person(clean(user))
		}
	}
	if s.Title == "" {
		s.Title = titleOf(stem(f.base), f.base)
	}
	if len(s.Blocks) == 0 || allWordless(s.Blocks) {
		return nil, errEmpty
	}
	s.Notes = o.unread(s)
	return s, nil
}

// jsonDate reads a date: text, or seconds or milliseconds since 1970.
func jsonDate(v any, loc *time.Location) time.Time {
	switch v := v.(type) {
	case string:
		return date(v, loc)
	case json.Number:
		n, err := v.Float64()
		if err != nil || n < 1e8 {
			return time.Time{}
		}
		if n > 1e11 {
			n /= 1000
		}
		if n > 4e9 {
			return time.Time{}
		}
		return time.Unix(int64(n), 0).In(loc)
	}
	return time.Time{}
}
