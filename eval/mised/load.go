package mised

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/lines"
)

// Options say what to read.
type Options struct {
	// Users is the number of users, the first ones; 0: all.
	Users int
	// Meetings is the number of meetings per user; 0: 4.
	Meetings int
}

// maxObject is the maximum size of an object, in bytes: percached's limit of a document.
const maxObject = 32 << 20

// Load reads a file, or a folder with all files below it. It fails if there is no question
// to ask.
func Load(path string, o Options) (*eval.Data, error) {
	if o.Meetings == 0 {
		o.Meetings = 4
	}
	if o.Users < 0 || o.Meetings < 0 {
		return nil, fmt.Errorf("invalid options: %d users, %d meetings each", o.Users, o.Meetings)
	}
	l := &loader{data: &eval.Data{PassedOver: map[string]int{}}, most: o.Users * o.Meetings, names: map[string]bool{}}
	if err := l.walk(path); err != nil {
		return nil, err
	}
	l.users(o.Meetings)
	if err := l.data.Askable(path); err != nil {
		return nil, err
	}
	return l.data, nil
}

// loader collects the data.
type loader struct {
	data     *eval.Data
	most     int // meetings; 0: all
	meetings []*meeting
	names    map[string]bool // of the meetings' files
}

func (l *loader) walk(root string) error {
	const other = "neither .jsonl nor .jsonl.gz nor .json"
	return lines.Walk(root, l.data.Hidden, func(path, name string) error {
		known, err := l.file(path, name)
		if err == nil && !known {
			if path == root {
				err = errors.New(other)
			} else {
				l.data.Skip(name, other)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		return nil
	})
}

// file reads a file; known is false for another kind of file.
func (l *loader) file(path, name string) (known bool, err error) {
	lower := strings.ToLower(strings.TrimSuffix(name, ".gz"))
	whole := strings.HasSuffix(lower, ".json")
	if !whole && !strings.HasSuffix(lower, ".jsonl") {
		return false, nil
	}
	in, err := lines.Open(path)
	if err != nil {
		return true, err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	stem := strings.TrimSuffix(filepath.Base(strings.TrimSuffix(name, ".gz")), filepath.Ext(strings.TrimSuffix(name, ".gz")))
	if whole {
		return true, l.whole(in, name, stem)
	}
	for line, err := range lines.Read(in, maxObject) {
		if err != nil {
			return true, err
		}
		where := fmt.Sprintf("%s line %d", name, line.Number)
		if line.Long {
			l.data.Skip(where, "longer than %d bytes", maxObject)
			continue
		}
		l.object(where, fmt.Sprintf("%s-%d", stem, line.Number), line.Text)
	}
	return true, nil
}

// whole reads a file that is one JSON value.
func (l *loader) whole(in io.Reader, name, stem string) error {
	text, err := io.ReadAll(io.LimitReader(in, maxObject+1))
	if err != nil {
		return err
	}
	if len(text) > maxObject {
		l.data.Skip(name, "longer than %d bytes", maxObject)
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil || list == nil {
		l.object(name, stem, text)
		return nil
	}
	for i, item := range list {
		l.object(fmt.Sprintf("%s item %d", name, i+1), fmt.Sprintf("%s-%d", stem, i+1), item)
	}
	return nil
}

// users makes sets of so many meetings each.
func (l *loader) users(each int) {
	for n := 1; len(l.meetings) > 0; n++ {
		set := eval.Set{User: fmt.Sprintf("user-%d", n), Kind: "meetings", Ordered: true}
		some := l.meetings[:min(each, len(l.meetings))]
		l.meetings = l.meetings[len(some):]
		for _, m := range some {
			set.Files = append(set.Files, m.document())
			for _, q := range m.questions {
				q.Number, q.Document = len(set.Questions)+1, m.file
				set.Questions = append(set.Questions, q)
			}
		}
		if len(set.Questions) == 0 {
			l.data.Skip(set.User, "no question about any of its meetings")
			continue
		}
		l.data.Sets = append(l.data.Sets, set)
	}
}
