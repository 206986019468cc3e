package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
)

const maxConfig = 1 << 20 // bytes of a file

// Setting is the value of one key from one source.
type Setting struct {
	Key, Value string
	Source     string // file, environment or flag
	Place      string // where it was set, for error messages
}

// FromFlag is the setting of a flag.
func FromFlag(key, value string) Setting { return Setting{key, value, "flag", "--" + key} }

// FileName is the configuration file in the data folder.
const FileName = "percached.conf"

// Load reads the configuration: flags override the environment, which overrides the
// file, which overrides the defaults. An empty file name means the file in the data
// folder, if it exists. check adds what the layers find wrong. The error names
// everything that is wrong, with its place.
func Load(file string, environment []string, flags []Setting, check func(Config) error) (*Loaded, error) {
	override := append(Environment(environment), flags...)
	all, wrong, err := fileSettings(file, override)
	if err != nil {
		return nil, err
	}
	all = append(all, override...)
	c := &Loaded{now: DaemonDefault(), set: map[string]Setting{}, check: check}
	for _, s := range all {
		k, ok := KeyOf(s.Key)
		err := errUnknown
		if ok {
			err = k.Of(&c.now).Set(s.Value)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", s.Place, err))
		}
		c.set[s.Key] = s
	}
	for _, f := range c.errors(c.now) {
		if at := cmp.Or(c.set[f.Key].Place, f.Key); at != "" {
			f.Err = fmt.Errorf("%s: %w", at, f.Err)
		}
		wrong = append(wrong, f.Err)
	}
	if wrong != nil {
		return nil, cmdline.Misused(errors.Join(wrong...))
	}
	return c, nil
}

// errUnknown is why a setting is refused whose key is not in the table.
var errUnknown = errors.New("unknown key; percached config init - prints all keys")

// fileSettings reads the file that is named, or the one in the data folder.
func fileSettings(file string, override []Setting) (all []Setting, wrong []error, err error) {
	own := file == ""
	if own {
		data := DataFolder(override)
		if data == "" {
			return nil, nil, nil // Validate reports that the folder is missing
		}
		file = filepath.Join(data, FileName)
	}
	b, err := readConfig(file)
	switch {
	case own && errors.Is(err, fs.ErrNotExist) && !isLink(file):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	all, wrong = parse(file, b)
	if own {
		all = slices.DeleteFunc(all, func(s Setting) bool {
			if s.Key == "data" && filepath.Clean(s.Value) != filepath.Clean(DataFolder(override)) {
				wrong = append(wrong, fmt.Errorf("%s: the file in the data folder cannot name another data folder: use --data, %s, or --config with a file elsewhere", s.Place, Variable(s.Key)))
			}
			return s.Key == "data"
		})
	}
	return all, wrong, nil
}

// isLink says that the file is a link. A link to a missing file is an error: the
// defaults are not what the owner wanted.
func isLink(file string) bool {
	info, err := os.Lstat(file)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// DataFolder is the data folder by environment and flags.
func DataFolder(override []Setting) string {
	data := defaultData()
	for _, s := range override {
		if s.Key == "data" {
			data = s.Value
		}
	}
	return data
}

func readConfig(file string) ([]byte, error) {
	const op = "percached: config"
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, op, "cannot read the configuration: %w", err)
	case err != nil:
		return nil, cmdline.Misused(fault.New(fault.Invalid, op, "cannot read the configuration: %w", err))
	}
	if info.Size() > maxConfig {
		return nil, cmdline.Misused(fault.New(fault.Invalid, op, "%s has %d bytes; the maximum is %d", file, info.Size(), maxConfig))
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, cmdline.Misused(fault.New(fault.Invalid, op, "cannot read the configuration: %w", err))
	}
	return b, nil
}

// parse reads lines of the form key = value. A # at the beginning of a line or after a
// space begins a comment.
func parse(name string, b []byte) (all []Setting, wrong []error) {
	lines := map[string]int{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		at := fmt.Sprintf("%s:%d", name, n)
		bad := func(format string, args ...any) {
			wrong = append(wrong, fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)))
		}
		if !utf8.ValidString(line) {
			bad("the line is not UTF-8")
			continue
		}
		line = strings.TrimSpace(uncommented(line))
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		switch {
		case !ok || key == "":
			bad("the line is not of the form key = value")
		case lines[key] > 0:
			bad("duplicate key %s, first set in line %d", key, lines[key])
		default:
			lines[key] = n
			all = append(all, Setting{key, strings.TrimSpace(value), "file", at + ": " + key})
		}
	}
	return all, wrong
}

func uncommented(line string) string {
	for i := range line {
		if line[i] == '#' && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t') {
			return line[:i]
		}
	}
	return line
}

const variablePrefix = "PERCACHED_"

// Variable is the name of a key in the environment.
func Variable(key string) string {
	return variablePrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// forClients are variables of commands and scripts that call a daemon. The daemon ignores them.
var forClients = []string{"PERCACHED_URL", "PERCACHED_TOKEN", "PERCACHED_TOKEN_FILE", "PERCACHED_SPACE"}

// Environment is the settings in the environment. A variable that names no key keeps
// its own name as the key, and Load refuses it.
func Environment(environment []string) []Setting {
	names := map[string]string{}
	for _, k := range Keys() {
		names[Variable(k.Name)] = k.Name
	}
	var all []Setting
	for _, v := range environment {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, variablePrefix) || slices.Contains(forClients, name) {
			continue
		}
		key, ok := names[name]
		if !ok {
			key = name
		}
		all = append(all, Setting{key, strings.TrimSpace(value), "environment", name})
	}
	slices.SortStableFunc(all, func(a, b Setting) int { return strings.Compare(a.Place, b.Place) })
	return all
}

// defaultData is the user's own data folder. It is empty where there is no home folder.
func defaultData() string {
	dir, _ := home.Default()
	return dir
}
