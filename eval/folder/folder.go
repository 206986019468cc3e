package folder

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/percached/percached/eval"
)

const (
	runName   = "run.json"
	unitsName = "units"
	partName  = ".part-" // prefix of a file that is being written
)

// Folder is the folder of a run.
type Folder struct {
	dir string

	mu   sync.Mutex
	done map[string]bool // units, by file name
}

// Create creates the folder of a run. The folder may exist if it is empty, or if an
// interrupted Create left it.
func Create(dir string, r *eval.Run) (*Folder, error) {
	there, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range there {
		if !begun(dir, e) {
			return nil, fmt.Errorf("%s is not empty and holds no run; name another folder", dir)
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, unitsName), 0o700); err != nil {
		return nil, err
	}
	return &Folder{dir: dir, done: map[string]bool{}}, write(filepath.Join(dir, runName), r)
}

// begun says whether an interrupted Create left a file.
func begun(dir string, e fs.DirEntry) bool {
	if e.Name() == unitsName && e.IsDir() {
		within, err := os.ReadDir(filepath.Join(dir, unitsName))
		return err == nil && len(within) == 0
	}
	return strings.HasPrefix(e.Name(), partName) && e.Type().IsRegular()
}

// Exists says whether a folder holds a run.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, runName))
	return err == nil
}

// Open opens the folder of a run.
func Open(dir string) (*Folder, *eval.Run, error) {
	r := &eval.Run{}
	if err := read(filepath.Join(dir, runName), r); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s holds no run: %s is missing", dir, runName)
		}
		return nil, nil, err
	}
	if r.Layout != eval.Layout {
		return nil, nil, fmt.Errorf("%s has layout %d; this version reads layout %d", dir, r.Layout, eval.Layout)
	}
	there, err := os.ReadDir(filepath.Join(dir, unitsName))
	if err != nil {
		return nil, nil, err
	}
	f := &Folder{dir: dir, done: map[string]bool{}}
	for _, e := range there {
		if strings.HasSuffix(e.Name(), ".json") {
			f.done[e.Name()] = true
		}
	}
	return f, r, nil
}

// unitName is the name of a unit's file. File systems allow about 255 bytes. A longer name
// is cut and gets a comma and a hash; an escaped name has no comma.
func unitName(repeat int, user string) string {
	const most, begins = 255, 100
	escaped := url.PathEscape(user)
	name := fmt.Sprintf("%d-%s.json", repeat, escaped)
	if len(name) > most {
		name = fmt.Sprintf("%d-%s,%x.json", repeat, escaped[:begins], sha256.Sum256([]byte(user)))
	}
	return name
}

// Has says whether a unit is done.
func (f *Folder) Has(repeat int, user string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done[unitName(repeat, user)]
}

// Put adds a unit.
func (f *Folder) Put(u *eval.Unit) error {
	name := unitName(u.Repeat, u.User)
	if err := write(filepath.Join(f.dir, unitsName, name), u); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done[name] = true
	return nil
}

// Read returns a run with its finished units, by repeat and in the order of its users.
func Read(dir string) (*eval.Results, error) {
	f, r, err := Open(dir)
	if err != nil {
		return nil, err
	}
	all := &eval.Results{Run: *r}
	place := map[string]int{}
	for i, u := range r.Users {
		place[u.Name] = i
	}
	for name := range f.done {
		path := filepath.Join(dir, unitsName, name)
		var u eval.Unit
		if err := read(path, &u); err != nil {
			return nil, err
		}
		if err := fits(r, &u); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if unitName(u.Repeat, u.User) != name {
			return nil, fmt.Errorf("%s: it holds repeat %d of user %q", path, u.Repeat, u.User)
		}
		all.Units = append(all.Units, u)
	}
	slices.SortFunc(all.Units, func(a, b eval.Unit) int {
		return cmp.Or(cmp.Compare(a.Repeat, b.Repeat), cmp.Compare(place[a.User], place[b.User]))
	})
	return all, nil
}

// fits says why a unit does not belong to a run.
func fits(r *eval.Run, u *eval.Unit) error {
	if !slices.ContainsFunc(r.Users, func(of eval.User) bool { return of.Name == u.User }) {
		return fmt.Errorf("the run has no user %q", u.User)
	}
	if len(u.Results) != len(r.Systems) {
		return fmt.Errorf("it has %d systems, but the run has %d", len(u.Results), len(r.Systems))
	}
	for i, s := range u.Results {
		if s.System != r.Systems[i].Name {
			return fmt.Errorf("its system %d is %q, but the run's is %q", i+1, s.System, r.Systems[i].Name)
		}
		if len(s.Answers) != len(u.Asked) {
			return fmt.Errorf("%s has %d answers to %d questions", s.System, len(s.Answers), len(u.Asked))
		}
	}
	return nil
}

func read(path string, to any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, to); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// write writes a temporary file, syncs it, and renames it to its place.
func write(path string, what any) (err error) {
	b, err := json.MarshalIndent(what, "", " ")
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), partName+"*")
	if err != nil {
		return err
	}
	_, err = part.Write(append(b, '\n'))
	if err = errors.Join(err, part.Sync(), part.Close()); err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	return synced(filepath.Dir(path))
}

// synced syncs the names in a folder to disk.
func synced(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
