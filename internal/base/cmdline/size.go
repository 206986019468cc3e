package cmdline

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Units are the units of sizes, each 1024 times the one before.
func Units() []string { return []string{"", "KiB", "MiB", "GiB", "TiB"} }

// ParseSize reads a number of bytes with an optional unit.
func ParseSize(s string) (int64, error) {
	number, shift := s, 0
	for u, unit := range Units() {
		if n, ok := strings.CutSuffix(s, unit); ok && u > 0 {
			number, shift = strings.TrimRight(n, " "), 10*u
		}
	}
	v, err := strconv.ParseInt(number, 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (v > math.MaxInt64>>shift || v < math.MinInt64>>shift):
		return 0, errors.New("the value is too large")
	case err != nil:
		return 0, errors.New("the value is not a size such as 1048576 or 512MiB")
	}
	return v << shift, nil
}

// Size formats a number of bytes for a person.
func Size(n int64) string {
	units := Units()
	units[0] = "B"
	v, i := float64(n), 0
	for ; v >= 1024 && i < len(units)-1; i++ {
		v /= 1024
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
