package follow

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/version"
)

// State is what is known of the files that a space follows. One process holds it at a time.
type State struct {
	files *home.SyncFiles
	path  string
	lock  io.Closer
	dirty bool
	kept  stored
}

// stored is the content of the state file.
type stored struct {
	Version string             `json:"version"` // of the percached that wrote it
	Space   string             `json:"space"`
	Files   map[string]*record `json:"files"` // by absolute path
}

// record is what is known of a file since it was sent.
type record struct {
	Size int64 `json:"size"`
	// Time of the last change in nanoseconds; 0: only the content says whether it changed.
	Time      int64                  `json:"time,omitempty"`
	Sum       string                 `json:"sha256"`
	Documents []percached.DocumentID `json:"documents,omitempty"`
	// Absent are those of Documents that the space did not have after they were sent: it
	// could not read or did not want them. They are not sent again.
	Absent []percached.DocumentID `json:"absent,omitempty"`
	// Lost were in the file before, and still have to be deleted.
	Lost []percached.DocumentID `json:"lost,omitempty"`
	// Mounted says that the file is on another file system than the folder that is followed.
	Mounted bool `json:"mounted,omitempty"`
	// Unread says that no document was found in the file.
	Unread bool `json:"unread,omitempty"`
}

// OpenState reads the state of a space, and keeps it for this process.
func OpenState(files *home.SyncFiles, space string) (*State, error) {
	const op = "follow.OpenState"
	s := &State{files: files, path: files.State(space)}
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	var err error
	if s.lock, err = home.Lock(s.path + ".lock"); err != nil {
		if used, busy := errors.AsType[*home.InUse](err); busy {
			return nil, fault.New(fault.Conflict, op, "%s already keeps the space %q in step; wait until it ends, or end it", used.Who, space)
		}
		return nil, fault.Wrap(op, err)
	}
	b, err := files.Read(s.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, encryption.ErrDamaged) {
		s.lock.Close() //nolint:errcheck // nothing was written
		return nil, fault.New(fault.Unavailable, op, "%w", err)
	}
	if err != nil || json.Unmarshal(b, &s.kept) != nil || s.kept.Space != space || s.kept.Files == nil {
		s.kept = stored{Space: space, Files: map[string]*record{}} // without it all files are sent again
	}
	if v := version.String(); s.kept.Version != v {
		s.kept.Version = v
		s.forgetRefusals()
	}
	return s, nil
}

// forgetRefusals has files read again that could not be read: another version may read them.
func (s *State) forgetRefusals() {
	for _, r := range s.kept.Files {
		r.Absent = nil
		if r.Unread {
			r.Time, r.Sum = 0, ""
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
		err = s.files.Write(s.path, b)
	}
	if err != nil {
		return fault.New(fault.Unavailable, "follow.save", "%w", err)
	}
	s.dirty = false
	return nil
}

// Close writes the state and lets other processes use it.
func (s *State) Close() error { return errors.Join(s.save(), s.lock.Close()) }

func (s *State) set(path string, r *record) {
	s.kept.Files[path] = r
	s.dirty = true
}

func (s *State) drop(path string) {
	delete(s.kept.Files, path)
	s.dirty = true
}

// below returns the paths of the known files in a folder, in order.
func (s *State) below(root string) (paths []string) {
	for path := range s.kept.Files {
		if within(path, root) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
