package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
)

// origin is who said what a key is: default, file, environment, flag, runtime.
type origin struct {
	source string
	at     string // where it stands, as faults name it
}

// tuning is how the daemon is set, by whom, and how that changes while it runs.
type tuning struct {
	mu   sync.Mutex
	now  setup
	from map[string]origin // of keys that are not at their default
	// apply, when not nil, brings what is live from one setup to another, or
	// leaves all as it was.
	apply func(from, to setup) error
}

// defaultConfig is that of a daemon that was told nothing.
func defaultConfig() *tuning {
	c := defaultSetup()
	c.create, c.limit = true, tensorLimit
	c.data = defaultData()
	return &tuning{now: c, from: map[string]origin{}}
}

// setup is how things stand.
func (c *tuning) setup() setup {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// onChange sets what brings live keys from one setup to another.
func (c *tuning) onChange(apply func(from, to setup) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apply = apply
}

// Config tells all keys.
func (c *tuning) Config() api.Config {
	usual := defaultConfig().now
	c.mu.Lock()
	defer c.mu.Unlock()
	var told api.Config
	for _, k := range keys() {
		told.Settings = append(told.Settings, api.Setting{
			Key: k.name, Value: k.of(&c.now).get(), Default: k.of(&usual).get(),
			Source: cmp.Or(c.from[k.name].source, "default"), Changeable: k.live, About: k.about,
		})
	}
	return told
}

// Change gives live keys new values, until the daemon ends: all, or none.
func (c *tuning) Change(values map[string]string) error {
	const op = "percached: config"
	c.mu.Lock()
	defer c.mu.Unlock()
	next, from := c.now, maps.Clone(c.from)
	var wrong api.FieldErrors
	var fixed []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		k, ok := keyOf(name)
		switch {
		case !ok:
			wrong = append(wrong, api.FieldError{Field: "/" + escaped(name), Detail: "there is no such setting"})
		case !k.live:
			fixed = append(fixed, name)
		default:
			if err := k.of(&next).set(values[name]); err != nil {
				wrong = append(wrong, api.FieldError{Field: "/" + name, Detail: err.Error()})
			}
		}
		from[name] = origin{source: "runtime"}
	}
	if wrong == nil {
		for _, f := range faultsIn(next.Validate()) {
			if f.key == "" && len(values) == 1 { // nothing else can have done it
				f.key = slices.Collect(maps.Keys(values))[0]
			}
			if f.key != "" {
				f.key = "/" + f.key
			}
			wrong = append(wrong, api.FieldError{Field: f.key, Detail: f.err.Error()})
		}
	}
	switch {
	case wrong != nil:
		return invalids(wrong)
	case fixed != nil:
		return fault.New(fault.Conflict, op, "a change needs a restart: %s", strings.Join(fixed, ", "))
	case c.apply != nil:
		if err := c.apply(c.now, next); err != nil {
			return fault.Wrap(op, err)
		}
	}
	c.now, c.from = next, from
	return nil
}

// faultsIn are the faults that are joined in err; those of no one key have none.
func faultsIn(err error) []keyFault {
	switch e := err.(type) {
	case nil:
		return nil
	case *keyFault:
		return []keyFault{*e}
	case interface{ Unwrap() []error }:
		var all []keyFault
		for _, one := range e.Unwrap() {
			all = append(all, faultsIn(one)...)
		}
		return all
	}
	return []keyFault{{err: err}}
}
