package main

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/scheduler"
)

// field is a place that holds a setting, as text.
type field struct {
	kind string // as usage texts name it
	get  func() string
	set  func(text string) error
}

// fieldOf makes a field of any place; read says what is wrong with a text.
func fieldOf[T any](to *T, kind string, write func(T) string, read func(string) (T, error)) field {
	return field{kind, func() string { return write(*to) }, func(s string) error {
		v, err := read(s)
		if err == nil {
			*to = v
		}
		return err
	}}
}

func aText[T ~string](to *T) field {
	return fieldOf(to, "string", func(v T) string { return string(v) }, func(s string) (T, error) { return T(s), nil })
}

// aPrefix is a text that may end with a space, and is then quoted; auto is nil.
func aPrefix(to **string) field {
	write := func(v *string) string {
		if v == nil {
			return "auto"
		}
		return strconv.Quote(*v)
	}
	return fieldOf(to, "string", write, func(s string) (*string, error) {
		if s == "auto" {
			return nil, nil
		}
		if strings.HasPrefix(s, `"`) {
			plain, err := strconv.Unquote(s)
			if err != nil {
				return nil, errors.New("its quotation marks do not fit")
			}
			s = plain
		}
		return &s, nil
	})
}

func anInt(to *int) field {
	return fieldOf(to, "int", strconv.Itoa, func(s string) (int, error) {
		v, err := strconv.Atoi(s)
		if err != nil {
			return 0, errors.New("it is no whole number")
		}
		return v, nil
	})
}

func aNumber(to *float64) field {
	write := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return fieldOf(to, "float64", write, func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, errors.New("it is no number")
		}
		return v, nil
	})
}

func aSwitch(to *bool) field {
	return fieldOf(to, "bool", strconv.FormatBool, func(s string) (bool, error) {
		v, err := strconv.ParseBool(s)
		if err != nil {
			return false, errors.New("it is neither true nor false")
		}
		return v, nil
	})
}

// aSize is a number of bytes: 1048576, 1024KiB or 1MiB.
func aSize(to *int64) field {
	write := func(v int64) string {
		u, units := 0, cmdline.Units()
		for v != 0 && v%1024 == 0 && u+1 < len(units) {
			v, u = v/1024, u+1
		}
		return strconv.FormatInt(v, 10) + units[u]
	}
	return fieldOf(to, "size", write, cmdline.ParseSize)
}

func aDuration(to *time.Duration) field {
	return fieldOf(to, "duration", shortly, func(s string) (time.Duration, error) {
		v, err := time.ParseDuration(s)
		if err != nil {
			return 0, errors.New("it is no duration, as 90s or 1h30m are")
		}
		return v, nil
	})
}

// shortly is a duration without the units that are zero.
func shortly(d time.Duration) string {
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// aList is texts with commas between them.
func aList(to *[]string) field {
	write := func(v []string) string { return strings.Join(v, ", ") }
	return fieldOf(to, "list", write, func(s string) ([]string, error) { return parts(s, ","), nil })
}

// parts are the texts between separators, without those that are empty.
func parts(s, separator string) []string {
	all := strings.Split(s, separator)
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// someWindows are times for idle work: a cron expression and a length each, with
// semicolons between them.
func someWindows(to *[]scheduler.Window) field {
	write := func(ws []scheduler.Window) string {
		all := make([]string, len(ws))
		for i, w := range ws {
			all[i] = windowText(w)
		}
		return strings.Join(all, "; ")
	}
	return fieldOf(to, "windows", write, func(s string) ([]scheduler.Window, error) {
		var ws []scheduler.Window
		for _, part := range parts(s, ";") {
			at := strings.LastIndexAny(part, " \t")
			if at < 0 {
				return nil, errors.New("a window is a cron expression with a length behind it, as in 0 1 * * * 4h")
			}
			length, err := time.ParseDuration(part[at+1:])
			if err != nil {
				return nil, errors.New("a window ends with its length, as in 0 1 * * * 4h")
			}
			ws = append(ws, scheduler.Window{Cron: strings.TrimSpace(part[:at]), Length: length})
		}
		return ws, nil
	})
}

// windowText is a window as the configuration has it.
func windowText(w scheduler.Window) string { return w.Cron + " " + shortly(w.Length) }

// aZone is a time zone by its name; Local is the machine's.
func aZone(to **time.Location) field {
	return fieldOf(to, "zone", (*time.Location).String, func(s string) (*time.Location, error) {
		v, err := time.LoadLocation(s)
		if err != nil || s == "" {
			return nil, errors.New("there is no such time zone")
		}
		return v, nil
	})
}
