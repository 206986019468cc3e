package kv

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Damage says that a database does not hold what was stored in it. Nothing of it
// was changed.
type Damage struct {
	Dir, File string
	What      string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%s is damaged: %s: %s; nothing was changed", d.Dir, d.File, d.What)
}

func damaged(file, format string, args ...any) *Damage {
	return &Damage{File: file, What: fmt.Sprintf(format, args...)}
}

// verify holds a database that nobody has open against its record, and changes
// nothing. It gives the number of the last commit that must be there, and sums of
// files for the next record.
func verify(dir string, o Options) (commit uint64, known []fileRecord, err error) {
	defer func() {
		if d, ok := errors.AsType[*Damage](err); ok {
			d.Dir = dir
		}
	}()
	r, err := readRecord(dir)
	switch {
	case errors.Is(err, errRecordNewer):
		return 0, nil, err
	case err != nil: // all else is looked at without it
		if o.Observer.RecordDamaged != nil {
			o.Observer.RecordDamaged(dir, err)
		}
		r = nil
	}
	if r != nil && r.State == stateClosed {
		if err := verifyFiles(dir, r.Files); err != nil {
			return 0, nil, err
		}
		known = slices.DeleteFunc(r.Files, func(f fileRecord) bool { return !strings.HasSuffix(f.Name, ".vlog") })
	}
	s, err := takeSurvey(dir, o)
	if err != nil {
		return 0, nil, err
	}
	if s == nil {
		if r != nil && r.Commit > 0 {
			return 0, nil, damaged("MANIFEST", "it is missing, and so are all other files")
		}
		return 0, nil, nil
	}
	if r != nil && r.State == stateClosed {
		return r.Commit, known, s.checkTables()
	}
	if r == nil {
		r = &record{Gap: true}
	}
	return r.Commit, nil, s.afterCrash(r)
}

// verifyFiles holds the files of a database that was closed well against their
// sizes and checksums.
func verifyFiles(dir string, files []fileRecord) error {
	listed := map[string]bool{}
	for _, f := range files {
		listed[f.Name] = true
		path := filepath.Join(dir, f.Name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return damaged(f.Name, "it is missing")
		case err != nil:
			return err
		case info.Size() != f.Size:
			return damaged(f.Name, "it has %d bytes instead of %d", info.Size(), f.Size)
		case strings.HasSuffix(f.Name, ".sst"):
			continue // checkTables reads it
		}
		sum, err := sumFile(path)
		if err != nil {
			return err
		}
		if sum != f.Sum {
			return damaged(f.Name, "it does not match its checksum")
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !recorded(e.Name()) || listed[e.Name()] {
			continue
		}
		if info, err := e.Info(); err != nil {
			return err
		} else if info.Size() > 0 {
			return damaged(e.Name(), "it is no part of the database, which was closed without it")
		}
	}
	return nil
}

// checkTables holds all tables that are in use against their checksums.
func (s *survey) checkTables() error {
	for _, id := range s.tables {
		name, b, err := s.readTable(id)
		if err != nil {
			return err
		}
		if err := inspectTable(b); err != nil {
			return damaged(name, "the table is damaged: %v", err)
		}
	}
	return nil
}

// versionID stands for one version of a key.
type versionID [16]byte

func idOf(e *stored) versionID {
	h := sha256.New()
	h.Write(e.key)
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], e.version)
	h.Write(b[:])
	return versionID(h.Sum(nil)[:16])
}

// afterCrash looks at a database whose process ended without closing it. Tables
// that the manifest does not know may be there, and the newest log may end in half
// a transaction that nobody was told of: all else is damage.
func (s *survey) afterCrash(r *record) error {
	need := map[versionID]uint64{} // versions in tables that the manifest never listed
	for _, id := range s.orphans {
		err := s.eachInTable(id, func(e *stored) error {
			need[idOf(e)] = id
			return nil
		})
		if _, ok := errors.AsType[*Damage](err); ok {
			continue // a table that a crash left half written, as far as it goes
		}
		if err != nil {
			return err
		}
	}
	far, err := s.readAll(r, need)
	if err != nil {
		return err
	}
	if err := unlisted(need); err != nil {
		return err
	}
	if far < r.Commit {
		return damaged(logFileName(max(r.Log, newestLog(s.dir))), "it was cut or is missing: changes are there up to number %d of %d", far, r.Commit)
	}
	return s.readValues()
}

// unlisted is the damage to a manifest that does not list a table which alone holds
// some versions.
func unlisted(need map[versionID]uint64) error {
	for _, id := range need {
		return damaged("MANIFEST", "it does not list the table %06d.sst, and nothing else holds what is in it", id)
	}
	return nil
}

// readAll reads tables and logs, strikes what it finds off those that are needed,
// and gives the last number of a change.
func (s *survey) readAll(r *record, need map[versionID]uint64) (far uint64, err error) {
	found := func(e *stored) {
		far = max(far, e.version)
		if len(need) > 0 {
			delete(need, idOf(e))
		}
	}
	for _, id := range s.tables {
		if err := s.eachInTable(id, func(e *stored) error { found(e); return nil }); err != nil {
			return 0, err
		}
	}
	flushed := far
	var behind []uint64 // numbers of changes that are in no table
	for i, id := range s.logs {
		tail, err := s.eachInLog(id, func(e *stored) error {
			found(e)
			if n := len(behind); e.version > flushed && (n == 0 || behind[n-1] != e.version) {
				behind = append(behind, e.version)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		if tail && i < len(s.logs)-1 {
			return 0, damaged(logFileName(id), "it cannot be read to its end")
		}
	}
	if r.Gap {
		return far, nil
	}
	slices.Sort(behind)
	for i, v := range slices.Compact(behind) {
		if v != flushed+uint64(i)+1 {
			if err := unlisted(need); err != nil { // perhaps it is in there
				return 0, err
			}
			return 0, damaged(logFileName(newestLog(s.dir)), "change number %d is missing: it, or a log before it, was cut or removed", flushed+uint64(i)+1)
		}
	}
	return far, nil
}

// readValues reads the current value of every key that lies in a value log.
func (s *survey) readValues() error {
	type place struct {
		version uint64
		at      pointer
		lies    bool
	}
	newest := map[string]place{}
	note := func(e *stored, fresh bool) {
		p, lies := e.pointer()
		old, known := newest[string(e.key)]
		if (known || fresh && lies) && (!known || e.version >= old.version) {
			newest[string(e.key)] = place{e.version, p, lies}
		}
	}
	// First the keys that ever had such a value, then what became of them.
	for _, fresh := range []bool{true, false} {
		if !fresh && len(newest) == 0 {
			return nil
		}
		for _, id := range s.tables {
			if err := s.eachInTable(id, func(e *stored) error { note(e, fresh); return nil }); err != nil {
				return err
			}
		}
		for _, id := range s.logs {
			if _, err := s.eachInLog(id, func(e *stored) error { note(e, fresh); return nil }); err != nil {
				return err
			}
		}
	}
	end, err := s.readable()
	if err != nil {
		return err
	}
	for _, p := range newest {
		if !p.lies {
			continue
		}
		if name := valueLogName(p.at.file); name == s.last && int64(p.at.offset)+int64(p.at.length) > end {
			return damaged(name, "it cannot be read to its end")
		}
		if _, _, err := s.value(p.at); err != nil {
			return err
		}
	}
	return nil
}
