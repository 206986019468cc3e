package main

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

// said is one key's value from one place.
type said struct {
	key, value string
	origin
}

// configFile is the configuration that lies in the data folder itself.
const configFile = "percached.conf"

// loadConfig lays file, environment and flags over the defaults, each over the one
// before, and tells all that is wrong with them together. Without a file that is
// named, it is the one in the data folder, if there is one.
func loadConfig(file string, environment []string, flags []said) (*tuning, error) {
	beyond := append(variables(environment), flags...)
	all, wrong, err := settingsIn(file, beyond)
	if err != nil {
		return nil, err
	}
	all = append(all, beyond...)
	c := defaultConfig()
	for _, s := range all {
		k, ok := keyOf(s.key)
		err := errors.New("there is no such setting")
		if ok {
			err = k.of(&c.now).set(s.value)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", s.at, err))
		}
		c.from[s.key] = s.origin
	}
	for _, f := range faultsIn(c.now.Validate()) {
		if at := cmp.Or(c.from[f.key].at, f.key); at != "" {
			f.err = fmt.Errorf("%s: %w", at, f.err)
		}
		wrong = append(wrong, f.err)
	}
	if wrong != nil {
		return nil, cmdline.Misused(errors.Join(wrong...))
	}
	return c, nil
}

// settingsIn are the lines of the file that holds: the one that is named, or the
// one in the data folder that all else than files agrees on.
func settingsIn(file string, beyond []said) (all []said, wrong []error, err error) {
	own := file == ""
	if own {
		data := dataFolder(beyond)
		if data == "" {
			return nil, nil, nil // which is told as a fault of data
		}
		file = filepath.Join(data, configFile)
	}
	b, err := readConfig(file)
	switch {
	case own && errors.Is(err, fs.ErrNotExist) && !isLink(file):
		return nil, nil, nil
	case err != nil:
		return nil, nil, err
	}
	all, wrong = parseConfig(file, b)
	if own {
		all = slices.DeleteFunc(all, func(s said) bool {
			if s.key == "data" && filepath.Clean(s.value) != filepath.Clean(dataFolder(beyond)) {
				wrong = append(wrong, fmt.Errorf("%s: this file is looked for in the data folder, so it cannot name another: use --data, %s, or a file elsewhere with --config", s.at, variable(s.key)))
			}
			return s.key == "data"
		})
	}
	return all, wrong, nil
}

// isLink: somebody said that the configuration lies elsewhere. If it is not there,
// the defaults are not what was wanted.
func isLink(file string) bool {
	info, err := os.Lstat(file)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// dataFolder is the one that environment and flags agree on.
func dataFolder(beyond []said) string {
	data := defaultData()
	for _, s := range beyond {
		if s.key == "data" {
			data = s.value
		}
	}
	return data
}

func readConfig(file string) ([]byte, error) {
	const op = "percached: config"
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, op, "the configuration cannot be read: %w", err)
	case err != nil:
		return nil, cmdline.Misused(fault.New(fault.Invalid, op, "the configuration cannot be read: %w", err))
	}
	if info.Size() > maxConfig {
		return nil, cmdline.Misused(fault.New(fault.Invalid, op, "%s has %d bytes, a configuration may have %d", file, info.Size(), maxConfig))
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, cmdline.Misused(fault.New(fault.Invalid, op, "the configuration cannot be read: %w", err))
	}
	return b, nil
}

// parseConfig reads lines of the form key = value. What stands behind a # at the
// beginning of a line or behind a space is a comment.
func parseConfig(name string, b []byte) (all []said, wrong []error) {
	lines := map[string]int{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		at := fmt.Sprintf("%s:%d", name, n)
		bad := func(format string, args ...any) {
			wrong = append(wrong, fmt.Errorf("%s: %w", at, fmt.Errorf(format, args...)))
		}
		if !utf8.ValidString(line) {
			bad("it is not UTF-8")
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
			bad("it is no key = value")
		case lines[key] > 0:
			bad("%s stands in line %d already", key, lines[key])
		default:
			lines[key] = n
			all = append(all, said{key, strings.TrimSpace(value), origin{"file", at + ": " + key}})
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

// variable is the name of a key in the environment.
func variable(key string) string {
	return variablePrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(key))
}

// forClients are variables by which scripts that call a daemon know it: they are
// no business of its own.
var forClients = []string{"PERCACHED_URL", "PERCACHED_TOKEN", "PERCACHED_SPACE"}

// variables are the keys that the environment sets. One that names no key is told
// as such by its own name.
func variables(environment []string) []said {
	names := map[string]string{}
	for _, k := range keys() {
		names[variable(k.name)] = k.name
	}
	var all []said
	for _, v := range environment {
		name, value, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, variablePrefix) || slices.Contains(forClients, name) {
			continue
		}
		key, ok := names[name]
		if !ok {
			key = name
		}
		all = append(all, said{key, strings.TrimSpace(value), origin{"environment", name}})
	}
	slices.SortStableFunc(all, func(a, b said) int { return strings.Compare(a.at, b.at) })
	return all
}

// defaultData is the user's own data folder; without one, a folder must be named.
func defaultData() string {
	dir, _ := home.Default()
	return dir
}
