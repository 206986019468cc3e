package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// docs/configuration.md has every key with its default, whether it is live, and its meaning.
func TestConfigurationIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|.*$").FindAllStringSubmatch(string(page), -1) {
		if rows[row[1]] != "" {
			t.Errorf("%s is documented twice", row[1])
		}
		rows[row[1]] = row[0]
	}
	usual := DaemonDefault()
	want := map[string]string{}
	for _, k := range Keys() {
		value := k.Usual
		if v := k.Of(&usual).Get(); value == "" && v != "" {
			value = "`" + v + "`"
		}
		live := ""
		if k.Live {
			live = "yes"
		}
		want[k.Name] = fmt.Sprintf("| `%s` | %s | %s | %s |", k.Name, value, live, k.About)
	}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
}

// A key has one name, a default that can be parsed, and its own variable.
func TestKeys(t *testing.T) {
	names := map[string]bool{}
	for _, k := range Keys() {
		c := DaemonDefault()
		f := k.Of(&c)
		text := f.Get()
		if err := f.Set(text); err != nil || f.Get() != text {
			t.Errorf("%s: %q becomes %q, %v", k.Name, text, f.Get(), err)
		}
		if names[k.Name] || names[Variable(k.Name)] {
			t.Errorf("%s is there twice", k.Name)
		}
		names[k.Name], names[Variable(k.Name)] = true, true
	}
}

func TestFields(t *testing.T) {
	var (
		bytes int64
		n     int
		x     float64
		yes   bool
		long  time.Duration
		some  []string
		when  []Window
	)
	for _, tc := range []struct {
		name string
		f    Value
		text string
		want string // in its usual form; empty: refused
	}{
		{"size", size(&bytes), "0", "0"},
		{"size", size(&bytes), "1048576", "1MiB"},
		{"size", size(&bytes), "1000", "1000"},
		{"size", size(&bytes), "512MiB", "512MiB"},
		{"size", size(&bytes), "1536 MiB", "1536MiB"},
		{"size", size(&bytes), "2048KiB", "2MiB"},
		{"size", size(&bytes), "-1", "-1"},
		{"size", size(&bytes), "9223372036854775807", "9223372036854775807"},
		{"size", size(&bytes), "8388608TiB", ""},
		{"size", size(&bytes), "9223372036854775808", ""},
		{"size", size(&bytes), "1GB", ""},
		{"size", size(&bytes), "1.5GiB", ""},
		{"size", size(&bytes), "MiB", ""},
		{"size", size(&bytes), "", ""},
		{"int", integer(&n), "-3", "-3"},
		{"int", integer(&n), "3.0", ""},
		{"int", integer(&n), "99999999999999999999", ""},
		{"number", number(&x), "0.92", "0.92"},
		{"number", number(&x), "1e-3", "0.001"},
		{"number", number(&x), "NaN", ""},
		{"number", number(&x), "inf", ""},
		{"switch", boolean(&yes), "true", "true"},
		{"switch", boolean(&yes), "0", "false"},
		{"switch", boolean(&yes), "on", ""},
		{"duration", duration(&long), "0", "0s"},
		{"duration", duration(&long), "90s", "1m30s"},
		{"duration", duration(&long), "60m", "1h"},
		{"duration", duration(&long), "1h0m5s", "1h0m5s"},
		{"duration", duration(&long), "20m", "20m"},
		{"duration", duration(&long), "90d", "90d"},
		{"duration", duration(&long), "48h", "2d"},
		{"duration", duration(&long), "1.5d", ""},
		{"duration", duration(&long), "-1d", ""},
		{"duration", duration(&long), "999999d", ""},
		{"duration", duration(&long), "5", ""},
		{"list", list(&some), " a:1 ,b,, ", "a:1, b"},
		{"list", list(&some), "", ""},
		{"windows", windows(&when), "0 1 * * *  4h;CRON_TZ=Europe/Berlin @daily 90m ;", "0 1 * * * 4h; CRON_TZ=Europe/Berlin @daily 1h30m"},
		{"windows", windows(&when), "", ""},
		{"windows", windows(&when), "0 1 * * *", ""},
		{"windows", windows(&when), "4h", ""},
	} {
		err := tc.f.Set(tc.text)
		empties := tc.text == "" && (tc.name == "list" || tc.name == "windows")
		switch {
		case tc.want == "" && !empties:
			if err == nil {
				t.Errorf("%s: %q was read as %q", tc.name, tc.text, tc.f.Get())
			}
		case err != nil || tc.f.Get() != tc.want:
			t.Errorf("%s: %q became %q, want %q; %v", tc.name, tc.text, tc.f.Get(), tc.want, err)
		}
	}
}

// Each source overrides the one before, and the configuration names the source.
func TestPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "percached.conf")
	text := "# of the file\n\nk = 4 # four\nthreshold=0.9\n  max-tokens =  64\nprediction = answers\ntensor-limit = 0\nhosts = a.example, b.example:8000\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PERCACHED_THRESHOLD=0.8", "PERCACHED_MAX_TOKENS=128", "PERCACHED_QUIET=5m", "HOME=/nowhere", "PERCACHED_TOKEN=a client's"}
	flags := []Setting{FromFlag("max-tokens", "32"), FromFlag("max-tokens", "33")}
	c, err := Load(file, env, flags, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Change(map[string]string{"prediction": "off"}); err != nil {
		t.Fatal(err)
	}
	type line struct{ Value, Default, Source string }
	got := map[string]line{}
	for _, s := range c.All() {
		if s.Source != "default" {
			got[s.Key] = line{s.Value, s.Default, s.Source}
		} else if s.Value != s.Default {
			t.Errorf("%s is %q by default, and %q", s.Key, s.Default, s.Value)
		}
	}
	want := map[string]line{
		"k": {"4", "3", "file"}, "threshold": {"0.8", "-1", "environment"}, "max-tokens": {"33", "256", "flag"},
		"prediction": {"off", "both", "runtime"}, "tensor-limit": {"0", "auto", "file"}, "hosts": {"a.example, b.example:8000", "", "file"},
		"quiet": {"5m", "2m", "environment"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if s := c.Now(); s.TensorLimit != 0 || s.Idle.Quiet != 5*time.Minute || !s.Create {
		t.Errorf("%+v", s)
	}
}

// Load reports everything that is wrong together, each with its place.
func TestConfigFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.conf")
	text := "k = 70\nnosuch = 1\nthreads\n= 3\nk = 4\nlisten = nowhere\nplacement = \xff\ntls-cert = a.pem\nkv = none\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := []Setting{FromFlag("insecure-listen", "maybe")}
	check := func(Config) error { return &KeyError{"windows", errors.New("refused by a layer")} }
	_, err := Load(file, []string{"PERCACHED_NO_SUCH=1", "PERCACHED_CONTEXT=many", "PERCACHED_KV=both"}, flags, check)
	var wrong cmdline.Misuse
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	want := []string{
		file + ":3", file + ":4", file + ":5", file + ":7", file + ":2: nosuch", "PERCACHED_CONTEXT", "PERCACHED_NO_SUCH", "--insecure-listen",
		file + ":1: k", "PERCACHED_KV", file + ":6: listen", file + ":8: tls-cert", "windows",
	}
	var got []string
	for i, line := range strings.Split(err.Error(), "\n") {
		if i < len(want) {
			line = line[:min(len(line), len(want[i]))]
		}
		got = append(got, line)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%v\n%s", err, d)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.conf"), nil, nil, nil); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

// An address that other machines can reach needs TLS or insecure-listen.
func TestListenIsRefused(t *testing.T) {
	for _, tc := range []struct {
		listen, more string
		ok           bool
	}{
		{"127.0.0.1:0", "", true},
		{"127.9.9.9:1", "", true},
		{"[::1]:7337", "", true},
		{"localhost:7337", "", true},
		{"0.0.0.0:7337", "", false},
		{":7337", "", false},
		{"[::]:7337", "", false},
		{"192.0.2.1:7337", "", false},
		{"example.com:7337", "", false},
		{"0.0.0.0:7337", "insecure-listen", true},
		{"0.0.0.0:7337", "tls", true},
		{"127.0.0.1", "", false},
		{"127.0.0.1:99999", "", false},
	} {
		env := []string{"PERCACHED_LISTEN=" + tc.listen, "PERCACHED_DATA=" + t.TempDir()}
		switch tc.more {
		case "insecure-listen":
			env = append(env, "PERCACHED_INSECURE_LISTEN=true")
		case "tls":
			env = append(env, "PERCACHED_TLS_CERT=a.pem", "PERCACHED_TLS_KEY=b.pem")
		}
		if _, err := Load("", env, nil, nil); (err == nil) != tc.ok {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

// A change at run time is applied completely or not at all.
func TestChange(t *testing.T) {
	refuse := false
	for _, tc := range []struct {
		name   string
		change map[string]string
		refuse bool
		want   map[string]string // of the changed keys
		kind   fault.Kind
		keys   []string // refused keys
	}{
		{"some", map[string]string{"tensor-limit": "2GiB", "log-level": "debug", "windows": "@daily 1h"}, false, map[string]string{"tensor-limit": "2GiB", "log-level": "debug", "windows": "@daily 1h"}, 0, nil},
		{"none", nil, false, nil, 0, nil},
		{"fixed", map[string]string{"k": "4", "model": "a.gguf", "listen": "x"}, false, nil, fault.Conflict, nil},
		{"unknown", map[string]string{"k": "4", "a/b": "1", "model": "a"}, false, nil, fault.Invalid, []string{"a/b"}},
		{"no number", map[string]string{"k": "three", "threshold": "0.5"}, false, nil, fault.Invalid, []string{"k"}},
		{"out of bounds", map[string]string{"k": "0", "tensor-limit": "-1", "max-wrong": "1.5"}, false, nil, fault.Invalid, []string{"tensor-limit", "max-wrong", "k"}},
		{"no share", map[string]string{"max-wrong": "-0.01"}, false, nil, fault.Invalid, []string{"max-wrong"}},
		{"zero", map[string]string{"max-wrong": "0"}, false, map[string]string{"max-wrong": "0"}, 0, nil},
		{"a layer refuses the value", map[string]string{"windows": "never 1h"}, false, nil, fault.Invalid, []string{"windows"}},
		{"a part refuses", map[string]string{"k": "4"}, true, nil, fault.Unavailable, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := Of(DaemonDefault(), func(c Config) error {
				if len(c.Idle.Windows) > 0 && c.Idle.Windows[0].Cron == "never" {
					return errors.New("never is not a cron expression")
				}
				return nil
			})
			before := texts(c)
			refuse = tc.refuse
			c.OnChange(func(_, to Config) error {
				if refuse {
					return fault.New(fault.Unavailable, "test", "no room")
				}
				return nil
			})
			err := c.Change(tc.change)
			var keys []string
			if refused, ok := errors.AsType[*ChangeError](err); ok {
				for _, k := range refused.Keys {
					keys = append(keys, k.Key)
				}
			}
			if fault.KindOf(err) != tc.kind || !slices.Equal(keys, tc.keys) {
				t.Errorf("%v, want %v for %v", err, tc.kind, tc.keys)
			}
			want := before
			for k, v := range tc.want {
				want[k] = Shown{Key: k, Value: v, Source: "runtime"}
			}
			if d := cmp.Diff(want, texts(c)); d != "" {
				t.Error(d)
			}
		})
	}
}

func texts(c *Loaded) map[string]Shown {
	all := map[string]Shown{}
	for _, s := range c.All() {
		all[s.Key] = Shown{Key: s.Key, Value: s.Value, Source: s.Source}
	}
	return all
}

// Each line of any file is a comment, a setting or an error.
func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{"", "k = 3\n", "# a\n\nwindows = 0 1 * * * 4h; @daily 1h # night\r\n", "a=b=c\n=\n\xff\n", "k=1\nk=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		all, wrong := parse("f", []byte(s))
		if lines := len(slices.Collect(strings.Lines(s))); len(all)+len(wrong) > lines {
			t.Errorf("%d settings and %d faults in %d lines", len(all), len(wrong), lines)
		}
		c := DaemonDefault()
		for _, one := range all {
			if one.Key == "" || strings.TrimSpace(one.Value) != one.Value {
				t.Errorf("%+v", one)
			}
			k, ok := KeyOf(one.Key)
			if !ok {
				continue
			}
			field := k.Of(&c)
			if field.Set(one.Value) != nil {
				continue
			}
			text := field.Get()
			if err := field.Set(text); err != nil || field.Get() != text {
				t.Errorf("%s: %q is told as %q, which is read as %q, %v", one.Key, one.Value, text, field.Get(), err)
			}
		}
		_ = c.Validate() // it never panics
	})
}

func TestPrefixesAreConfigured(t *testing.T) {
	for text, want := range map[string]string{
		`search: `: "search: ", `"search: "`: "search: ", `"Instruct: find\nQuery:"`: "Instruct: find\nQuery:", ``: "", `""`: "",
	} {
		var c Config
		k, _ := KeyOf("embed-query-prefix")
		f := k.Of(&c)
		if err := f.Set(text); err != nil || c.QueryPrefix == nil || *c.QueryPrefix != want {
			t.Errorf("%q: %v, %v", text, c.QueryPrefix, err)
			continue
		}
		written := f.Get()
		if err := f.Set(written); err != nil || *c.QueryPrefix != want {
			t.Errorf("%q is written as %q, and read as %q", text, written, *c.QueryPrefix)
		}
		if err := f.Set("auto"); err != nil || c.QueryPrefix != nil || f.Get() != "auto" {
			t.Errorf("auto: %v", err)
		}
		if err := f.Set(`"half`); err == nil {
			t.Error("half a quotation is taken")
		}
	}
}
