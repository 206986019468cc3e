package knowledgebank

import (
	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
)

// IsSpaceRecord reports whether a key is that of the record that makes a space exist.
func IsSpaceRecord(space string, key []byte) bool {
	return string(newSpaceID(space).key(spaceType)) == string(key)
}

// AdoptSpace makes a space exist whose other records were copied into the database. In one
// transaction it writes the space's own record and deletes the keys of done. It may change the
// settings first.
func (b *Bank) AdoptSpace(name string, record []byte, change func(*percached.Settings), done ...[]byte) error {
	const op = "knowledgebank.AdoptSpace"
	id := newSpaceID(name)
	payload, err := unseal(id.key(spaceType), record)
	var r *spaceRecord
	if err == nil {
		r, err = decodeSpace(payload)
	}
	if err != nil || !r.Live || r.Name != name || !spaceName.MatchString(name) {
		return fault.New(fault.Invalid, op, "the record of the space cannot be read")
	}
	change(&r.Settings)
	sp := b.spaceOrNew(id)
	sp.writing.Lock()
	defer sp.writing.Unlock()
	if was := sp.record.Load(); was == nil || was.Live {
		return fault.New(fault.Conflict, op, "the space %q exists", name)
	}
	sp.begin.Lock()
	sp.unfinished, sp.staleRows = true, true // a journal may be among the records
	sp.begin.Unlock()
	var gone []write
	for _, key := range done {
		gone = append(gone, write{key, nil})
	}
	return fault.Wrap(op, b.setSpace(sp, r, gone...))
}
