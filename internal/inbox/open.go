package inbox

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// Open opens the folder, and makes it if there is none. It removes what was not
// acknowledged, and what belongs to spaces that are gone.
func Open(dir string, o Options) (*Inbox, error) { return open(&disk{dir: dir}, o) }

func open(d *disk, o Options) (*Inbox, error) {
	const op = "inbox.Open"
	if err := o.Validate(); err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	if err := makeFolder(d.dir); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	in := &Inbox{
		o: o, disk: d, wake: make(chan struct{}, 1), closing: make(chan struct{}),
		uploads: map[string]*entry{}, keys: map[named]*entry{}, sending: map[*sending]struct{}{},
		memory: newMemory(o.Memory), busy: map[string]bool{}, served: map[string]uint64{},
	}
	l := &loading{Inbox: in, known: map[string]bool{}}
	err := l.read()
	if err == nil {
		err = l.settle()
	}
	switch {
	case fault.KindOf(err) == fault.Unsupported:
		return nil, fault.Wrap(op, err)
	case err != nil:
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	return in, nil
}

func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return durable.Folder(filepath.Dir(dir))
}

// loading is an Open under way: first all is read, and only then something
// changed.
type loading struct {
	*Inbox
	leftovers []string
	damaged   []string
	known     map[string]bool // spaces that are there
}

// read reads all records, and finds out what is to be removed.
func (l *loading) read() error {
	names, err := os.ReadDir(l.disk.dir)
	if err != nil {
		return err
	}
	spools := map[string]bool{}
	for _, d := range names {
		name := d.Name()
		id, record := strings.CutSuffix(name, recordEnd)
		spool, isSpool := strings.CutSuffix(name, spoolEnd)
		switch {
		case strings.HasSuffix(name, partEnd):
			l.leftovers = append(l.leftovers, name)
		case record && idForm.MatchString(id):
			err = l.record(id, name)
		case isSpool && idForm.MatchString(spool):
			spools[spool] = true
		case name == withheldName:
			err = l.heldBack()
		case name == damagedName:
			l.aside = true
		}
		if err != nil {
			return err
		}
	}
	for id := range spools {
		damaged := slices.Contains(l.damaged, id+recordEnd)
		if e := l.uploads[id]; damaged {
			l.damaged = append(l.damaged, id+spoolEnd)
		} else if e == nil || e.State.over() {
			l.leftovers = append(l.leftovers, id+spoolEnd)
		}
	}
	return nil
}

// record reads the record of an upload.
func (l *loading) record(id, name string) error {
	b, err := l.disk.read(name)
	var r *record
	if err == nil {
		r, err = decodeRecord(b)
	}
	switch {
	case errors.Is(err, errNewer):
		return fault.New(fault.Unsupported, "inbox.record", "%s cannot be used: %w", l.disk.path(name), err)
	case errors.Is(err, errDamaged), err == nil && r.ID != id:
		l.damaged = append(l.damaged, name)
		return nil
	case err != nil:
		return err
	}
	e := &entry{
		Upload: Upload{
			ID: id, Space: r.Space, Key: r.Key, State: r.State, Accepted: r.Accepted, Ended: r.Ended,
			Files: r.Count, Bytes: r.Bytes, Report: r.Report, Error: r.Error,
		},
		seq: r.Seq, digest: r.Digest, over: make(chan struct{}), ready: true, begun: r.Begun, far: r.Far,
	}
	if r.State == Done {
		e.Read = e.Bytes
	}
	l.seq = max(l.seq, r.Seq)
	if !l.there(r.Space) {
		l.leftovers = append(l.leftovers, name) // before its spool
		return nil
	}
	if e.State.over() {
		close(e.over)
	} else {
		l.bytes += e.Bytes
	}
	l.insert(e)
	return nil
}

// there says whether a space is there, or may be.
func (l *loading) there(space string) bool {
	there, asked := l.known[space]
	if !asked {
		_, err := l.o.Spaces.Space(space)
		there = fault.KindOf(err) != fault.NotFound
		l.known[space] = there
	}
	return there
}

// heldBack reads which documents are withheld.
func (l *loading) heldBack() error {
	b, err := l.disk.read(withheldName)
	if err == nil {
		l.withheld, err = decodeWithheld(b)
	}
	switch {
	case errors.Is(err, errNewer):
		return fault.New(fault.Unsupported, "inbox.heldBack", "%s cannot be used: %w", l.disk.path(withheldName), err)
	case errors.Is(err, errDamaged):
		l.damaged = append(l.damaged, withheldName)
		return nil
	}
	for _, w := range l.withheld {
		l.seq = max(l.seq, w.Upto)
	}
	return err
}

// settle puts in order what was read, in memory and on disk.
func (l *loading) settle() error {
	if len(l.damaged) > 0 {
		l.o.Logger.Error("records of uploads that were not taken in yet, or of ended ones, are damaged and were set aside", "folder", l.disk.path(damagedName), "files", l.damaged)
		l.aside = true
		if err := l.disk.setAside(l.damaged...); err != nil {
			return err
		}
	}
	slices.SortFunc(l.queue, func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) })
	for _, name := range append(l.leftovers, l.prune()...) {
		if err := l.disk.remove(name); err != nil {
			return err
		}
	}
	if l.release() {
		l.writeWithheld()
	}
	if len(l.queue) > 0 {
		l.ring()
	}
	return l.disk.sync()
}
