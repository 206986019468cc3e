package figure

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1234.6: "1,235", 1234567: "1,234,567", 250: "250", 99.97: "100", 43.33: "43.3", 4.111: "4.11", 0.5: "0.500", 0.0897: "0.090", 0.00012: "0.00012", -2500: "-2,500",
	} {
		if got := number(v); got != want {
			t.Errorf("%v is written %q, not %q", v, got, want)
		}
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []string
	}{
		{0, 1, []string{"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}},
		{0, 1.02, []string{"0.00", "0.25", "0.50", "0.75", "1.00"}},
		{-0.1, 1, []string{"0.00", "0.25", "0.50", "0.75", "1.00"}},
		{0, 4321, []string{"0", "1,000", "2,000", "3,000", "4,000"}},
		{0, 0.0031, []string{"0.000", "0.001", "0.002", "0.003"}},
		{5, 5, []string{"5.00"}},
	} {
		var got []string
		for _, tick := range (round{}).Ticks(c.low, c.high) {
			got = append(got, tick.Label)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v to %v (-want +got):\n%s", c.low, c.high, diff)
		}
	}
}

func TestShort(t *testing.T) {
	for _, c := range []struct {
		name string
		most int
		want string
	}{
		{"naive", 9, "naive"}, {"abcdefghij", 5, "ab…ij"}, {" a\n\tb ", 9, "a b"}, {"ä\x01ö\xff", 9, "äö?"},
	} {
		if got := short(c.name, c.most); got != c.want {
			t.Errorf("%q in %d is %q, not %q", c.name, c.most, got, c.want)
		}
	}
}

// Every line fits, and no word is lost.
func TestWrap(t *testing.T) {
	s := style(7, ink)
	lines := wrap(s, "one two three four five", s.Width("one two three"))
	if diff := cmp.Diff([]string{"one two three", "four five"}, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Colours of systems are theirs alone, so that a chart can be read without its legend.
func TestColours(t *testing.T) {
	seen := map[uint32]string{}
	for name, hex := range systemColours {
		if seen[hex] != "" {
			t.Errorf("%s and %s have the same colour", name, seen[hex])
		}
		seen[hex] = name
	}
	if systemColour("percache@threshold=0.6") != systemColour("percache") {
		t.Error("a variant has another colour")
	}
}
