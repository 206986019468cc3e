package account

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/emersion/go-imap/v2"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/version"
)

// State is what is known of the folders of a source. One process holds it at a time.
type State struct {
	files *home.SyncFiles
	path  string // without its ending
	lock  io.Closer
	dirty bool
	kept  stored
}

// stored is the content of the state file.
type stored struct {
	Version string             `json:"version"` // of the percached that wrote it
	Source  string             `json:"source"`
	Folders map[string]*folder `json:"folders"`
	// Gone are documents whose mail left a folder. They are still to be deleted, unless the
	// mail turns up in another folder.
	Gone map[percached.DocumentID]gone `json:"gone,omitempty"`
}

type folder struct {
	Validity uint32             `json:"uidvalidity"`
	Mails    map[imap.UID]*mail `json:"mails"`
}

// mail is what is known of a mail that was sent.
type mail struct {
	Size      int64                  `json:"size"`
	Documents []percached.DocumentID `json:"documents"`
	// Absent says that the space did not have it after it was sent: it could not read it or
	// did not want it. It is not sent again.
	Absent bool `json:"absent,omitempty"`
}

type gone struct {
	Size   int64  `json:"size"`
	Absent bool   `json:"absent,omitempty"`
	Path   string `json:"path"` // where it was
}

func statePath(files *home.SyncFiles, s Source) string {
	return filepath.Join(files.Space(s.Space), files.FileName(s.Name))
}

const (
	stateEnding = ".json"
	lockEnding  = ".lock"
	mailsEnding = ".mails"
)

// OpenState reads the state of a source, and keeps it for this process.
func OpenState(files *home.SyncFiles, source Source) (*State, error) {
	const op = "account.OpenState"
	s := &State{files: files, path: statePath(files, source)}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	var err error
	if s.lock, err = home.Lock(s.path + lockEnding); err != nil {
		if used, busy := errors.AsType[*home.InUse](err); busy {
			return nil, fault.New(fault.Conflict, op, "%s already follows %s; wait until it ends, or end it", used.Who, source.Name)
		}
		return nil, fault.Wrap(op, err)
	}
	s.kept, err = readState(files, s.path+stateEnding, source.Name)
	if err == nil || errors.Is(err, errDamaged) { // then all mails are fetched again
		err = os.RemoveAll(s.path + mailsEnding) // of a run that was killed
	}
	if err != nil {
		s.lock.Close() //nolint:errcheck // nothing was written
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if v := version.String(); s.kept.Version != v { // another version may read more mails
		s.kept.Version = v
		for _, f := range s.kept.Folders {
			for _, m := range f.Mails {
				m.Absent = false
			}
		}
	}
	// The documents of a folder that is no longer followed stay.
	maps.DeleteFunc(s.kept.Folders, func(name string, _ *folder) bool { return !slices.Contains(source.Folders, name) })
	return s, nil
}

var errDamaged = errors.New("the state is damaged")

// readState reads a state. If it is damaged, it returns errDamaged with an empty one.
func readState(files *home.SyncFiles, path, source string) (kept stored, err error) {
	b, err := files.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kept, err = stored{Source: source}, nil
	case err != nil && !errors.Is(err, encryption.ErrDamaged):
		return kept, err
	case err != nil || json.Unmarshal(b, &kept) != nil || kept.Source != source:
		kept, err = stored{Source: source}, errDamaged
	}
	if kept.Folders == nil {
		kept.Folders = map[string]*folder{}
	}
	if kept.Gone == nil {
		kept.Gone = map[percached.DocumentID]gone{}
	}
	for name, f := range kept.Folders {
		if f == nil || f.Mails == nil {
			delete(kept.Folders, name)
			continue
		}
		maps.DeleteFunc(f.Mails, func(_ imap.UID, m *mail) bool { return m == nil })
	}
	return kept, err
}

// documents calls fn with the documents of all mails.
func (s *stored) documents(fn func(percached.DocumentID)) {
	for _, f := range s.Folders {
		for _, m := range f.Mails {
			for _, id := range m.Documents {
				fn(id)
			}
		}
	}
}

// save writes the state if it has changed.
func (s *State) save() error {
	if !s.dirty {
		return nil
	}
	b, err := json.Marshal(s.kept)
	if err == nil {
		err = s.files.Write(s.path+stateEnding, b)
	}
	if err != nil {
		return fault.New(fault.Unavailable, "account.save", "%w", err)
	}
	s.dirty = false
	return nil
}

// Close writes the state and lets other processes use it.
func (s *State) Close() error { return errors.Join(s.save(), s.lock.Close()) }

// folder returns what is known of a folder.
func (s *State) folder(name string) *folder {
	f := s.kept.Folders[name]
	if f == nil {
		f = &folder{Mails: map[imap.UID]*mail{}}
		s.kept.Folders[name] = f
	}
	return f
}

// leave notes that a mail left a folder.
func (s *State) leave(f *folder, uid imap.UID, path string) {
	m := f.Mails[uid]
	for _, id := range m.Documents {
		s.kept.Gone[id] = gone{m.Size, m.Absent, path}
	}
	delete(f.Mails, uid)
	s.dirty = true
}

// held returns the documents that other sources of the same space hold.
func (s *State) held(sources []Source, own Source) (map[percached.DocumentID]bool, error) {
	all := map[percached.DocumentID]bool{}
	for _, other := range sources {
		if other.Name == own.Name || other.Space != own.Space {
			continue
		}
		kept, err := readState(s.files, statePath(s.files, other)+stateEnding, other.Name)
		if errors.Is(err, errDamaged) {
			return nil, fault.New(fault.Unavailable, "account.held", "what is known of the source %s is damaged, so nothing is deleted; run percached sources sync %s first", other.Name, other.Name)
		}
		if err != nil {
			return nil, fault.New(fault.Unavailable, "account.held", "%w", err)
		}
		kept.documents(func(id percached.DocumentID) { all[id] = true })
	}
	return all, nil
}

// removeState forgets what is known of a source.
func removeState(files *home.SyncFiles, source Source) error {
	path := statePath(files, source)
	return errors.Join(removeFile(path+stateEnding), removeFile(path+stateEnding+durable.Unfinished),
		os.RemoveAll(path+mailsEnding), removeFile(path+lockEnding))
}
