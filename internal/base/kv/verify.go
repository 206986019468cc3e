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

// Damage says that a database does not contain what was stored in it. The database was not
// changed.
type Damage struct {
	Dir, File string
	What      string
}

func (d *Damage) Error() string {
	return fmt.Sprintf("%s is damaged: %s: %s; nothing was changed", d.Dir, d.File, d.What)
}

func damagedf(file, format string, args ...any) *Damage {
	return &Damage{File: file, What: fmt.Sprintf(format, args...)}
}

// verify compares a closed database with its record and changes nothing. It returns the number
// of the last commit that must exist, and known checksums for the next record.
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
	case err != nil: // verify the rest without it
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
			return 0, nil, damagedf("MANIFEST", "it is missing, and so are all other files")
		}
		return 0, nil, nil
	}
	if err := s.checkLogKeys(); err != nil {
		return 0, nil, err
	}
	if r != nil && r.State == stateClosed {
		return r.Commit, known, s.checkTables()
	}
	if r == nil {
		r = &record{Gap: true}
	}
	return r.Commit, nil, s.afterCrash(r)
}

// verifyFiles compares the files of a cleanly closed database with their recorded sizes and
// checksums.
func verifyFiles(dir string, files []fileRecord) error {
	listed := map[string]bool{}
	for _, f := range files {
		listed[f.Name] = true
		path := filepath.Join(dir, f.Name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return damagedf(f.Name, "it is missing")
		case err != nil:
			return err
		case info.Size() != f.Size:
			return damagedf(f.Name, "it has %d bytes instead of %d", info.Size(), f.Size)
		case strings.HasSuffix(f.Name, ".sst"):
			continue // checkTables reads it
		}
		sum, err := sumFile(path)
		if err != nil {
			return err
		}
		if sum != f.Sum {
			return damagedf(f.Name, "it does not match its checksum")
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
			return damagedf(e.Name(), "the database was closed without this file")
		}
	}
	return nil
}

// checkLogKeys verifies that the data key of every log exists.
func (s *survey) checkLogKeys() error {
	if s.keys == nil {
		return nil
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !isLog(e.Name()) {
			continue
		}
		if _, err := s.logKey(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// checkTables verifies all listed tables against their checksums.
func (s *survey) checkTables() error {
	for _, id := range s.tables {
		name, b, key, err := s.readTable(id)
		if err != nil {
			return err
		}
		if err := inspectTable(b, key); err != nil {
			return damagedf(name, "the table is damaged: %v", err)
		}
	}
	return nil
}

// versionID identifies one version of a key.
type versionID [16]byte

func idOf(e *stored) versionID {
	h := sha256.New()
	h.Write(e.key)
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], e.version)
	h.Write(b[:])
	return versionID(h.Sum(nil)[:16])
}

// afterCrash verifies a database whose process ended without closing it. Two faults are normal
// after a crash: tables that the manifest does not list, and an incomplete, unacknowledged
// transaction at the end of the newest log. Everything else is damage.
func (s *survey) afterCrash(r *record) error {
	need := map[versionID]uint64{} // versions in unlisted tables
	for _, id := range s.orphans {
		err := s.eachInTable(id, func(e *stored) error {
			need[idOf(e)] = id
			return nil
		})
		if _, ok := errors.AsType[*Damage](err); ok {
			continue // a crash left the table incomplete
		}
		if err != nil {
			return err
		}
	}
	far, err := s.readAll(r, need)
	if err != nil {
		return err
	}
	if err := unlistedTable(need); err != nil {
		return err
	}
	if far < r.Commit {
		return damagedf(logFileName(max(r.Log, newestLog(s.dir))), "it is truncated or missing: changes exist up to number %d of %d", far, r.Commit)
	}
	return s.readValues()
}

// unlistedTable returns the damage of a manifest that does not list a table which alone
// contains some versions.
func unlistedTable(need map[versionID]uint64) error {
	for _, id := range need {
		return damagedf("MANIFEST", "it does not list the table %06d.sst, and no other file contains its content", id)
	}
	return nil
}

// readAll reads tables and logs, removes each version from need, and returns the last change
// number.
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
	var behind []uint64 // change numbers that are in no table
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
			return 0, damagedf(logFileName(id), "its end is not readable")
		}
	}
	if r.Gap {
		return far, nil
	}
	slices.Sort(behind)
	for i, v := range slices.Compact(behind) {
		if v != flushed+uint64(i)+1 {
			if err := unlistedTable(need); err != nil { // the missing change may be in an unlisted table
				return 0, err
			}
			return 0, damagedf(logFileName(newestLog(s.dir)), "change number %d is missing: this log or an earlier one was truncated or removed", flushed+uint64(i)+1)
		}
	}
	return far, nil
}

// readValues reads the current value of every key with a value in a value log.
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
	// First find the keys that ever had such a value, then their newest versions.
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
	for key, p := range newest {
		if !p.lies {
			continue
		}
		if name := valueLogName(p.at.file); name == s.last && int64(p.at.offset)+int64(p.at.length) > end {
			return damagedf(name, "its end is not readable")
		}
		if _, err := s.value([]byte(key), p.at); err != nil {
			return err
		}
	}
	return nil
}
