package inbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"strings"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
)

// Until percached kept records in the database, each was a file in the inbox's
// folder: a line with a version and a checksum, then JSON. Backups still contain
// such files, so that every version can restore them.
const (
	formerVersion = 2
	formerEnd     = ".upload"
	formerDenied  = "withheld"
	formerDamaged = "damaged"
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	errDamaged = errors.New("it is damaged")
	errNewer   = errors.New("a newer percached wrote it")
)

// convertFormer stores the records of former files in the database, and removes the
// files. A record in the database is newer and stays. Nothing changes before all
// files are read.
func (in *Inbox) convertFormer() error {
	entries, err := os.ReadDir(in.disk.dir)
	if err != nil {
		return err
	}
	var changes []change
	var files []string
	for _, f := range entries {
		id, isRecord := strings.CutSuffix(f.Name(), formerEnd)
		var c change
		switch {
		case isRecord && idForm.MatchString(id):
			var r record
			if err = in.readFormer(f.Name(), "upload", &r); err == nil && (r.ID != id || r.check() != nil) {
				err = errDamaged
			}
			if err == nil {
				c, err = put(keyOf(id), &r)
			}
		case f.Name() == formerDenied:
			var w withheldList
			if err = in.readFormer(f.Name(), "withheld", &w); err == nil {
				c, err = put(withheldKey, w)
			}
		default:
			continue
		}
		files = append(files, f.Name())
		if errors.Is(err, errDamaged) {
			in.o.Logger.Error("cannot read the record of an upload; deleted it, send the upload again", "record", f.Name())
			continue
		}
		if err != nil {
			return err
		}
		changes = append(changes, c)
	}
	for _, c := range changes {
		_, err := in.store.get(c.key)
		if fault.KindOf(err) == fault.NotFound {
			err = in.store.write(c)
		}
		if err != nil {
			return err
		}
	}
	return errors.Join(in.disk.remove(files...), os.RemoveAll(in.disk.path(formerDamaged)))
}

func (in *Inbox) readFormer(name, what string, v any) error {
	b, err := in.disk.read(name)
	switch {
	case err == nil:
		err = decodeFormer(what, b, v)
	case errors.Is(err, encryption.ErrDamaged):
		err = errDamaged
	}
	if errors.Is(err, errNewer) {
		return fault.New(fault.Unsupported, "inbox.readFormer", "cannot use %s: %w", in.disk.path(name), err)
	}
	return err
}

func encodeFormer(what string, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	return append(fmt.Appendf(nil, "%s %d %08x\n", what, formerVersion, formerSum(formerVersion, body)), body...), err
}

func decodeFormer(what string, b []byte, v any) error {
	line, body, ok := bytes.Cut(b, []byte("\n"))
	var n int
	var want uint32
	if got, err := fmt.Sscanf(string(line), what+" %d %08x", &n, &want); !ok || len(line) > 64 || got != 2 || err != nil || n < 1 || formerSum(n, body) != want {
		return errDamaged
	}
	if n > formerVersion {
		return errNewer
	}
	if json.Unmarshal(body, v) != nil {
		return errDamaged
	}
	return nil
}

func formerSum(version int, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(fmt.Appendf(nil, "%d ", version), castagnoli), castagnoli, body)
}
