package config

import (
	"errors"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/cmdline"
)

// Value is a field of Config that is read and written as text.
type Value struct {
	Kind string // in usage texts
	Get  func() string
	Set  func(text string) error
}

// valueOf makes a Value of any variable. read returns what is wrong with a text.
func valueOf[T any](to *T, kind string, write func(T) string, read func(string) (T, error)) Value {
	return Value{kind, func() string { return write(*to) }, func(s string) error {
		v, err := read(s)
		if err == nil {
			*to = v
		}
		return err
	}}
}

func text[T ~string](to *T) Value {
	return valueOf(to, "string", func(v T) string { return string(v) }, func(s string) (T, error) { return T(s), nil })
}

// prefix is a text that may end with a space; then it is quoted. auto is nil.
func prefix(to **string) Value {
	write := func(v *string) string {
		if v == nil {
			return "auto"
		}
		return strconv.Quote(*v)
	}
	return valueOf(to, "string", write, func(s string) (*string, error) {
		if s == "auto" {
			return nil, nil
		}
		if strings.HasPrefix(s, `"`) {
			plain, err := strconv.Unquote(s)
			if err != nil {
				return nil, errors.New("the quotation marks do not match")
			}
			s = plain
		}
		return &s, nil
	})
}

func integer(to *int) Value {
	return valueOf(to, "int", strconv.Itoa, func(s string) (int, error) {
		v, err := strconv.Atoi(s)
		if err != nil {
			return 0, errors.New("the value is not a whole number")
		}
		return v, nil
	})
}

func number(to *float64) Value {
	write := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return valueOf(to, "float64", write, func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, errors.New("the value is not a number")
		}
		return v, nil
	})
}

func boolean(to *bool) Value {
	return valueOf(to, "bool", strconv.FormatBool, func(s string) (bool, error) {
		v, err := strconv.ParseBool(s)
		if err != nil {
			return false, errors.New("the value must be true or false")
		}
		return v, nil
	})
}

// orAuto is a number that may be left to percached.
func orAuto[T int | int64](to *T, v Value) Value {
	return Value{
		Kind: v.Kind,
		Get: func() string {
			if *to == Auto {
				return "auto"
			}
			return v.Get()
		},
		Set: func(s string) error {
			if s == "auto" {
				*to = Auto
				return nil
			}
			return v.Set(s)
		},
	}
}

// size is a number of bytes: 1048576, 1024KiB or 1MiB.
func size(to *int64) Value {
	write := func(v int64) string {
		u, units := 0, cmdline.Units()
		for v != 0 && v%1024 == 0 && u+1 < len(units) {
			v, u = v/1024, u+1
		}
		return strconv.FormatInt(v, 10) + units[u]
	}
	return valueOf(to, "size", write, cmdline.ParseSize)
}

func duration(to *time.Duration) Value {
	return valueOf(to, "duration", shortly, func(s string) (time.Duration, error) {
		v, err := parseDuration(s)
		if err != nil {
			return 0, errors.New("the value is not a duration such as 90s, 1h30m or 90d")
		}
		return v, nil
	})
}

const day = 24 * time.Hour

// parseDuration also reads whole days, such as 90d.
func parseDuration(s string) (time.Duration, error) {
	days, whole := strings.CutSuffix(s, "d")
	if !whole {
		return time.ParseDuration(s)
	}
	n, err := strconv.Atoi(days)
	if err != nil || n < 0 || n > int(math.MaxInt64/day) {
		return 0, strconv.ErrRange
	}
	return time.Duration(n) * day, nil
}

// shortly is a duration without units that are zero.
func shortly(d time.Duration) string {
	if d > 0 && d%day == 0 {
		return strconv.FormatInt(int64(d/day), 10) + "d"
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return s
}

// list is texts separated by commas.
func list(to *[]string) Value {
	write := func(v []string) string { return strings.Join(v, ", ") }
	return valueOf(to, "list", write, func(s string) ([]string, error) { return parts(s, ","), nil })
}

// parts are the non-empty texts between separators.
func parts(s, separator string) []string {
	all := strings.Split(s, separator)
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// windows are separated by semicolons. Each is a cron expression and a length.
func windows(to *[]Window) Value {
	write := func(ws []Window) string {
		all := make([]string, len(ws))
		for i, w := range ws {
			all[i] = WindowText(w)
		}
		return strings.Join(all, "; ")
	}
	return valueOf(to, "windows", write, func(s string) ([]Window, error) {
		var ws []Window
		for _, part := range parts(s, ";") {
			at := strings.LastIndexAny(part, " \t")
			if at < 0 {
				return nil, errors.New("a window is a cron expression and a length, such as 0 1 * * * 4h")
			}
			length, err := time.ParseDuration(part[at+1:])
			if err != nil {
				return nil, errors.New("a window ends with its length, such as 0 1 * * * 4h")
			}
			ws = append(ws, Window{Cron: strings.TrimSpace(part[:at]), Length: length})
		}
		return ws, nil
	})
}

// WindowText is a window as a configuration file has it.
func WindowText(w Window) string { return w.Cron + " " + shortly(w.Length) }

// level is how much is logged.
func level(to *slog.Level) Value {
	names := map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError}
	write := func(v slog.Level) string {
		for name, level := range names {
			if level == v {
				return name
			}
		}
		return v.String()
	}
	return valueOf(to, "level", write, func(s string) (slog.Level, error) {
		v, ok := names[s]
		if !ok {
			return 0, errors.New("the level must be debug, info, warn or error")
		}
		return v, nil
	})
}
