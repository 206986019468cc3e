package token

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func sample() []storedToken {
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return []storedToken{
		{Token{ID: "5e0f6c1d2b3a", Name: "phone", Space: "mail", Role: RoleAsk, Made: made}, sumOf("a")},
		{Token{ID: "000000000000", Role: RoleAdmin, Made: made}, sumOf("b")},
	}
}

// limited is the sample with what version 2 adds.
func limited() []storedToken {
	all := sample()
	none, some := int64(0), int64(1<<40)
	all[0].Limits = Limits{RequestsPerMinute: &some, AsksPerDay: &none}
	all[1].Expires = all[1].Made.Add(time.Hour)
	return all
}

func comparer() cmp.Option { return cmp.AllowUnexported(storedToken{}) }

// listing is a JSON list of these tokens with a correct checksum.
func listing(tokens string) []byte {
	return fmt.Appendf(nil, `{"version": 1, "sum": %q, "tokens": %s}`, sumList([]byte(tokens)), tokens)
}

func TestCodec(t *testing.T) {
	for _, want := range [][]storedToken{sample(), limited(), {}} {
		b := encode(want)
		got, err := decode(b)
		if d := cmp.Diff(want, got, comparer()); d != "" || err != nil {
			t.Error(d, err)
		}
		for i := range b {
			if _, err := decode(b[:i]); err == nil && i < len(b)-1 { // but for the line end
				t.Errorf("cut at %d, and read", i)
			}
			flipped := bytes.Clone(b)
			flipped[i] ^= 0x01
			if got, err := decode(flipped); err == nil && cmp.Diff(want, got, comparer()) != "" {
				t.Errorf("byte %d flipped, and read as something else", i)
			}
		}
	}
}

// A list without limits and ends can be read by an earlier percached.
func TestVersions(t *testing.T) {
	for want, all := range map[string][]storedToken{`"version": 1,`: sample(), `"version": 2,`: limited()} {
		if b := string(encode(all)); !strings.Contains(b, want) {
			t.Errorf("not %s: %s", want, b)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	one := func(change string, to any) string {
		e := map[string]any{"id": "5e0f6c1d2b3a", "name": "n", "space": "mail", "role": "ask", "sha256": strings.Repeat("ab", 32), "made": "2026-01-02T03:04:05Z"}
		if e[change] = to; to == nil {
			delete(e, change)
		}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	well := one("id", "5e0f6c1d2b3a")
	if _, err := decode(listing("[" + well + "]")); err != nil {
		t.Fatal(err)
	}
	for name, tokens := range map[string]string{
		"the same twice":   "[" + well + "," + well + "]",
		"one secret twice": "[" + well + "," + one("id", "000000000000") + "]",
		"no list":          well,
		"main":             "[" + one("id", "main") + "]",
		"no ID":            "[" + one("id", nil) + "]",
		"no role":          "[" + one("role", nil) + "]",
		"no hash":          "[" + one("sha256", nil) + "]",
		"a short hash":     "[" + one("sha256", strings.Repeat("ab", 31)) + "]",
		"a long hash":      "[" + one("sha256", strings.Repeat("ab", 33)) + "]",
		"no hash at all":   "[" + one("sha256", strings.Repeat("xy", 32)) + "]",
		"an odd space":     "[" + one("space", "Mail") + "]",
		"an odd role":      "[" + one("role", "root") + "]",
		"an odd name":      "[" + one("name", "\x00") + "]",
		"another field":    "[" + one("scope", "all") + "]",
		"no time":          "[" + one("expires", "never") + "]",
		"an end in v1":     "[" + one("expires", "2026-01-02T03:04:05Z") + "]",
		"a limit in v1":    "[" + one("limits", map[string]int{"asks_per_day": 1}) + "]",
		"too many":         "[" + strings.Repeat(well+",", maxTokens) + well + "]",
	} {
		if all, err := decode(listing(tokens)); err == nil {
			t.Errorf("%s: %v", name, all)
		}
	}
	second := strings.Replace(string(listing("["+one("limits", map[string]int{"asks_per_day": -1})+"]")), `"version": 1`, `"version": 2`, 1)
	for name, b := range map[string]string{
		"a negative limit": second,
		"version 3":        strings.Replace(string(listing("[]")), `"version": 1`, `"version": 3`, 1),
		"nothing":          "", "null": "null", "a number": "1", "no version": `{"sum": "", "tokens": []}`,
		"version 0":    strings.Replace(string(listing("[]")), "1", "0", 1),
		"two values":   string(listing("[]")) + "{}",
		"null tokens":  `{"version": 1, "sum": "", "tokens": null}`,
		"no tokens":    `{"version": 1, "sum": ""}`,
		"wrong sum":    `{"version": 1, "sum": "00000000", "tokens": []}`,
		"more on top":  `{"version": 1, "sum": "` + sumList([]byte("[]")) + `", "tokens": [], "by": "me"}`,
		"minus one":    `{"version": -1}`,
		"huge version": `{"version": 1e99}`,
	} {
		if all, err := decode([]byte(b)); err == nil {
			t.Errorf("%s: %v", name, all)
		}
	}
}

// Any input is either refused or decoded to a list that encodes to the same.
func FuzzDecode(f *testing.F) {
	f.Add(encode(sample()))
	f.Add(encode(limited()))
	f.Add(encode(nil))
	f.Add([]byte(`{"version": 2}`))
	f.Add(listing(`[{"id":"5e0f6c1d2b3a"}]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		// The tokens as they are, and with their checksum made right.
		var l listed
		if json.Unmarshal(b, &l) == nil {
			check(t, listing(string(l.Tokens)))
		}
		check(t, b)
	})
}

func check(t *testing.T, b []byte) {
	all, err := decode(b)
	if err != nil {
		return
	}
	for _, h := range all {
		if h.check() != nil || h.ID == MainID || h.ID == "" {
			t.Errorf("%+v", h.Token)
		}
	}
	again, err := decode(encode(all))
	if d := cmp.Diff(all, again, comparer()); d != "" || err != nil {
		t.Error(d, err)
	}
}
