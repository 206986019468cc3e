package enronqa

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/percached/percached/eval/lines"
)

const maxLine = 32 << 20 // bytes: what percached takes of a document

// jsonRows reads JSON lines. What is no object is a row that names no user.
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

// value reads a value that is known to be JSON; nil if it is absent.
func value(raw json.RawMessage) (v any) {
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &v) // what cannot be is nil
	}
	return v
}
