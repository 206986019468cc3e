package api

import (
	"math"
	"strings"
)

// spaceName says whether a space can have this name.
func spaceName(s string) bool {
	return plainName(s, 64) && s == strings.ToLower(s) && strings.Trim(s[:1], "._-") != ""
}

const spaceRule = "must have 1 to 64 of a-z, 0-9, dot, dash and underscore, and begin with a letter or digit"

func (in *InSpace) check() error {
	if !spaceName(in.Space) {
		return wrong("path:space", spaceRule)
	}
	return nil
}

func (in *NewSpace) check() error {
	if !spaceName(in.Name) {
		return wrong("/name", spaceRule)
	}
	return nil
}

// limit checks how many of a list are asked for.
func limit(n, most int) error {
	if n < 1 || n > most {
		return wrong("query:limit", "must be 1 to %d", most)
	}
	return nil
}

func (in *Page) defaults()    { in.Limit = 100 }
func (in *Page) check() error { return limit(in.Limit, 1000) }

func (in *Recent) defaults()    { in.Limit = 100 }
func (in *Recent) check() error { return limit(in.Limit, 1000) }

func (in *EntrySearch) defaults() { in.Limit = 10 }

func (in *EntrySearch) check() error {
	if strings.TrimSpace(in.Query) == "" {
		return wrong("query:q", "must say what to search for")
	}
	return limit(in.Limit, 100)
}

func (in *LedgerIn) check() error {
	if in.Space != "" && !spaceName(string(in.Space)) {
		return wrong("query:space", spaceRule)
	}
	return nil
}

func (in *DrainIn) defaults() { in.Jobs, in.Tokens = math.MaxInt, math.MaxInt }

func (in *DrainIn) check() error {
	switch {
	case in.Space != "" && !spaceName(string(in.Space)):
		return wrong("query:space", spaceRule)
	case in.Jobs < 1:
		return wrong("query:jobs", "must be 1 or more")
	case in.Tokens < 1:
		return wrong("query:tokens", "must be 1 or more")
	}
	return nil
}

func (in *Veto) check() error {
	if strings.TrimSpace(in.Asked) == "" {
		return wrong("/asked", "must be the question that was asked")
	}
	return nil
}

func (in *CacheLimit) check() error {
	if in.Limit == nil || *in.Limit < 0 {
		return wrong("/limit", "must be a number of bytes, 0 or more")
	}
	return nil
}

func (in *Device) check() error {
	if in.Charging == nil && in.Battery == nil && in.Temperature == nil {
		return wrong("", "must say something of the device: charging, battery or temperature")
	}
	if in.Battery != nil && (*in.Battery < 0 || *in.Battery > 1) {
		return wrong("/battery", "must be 0 (empty) to 1 (full)")
	}
	return nil
}

func (in *Question) check() error {
	var faults []FieldError
	if strings.TrimSpace(in.Question) == "" {
		faults = append(faults, FieldError{"/question", "must be a question"})
	}
	if t := in.Threshold; t != nil && (*t < 0 || *t > 1) {
		faults = append(faults, FieldError{"/threshold", "must be 0 to 1"})
	}
	if in.MaxAge < 0 {
		faults = append(faults, FieldError{"/max_age_seconds", "must not be negative"})
	}
	if len(faults) > 0 {
		return wrongFields(faults...)
	}
	return nil
}
