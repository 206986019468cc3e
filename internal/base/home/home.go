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
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
)

const (
	// Version 2: databases contain a RECORD, which an earlier percached would not update.
	version = 2
	// Version 3: the folder is encrypted. An earlier percached would delete badger's list of keys.
	encryptedVersion = 3
	keySize          = 32
	op               = "home.Open"
)

// Home is an open data folder.
type Home struct {
	dir  string
	lock *os.File
	Key  []byte // signs what is stored
	// Encryption is the key of an encrypted folder. Nil: the folder is plain.
	Encryption *encryption.Key
	secret     []byte // opens Encryption, and backups of the time before
	// Unclean says that the last process ended without Close. The caller sets it to false after
	// repairing what that left.
	Unclean bool
}

// InUse is the error of Open if another process uses the folder.
type InUse struct {
	Who string // "process 4711"
	Dir string
}

func (e *InUse) Error() string {
	return fmt.Sprintf("%s uses %s: wait until it ends, end it, or name another folder with --data", e.Who, e.Dir)
}

// Default returns this user's data folder: $XDG_DATA_HOME/percached, or .local/share/percached
// in the home folder.
func Default() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "percached"), nil
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fault.New(fault.Unavailable, "home.Default", "the user has no home folder: %w; name a data folder with --data", err)
	}
	return filepath.Join(user, ".local", "share", "percached"), nil
}

// Exists says whether anything exists at dir, even if it is not readable.
func Exists(dir string) bool {
	_, err := os.Stat(dir)
	return !errors.Is(err, fs.ErrNotExist)
}

// Open opens the folder and creates it if necessary. It refuses a folder with other content. If the
// folder is encrypted, it takes the secret from source; a wrong one changes no byte.
func Open(dir string, source encryption.Source) (*Home, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	h := &Home{dir: dir}
	fresh, err := h.isNew()
	if err != nil {
		return nil, err
	}
	if !Locked(dir) { // who asks for the address of a daemon needs no key
		if err := h.unlock(source); err != nil {
			return nil, err
		}
	}
	if h.lock, err = Lock(h.Path("lock")); err != nil {
		return nil, err
	}
	if err = h.unlock(source); err != nil {
		h.lock.Close()
		return nil, err
	}
	if fresh { // another process may have created it meanwhile
		fresh, err = h.isNew()
	}
	if err == nil {
		err = h.initialise(fresh)
	}
	if err != nil {
		h.lock.Close()
		return nil, err
	}
	return h, nil
}

// Path returns the path of a part of the folder.
func (h *Home) Path(name ...string) string {
	return filepath.Join(append([]string{h.dir}, name...)...)
}

// Close unlocks the folder. It also marks it as clean, unless Unclean is still set.
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

// Discard closes a folder that Open has created and nothing was stored in, and removes it. It
// removes no file that it does not know, and then keeps the folder.
func (h *Home) Discard() error {
	for _, name := range []string{"schema", "key"} { // an encrypted folder keeps its key file
		os.Remove(h.Path(name)) //nolint:errcheck // what is left keeps the folder, and does no harm
	}
	err := h.Close()
	if err == nil && os.Remove(h.Path("lock")) == nil {
		os.Remove(h.dir) //nolint:errcheck // it may hold a file of somebody else
	}
	return err
}

// isNew says whether the folder is empty, or contains only what an interrupted Open or the
// owner's configuration left.
func (h *Home) isNew() (bool, error) {
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
			"token", "tokens.json", "tokens.lock", // a deployment gives all its nodes the same
			encryptionFile, encryptionFile + durable.Unfinished, secretLock,
			"key.part", "schema.part": // temporary files of earlier versions
		default:
			return false, fault.New(fault.Invalid, op, "%s is not empty and not a data folder of percached (it has no file named schema); name another folder with --data", h.dir)
		}
	}
	return true, nil
}

func (h *Home) schemaText() []byte { return fmt.Appendf(nil, "{\"version\": %d}\n", h.version()) }

// version is the version of this folder.
func (h *Home) version() int {
	if h.Encryption != nil {
		return encryptedVersion
	}
	return version
}

// versionIn returns the version in a schema file, or 0 if the text is invalid.
func versionIn(schemaText []byte) int {
	var schema struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(schemaText, &schema) != nil {
		return 0
	}
	return schema.Version
}

func (h *Home) initialise(fresh bool) error {
	if err := os.Chmod(h.dir, 0o700); err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	if fresh {
		if err := durable.Write(h.Path("schema"), h.schemaText()); err != nil {
			return fault.New(fault.Unavailable, op, "%w", err)
		}
	}
	b, err := os.ReadFile(h.Path("schema"))
	if err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	switch found := versionIn(b); {
	case found < 1:
		return fault.New(fault.Unavailable, op, "%s is damaged; restore it from a backup", h.Path("schema"))
	case found > encryptedVersion:
		return newer(op, h.dir, found)
	case (found == encryptedVersion) != (h.Encryption != nil): // unlock has looked at it before the folder was locked
		return fault.New(fault.Unavailable, op, "%s has version %d, which does not fit %s", h.dir, found, encryptionFile)
	case found < version:
		if err := durable.Write(h.Path("schema"), h.schemaText()); err != nil {
			return fault.New(fault.Unavailable, op, "%w", err)
		}
	}
	// A killed daemon leaves its address behind. Another program may listen there now, and commands
	// would send it the token.
	if err := os.Remove(h.Path("address")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	if h.Encryption != nil {
		h.Key, err = h.Subkey("slices"), nil
	} else if h.Key, err = os.ReadFile(h.Path("key")); errors.Is(err, fs.ErrNotExist) {
		h.Key = make([]byte, keySize)
		rand.Read(h.Key)
		err = durable.Write(h.Path("key"), h.Key)
	}
	if err != nil || len(h.Key) != keySize {
		return fault.New(fault.Unavailable, op, "%s is damaged or not readable; restore it from a backup, or remove it to compute the stored tensors again", h.Path("key"))
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
