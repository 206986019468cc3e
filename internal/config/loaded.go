package config

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/percached/percached/internal/base/fault"
)

// Loaded is a configuration with the source of each value. It can change at run time.
type Loaded struct {
	check func(Config) error

	mu    sync.Mutex
	now   Config
	set   map[string]Setting // by key; keys at their default are absent
	apply func(from, to Config) error
}

// DaemonDefault is the configuration of a daemon without file, environment and flags.
func DaemonDefault() Config {
	c := Default()
	c.Create, c.TensorLimit, c.Data = true, Auto, defaultData()
	return c
}

// Of is a configuration that is known already.
func Of(c Config, check func(Config) error) *Loaded {
	return &Loaded{now: c, set: map[string]Setting{}, check: check}
}

// Now is the configuration at this moment.
func (l *Loaded) Now() Config {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// OnChange sets what applies a change. apply leaves everything as it was when it fails.
func (l *Loaded) OnChange(apply func(from, to Config) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apply = apply
}

// Shown is a key with its value and its source.
type Shown struct {
	Key        string
	Value      string
	Default    string
	Source     string // default, file, environment, flag, runtime
	Changeable bool   // while the daemon runs
	About      string
}

// All is every key, in the order of the table.
func (l *Loaded) All() []Shown {
	usual := DaemonDefault()
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []Shown
	for _, k := range Keys() {
		all = append(all, Shown{
			Key: k.Name, Value: k.Of(&l.now).Get(), Default: k.Of(&usual).Get(),
			Source: cmp.Or(l.set[k.Name].Source, "default"), Changeable: k.Live, About: k.About,
		})
	}
	return all
}

// ChangeError is why a change at run time is refused, key by key.
type ChangeError struct{ Keys []KeyError }

func (e *ChangeError) Error() string {
	all := make([]string, len(e.Keys))
	for i, k := range e.Keys {
		all[i] = k.Key + ": " + k.Err.Error()
	}
	return strings.Join(all, "; ")
}

// Change sets live keys until the daemon ends. Either all values change, or none.
func (l *Loaded) Change(values map[string]string) error {
	const op = "config.Change"
	l.mu.Lock()
	defer l.mu.Unlock()
	next, set := l.now, maps.Clone(l.set)
	var wrong []KeyError
	var fixed []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		k, ok := KeyOf(name)
		switch {
		case !ok:
			wrong = append(wrong, KeyError{name, errUnknown})
		case !k.Live:
			fixed = append(fixed, name)
		default:
			if err := k.Of(&next).Set(values[name]); err != nil {
				wrong = append(wrong, KeyError{name, err})
			}
		}
		set[name] = Setting{Source: "runtime"}
	}
	if wrong == nil {
		for _, f := range l.errors(next) {
			if f.Key == "" && len(values) == 1 { // no other key can be at fault
				f.Key = slices.Collect(maps.Keys(values))[0]
			}
			wrong = append(wrong, f)
		}
	}
	switch {
	case wrong != nil:
		return fault.New(fault.Invalid, op, "%w", &ChangeError{wrong})
	case fixed != nil:
		return fault.New(fault.Conflict, op, "restart the daemon to change: %s", strings.Join(fixed, ", "))
	case l.apply != nil:
		if err := l.apply(l.now, next); err != nil {
			return fault.Wrap(op, err)
		}
	}
	l.now, l.set = next, set
	return nil
}

// errors is everything that is wrong with a configuration.
func (l *Loaded) errors(c Config) []KeyError {
	all := KeyErrors(c.Validate())
	if l.check != nil {
		all = append(all, KeyErrors(l.check(c))...)
	}
	return all
}
