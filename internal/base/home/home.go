package home

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

const (
	// Version 2: databases hold a RECORD, which an earlier percached would not keep.
	version = 2
	keySize = 32
	op      = "home.Open"
)

// Home is an open data folder.
type Home struct {
	dir  string
	lock *os.File
	Key  []byte // signs what is stored
	// Unclean: the process before ended without Close. It counts as such until
	// who has made good what that left undone sets it to false.
	Unclean bool
}

// InUse is what Open says of a folder that another process uses.
type InUse struct {
	Who string // "process 4711"
	Dir string
}

func (e *InUse) Error() string {
	return fmt.Sprintf("%s uses %s: wait until it ends, end it, or name another folder with --data", e.Who, e.Dir)
}

// Default is the data folder of this user: $XDG_DATA_HOME/percached, or
// .local/share/percached in the home folder.
func Default() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "percached"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New(fault.Unavailable, "home.Default", "there is no home folder, name a data folder with --data: %w", err)
	}
	return filepath.Join(user, ".local", "share", "percached"), nil
}

// Exists says whether there is something at dir, whatever it is, even if it cannot
// be looked at.
func Exists(dir string) bool {
	_, err := os.Stat(dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// Open opens the folder, and makes it if there is none. What is in a folder that
// is not empty and not percached's is left alone.
func Open(dir string) (*Home, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	h := &Home{dir: dir}
	fresh, err := h.vacant()
	if err != nil {
		return nil, err
	}
	if h.lock, err = lock(h.Path("lock")); err != nil {
		return nil, err
	}
	if fresh { // another process may have made it meanwhile
		fresh, err = h.vacant()
	}
	if err == nil {
		err = h.enter(fresh)
	}
	if err != nil {
		h.lock.Close()
		return nil, err
	}
	return h, nil
}

// Path is where something lies in the folder.
func (h *Home) Path(name ...string) string {
	return filepath.Join(append([]string{h.dir}, name...)...)
}

// Close says that all ended well, unless it is unclean still, and lets others in.
func (h *Home) Close() error {
	var err error
	if !h.Unclean {
		err = os.Remove(h.Path("unclean"))
	}
	if shut := h.lock.Close(); err == nil {
		err = shut
	}
	if err != nil {
		return fault.New(fault.Unavailable, "home.Close", "%w", err)
	}
	return nil
}

// vacant says whether the folder is to be made: it holds nothing yet, or only
// what an Open cut short has left, or how it is to be set.
func (h *Home) vacant() (bool, error) {
	if _, err := os.Stat(h.Path("schema")); err == nil {
		return false, nil
	}
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return false, fault.New(fault.Unavailable, op, "%w", err)
	}
	for _, e := range entries {
		switch e.Name() {
		case "lock", "key", "key" + durable.Unfinished, "schema" + durable.Unfinished, "percached.conf",
			"key.part", "schema.part": // so earlier builds called what they had not finished
		default:
			return false, fault.New(fault.Invalid, op, "%s is not empty and no data folder of percached: it has no file named schema; name another folder with --data", h.dir)
		}
	}
	return true, nil
}

func schemaText() []byte { return fmt.Appendf(nil, "{\"version\": %d}\n", version) }

// versionIn is 0 for a text that is no schema.
func versionIn(schemaText []byte) int {
	var schema struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(schemaText, &schema) != nil {
		return 0
	}
	return schema.Version
}

func (h *Home) enter(fresh bool) error {
	if err := os.Chmod(h.dir, 0o700); err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	if fresh {
		if err := durable.Write(h.Path("schema"), schemaText()); err != nil {
			return fault.New(fault.Unavailable, op, "%w", err)
		}
	}
	b, err := os.ReadFile(h.Path("schema"))
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	switch found := versionIn(b); {
	case found < 1:
		return fault.New(fault.Unavailable, op, "%s cannot be read", h.Path("schema"))
	case found < version:
		if err := durable.Write(h.Path("schema"), schemaText()); err != nil {
			return fault.New(fault.Unavailable, op, "%w", err)
		}
	case found > version:
		return fault.New(fault.Unsupported, op, "%s was written by a newer percached (version %d of the folder, this one knows %d)", h.dir, found, version)
	}
	// A daemon that was killed has left where it listened. By now another program
	// may listen there, and commands would tell it the token.
	if err := os.Remove(h.Path("address")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	if h.Key, err = os.ReadFile(h.Path("key")); errors.Is(err, fs.ErrNotExist) {
		h.Key = make([]byte, keySize)
		rand.Read(h.Key)
		err = durable.Write(h.Path("key"), h.Key)
	}
	if err != nil || len(h.Key) != keySize {
		return fault.New(fault.Unavailable, op, "%s cannot be read or is damaged: without it no stored tensor is trusted; remove it to start them anew", h.Path("key"))
	}
	_, err = os.Stat(h.Path("unclean"))
	if h.Unclean = err == nil; err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	if err := durable.Write(h.Path("unclean"), nil); err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	return h.EndRestore()
}
