package inbox

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/semaphore"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// Open opens an inbox with its spool files in a folder, which it creates if needed,
// and its records in a database. It deletes what was not acknowledged and what
// belongs to spaces that are gone.
func Open(dir string, db *kv.DB, o Options) (*Inbox, error) {
	return open(&disk{dir: dir, key: o.Key}, database{db}, o)
}

func open(d *disk, s store, o Options) (*Inbox, error) {
	const op = "inbox.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	in := &Inbox{
		o: o, disk: d, store: s, wake: make(chan struct{}, 1), closing: make(chan struct{}),
		uploads: map[string]*entry{}, sending: map[*sending]struct{}{},
		memory: newMemory(o.Memory), busy: map[string]bool{}, lanes: semaphore.NewWeighted(int64(o.Lanes)),
	}
	for _, step := range []func() error{in.makeFolder, in.convertFormer, in.load} {
		err := step()
		if fault.KindOf(err) == fault.Unsupported {
			return nil, fault.Wrap(op, err)
		}
		if err != nil {
			return nil, fault.New(fault.Unavailable, op, "%w", err)
		}
	}
	return in, nil
}

func (in *Inbox) makeFolder() error {
	err := os.Mkdir(in.disk.dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return durable.Folder(filepath.Dir(in.disk.dir))
}

// load reads all records, and deletes records and files that nobody needs.
func (in *Inbox) load() error {
	var all []*entry
	var useless []change
	if err := in.store.load(func(key, value []byte) error {
		r, err := &record{}, error(nil)
		if string(key) == string(withheldKey) {
			var w withheldList
			err = decode(key, value, &w)
			in.withheld = w.Documents
		} else if r, err = decodeRecord(key, value); err == nil {
			all = append(all, newEntry(r))
		}
		if errors.Is(err, sealed.ErrDamaged) {
			in.o.Logger.Error("cannot read the record of an upload; deleted it, send the upload again", "record", string(key))
			useless = append(useless, change{key: slices.Clone(key)})
			return nil
		}
		return err
	}); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) })
	for _, e := range all {
		in.seq = max(in.seq, e.seq)
		if _, err := in.o.Spaces.Space(e.Space); fault.KindOf(err) == fault.NotFound {
			useless = append(useless, change{key: keyOf(e.ID)})
			continue
		}
		e.ready = true
		in.insert(e)
		if !e.State.ended() {
			in.bytes += e.Bytes
			in.wakeRun()
		}
	}
	for _, w := range in.withheld {
		in.seq = max(in.seq, w.Upto)
	}
	if err := in.writeMany(append(useless, in.prune()...)); err != nil {
		return err
	}
	if in.release() {
		in.writeWithheld()
	}
	return in.removeOrphans()
}

// removeOrphans removes files that belong to no waiting upload.
func (in *Inbox) removeOrphans() error {
	files, err := os.ReadDir(in.disk.dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		id, isSpool := strings.CutSuffix(f.Name(), spoolEnd)
		e := in.uploads[id]
		orphan := isSpool && idForm.MatchString(id) && (e == nil || e.State.ended())
		if orphan || strings.HasSuffix(f.Name(), partEnd) {
			if err := in.disk.remove(f.Name()); err != nil {
				return err
			}
		}
	}
	return in.disk.sync()
}
