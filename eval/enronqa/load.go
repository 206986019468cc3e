package enronqa

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/lines"
)

// Options say what to read.
type Options struct {
	// Users is the number of users, the first by name; 0: all.
	Users int
	// Inboxes is a folder with files USER.mbox or USER.mbox.gz: the whole mail of a user,
	// which is added to the mails with questions. Empty: none.
	Inboxes string
}

// Load reads a file, or a folder with all files below it. It fails if a column is missing,
// or if there is no question to ask.
func Load(path string, o Options) (*eval.Data, error) {
	if o.Users < 0 {
		return nil, fmt.Errorf("invalid number of users: %d", o.Users)
	}
	l := &loader{data: &eval.Data{PassedOver: map[string]int{}}, boxes: map[string]*mailbox{}}
	files, err := l.files(path)
	if err != nil {
		return nil, err
	}
	chosen, err := users(files, o.Users)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		about, err := f.rows(func(user string) bool { return chosen == nil || user == "" || chosen[user] }, l.add)
		if err == nil {
			err = l.lacks(f, about)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	if err := l.sets(o.Inboxes); err != nil {
		return nil, err
	}
	if err := l.data.Askable(path); err != nil {
		return nil, err
	}
	return l.data, nil
}

// source is a file with rows.
type source struct {
	path string
	name string // for reports
	// rows calls do with each row of a chosen user, and with rows that name no user.
	rows func(keep func(user string) bool, do func(row)) (about, error)
}

// about describes a file.
type about struct {
	rows    int // of any user
	columns map[string]bool
}

// row is a mail with its questions, as columns by name.
type row struct {
	where   string
	columns map[string]any // text, lists of any, or nil
	others  []string       // ignored columns
	wrong   error          // why it is not a row
}

func plain() []string   { return []string{"path", "user", "email"} }
func needed() []string  { return append(plain(), "questions", "gold_answers") }
func welcome() []string { return []string{"rephrased_questions", "alternate_answers"} }
func columns() []string { return append(needed(), welcome()...) }

// loader collects the data.
type loader struct {
	data  *eval.Data
	boxes map[string]*mailbox
}

// files finds the files to read.
func (l *loader) files(root string) (found []source, err error) {
	const other = "neither .parquet nor .jsonl nor .jsonl.gz"
	err = lines.Walk(root, l.data.Hidden, func(path, name string) error {
		f, ok := file(path, name)
		switch {
		case ok:
			found = append(found, f)
		case path == root:
			return fmt.Errorf("%s is %s", root, other)
		default:
			l.data.Skip(name, other)
		}
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("%s holds no .parquet, .jsonl or .jsonl.gz", root)
	}
	return found, err
}

func file(path, name string) (source, bool) {
	f := source{path: path, name: name}
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".parquet"):
		f.rows = func(keep func(string) bool, do func(row)) (about, error) { return parquetRows(path, name, keep, do) }
	case strings.HasSuffix(lower, ".jsonl"), strings.HasSuffix(lower, ".jsonl.gz"):
		f.rows = func(keep func(string) bool, do func(row)) (about, error) { return jsonRows(path, name, keep, do) }
	default:
		return source{}, false
	}
	return f, true
}

// users are the first n users by name; nil: all.
func users(files []source, n int) (map[string]bool, error) {
	if n == 0 {
		return nil, nil
	}
	names := map[string]bool{}
	for _, f := range files {
		_, err := f.rows(func(user string) bool {
			if user != "" {
				names[user] = true
			}
			return false
		}, func(row) {})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
	}
	chosen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(names))[:min(n, len(names))] {
		chosen[name] = true
	}
	return chosen, nil
}

// lacks reports the missing columns of a file: an error for required columns.
func (l *loader) lacks(f source, a about) error {
	if a.rows == 0 {
		l.data.Skip(f.name, "no rows")
	}
	var missing []string
	for _, c := range needed() {
		if !a.columns[c] {
			missing = append(missing, c)
		}
	}
	if len(a.columns) == 0 && a.rows == 0 {
		return nil
	}
	if len(missing) > 0 {
		return fmt.Errorf("missing columns: %s", strings.Join(missing, ", "))
	}
	for _, c := range welcome() {
		if !a.columns[c] {
			l.data.Skip(f.name, "no column %s", c)
		}
	}
	return nil
}

// sets makes a set of each mailbox.
func (l *loader) sets(inboxes string) error {
	for _, user := range slices.Sorted(maps.Keys(l.boxes)) {
		l.boxes[user].sort()
		set := l.boxes[user].set
		if len(set.Questions) == 0 {
			l.data.Skip("user "+user, "no question to ask")
			continue
		}
		if inboxes != "" {
			inbox, why, err := inbox(inboxes, user)
			if err != nil {
				return fmt.Errorf("cannot read the inbox of %s: %w", user, err)
			}
			if why != "" {
				l.data.Skip("the inbox of "+user, "%s", why)
			} else {
				set.Files = append([]eval.File{inbox}, set.Files...)
			}
		}
		l.data.Sets = append(l.data.Sets, set)
	}
	return nil
}

const maxLine = 32 << 20 // bytes: percached's limit of a document

// jsonRows reads JSON lines. A line that is not an object is a row without a user.
func jsonRows(path, name string, keep func(string) bool, do func(row)) (about, error) {
	a := about{columns: map[string]bool{}}
	in, err := lines.Open(path)
	if err != nil {
		return a, err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	for l, err := range lines.Read(in, maxLine) {
		if err != nil {
			return a, err
		}
		a.rows++
		r := row{where: fmt.Sprintf("%s line %d", name, l.Number)}
		var fields map[string]json.RawMessage
		if l.Long {
			err = fmt.Errorf("longer than %d bytes", maxLine)
		} else {
			fields, err = lines.Object(l.Text)
		}
		if err != nil {
			if keep("") {
				do(row{where: r.where, wrong: err})
			}
			continue
		}
		for c := range fields {
			a.columns[c] = true
		}
		if user, _ := text(value(fields["user"])); !keep(user) {
			continue
		}
		r.columns = map[string]any{}
		for _, c := range columns() {
			r.columns[c] = value(fields[c])
			delete(fields, c)
		}
		r.others = slices.Sorted(maps.Keys(fields))
		do(r)
	}
	return a, nil
}

// value parses valid JSON; nil if it is absent.
func value(raw json.RawMessage) (v any) {
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &v) // v stays nil
	}
	return v
}
