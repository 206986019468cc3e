package main

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

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/scheduler"
)

// docs/configuration.md has every key, with its default, whether it can be changed
// while the daemon runs, and what it is.
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
	usual := defaultConfig().now
	want := map[string]string{}
	for _, k := range keys() {
		value := k.usual
		if v := k.of(&usual).get(); value == "" && v != "" {
			value = "`" + v + "`"
		}
		live := ""
		if k.live {
			live = "yes"
		}
		want[k.name] = fmt.Sprintf("| `%s` | %s | %s | %s |", k.name, value, live, k.about)
	}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
}

// A key has one name, a default that can be read back, and a variable of its own.
func TestKeys(t *testing.T) {
	names := map[string]bool{}
	for _, k := range keys() {
		c := defaultConfig().now
		f := k.of(&c)
		text := f.get()
		if err := f.set(text); err != nil || f.get() != text {
			t.Errorf("%s: %q becomes %q, %v", k.name, text, f.get(), err)
		}
		if names[k.name] || names[variable(k.name)] {
			t.Errorf("%s is there twice", k.name)
		}
		names[k.name], names[variable(k.name)] = true, true
	}
}

func TestFields(t *testing.T) {
	var (
		size    int64
		n       int
		x       float64
		yes     bool
		long    time.Duration
		list    []string
		windows []scheduler.Window
		zone    = time.Local
	)
	for _, tc := range []struct {
		name string
		f    field
		text string
		want string // in its usual form; empty: it is refused
	}{
		{"size", aSize(&size), "0", "0"},
		{"size", aSize(&size), "1048576", "1MiB"},
		{"size", aSize(&size), "1000", "1000"},
		{"size", aSize(&size), "512MiB", "512MiB"},
		{"size", aSize(&size), "1536 MiB", "1536MiB"},
		{"size", aSize(&size), "2048KiB", "2MiB"},
		{"size", aSize(&size), "-1", "-1"},
		{"size", aSize(&size), "9223372036854775807", "9223372036854775807"},
		{"size", aSize(&size), "8388608TiB", ""},
		{"size", aSize(&size), "9223372036854775808", ""},
		{"size", aSize(&size), "1GB", ""},
		{"size", aSize(&size), "1.5GiB", ""},
		{"size", aSize(&size), "MiB", ""},
		{"size", aSize(&size), "", ""},
		{"int", anInt(&n), "-3", "-3"},
		{"int", anInt(&n), "3.0", ""},
		{"int", anInt(&n), "99999999999999999999", ""},
		{"number", aNumber(&x), "0.92", "0.92"},
		{"number", aNumber(&x), "1e-3", "0.001"},
		{"number", aNumber(&x), "NaN", ""},
		{"number", aNumber(&x), "inf", ""},
		{"switch", aSwitch(&yes), "true", "true"},
		{"switch", aSwitch(&yes), "0", "false"},
		{"switch", aSwitch(&yes), "on", ""},
		{"duration", aDuration(&long), "0", "0s"},
		{"duration", aDuration(&long), "90s", "1m30s"},
		{"duration", aDuration(&long), "60m", "1h"},
		{"duration", aDuration(&long), "1h0m5s", "1h0m5s"},
		{"duration", aDuration(&long), "20m", "20m"},
		{"duration", aDuration(&long), "5", ""},
		{"list", aList(&list), " a:1 ,b,, ", "a:1, b"},
		{"list", aList(&list), "", ""},
		{"windows", someWindows(&windows), "0 1 * * *  4h;CRON_TZ=Europe/Berlin @daily 90m ;", "0 1 * * * 4h; CRON_TZ=Europe/Berlin @daily 1h30m"},
		{"windows", someWindows(&windows), "", ""},
		{"windows", someWindows(&windows), "0 1 * * *", ""},
		{"windows", someWindows(&windows), "4h", ""},
		{"zone", aZone(&zone), "Europe/Berlin", "Europe/Berlin"},
		{"zone", aZone(&zone), "Local", "Local"},
		{"zone", aZone(&zone), "Middle/Earth", ""},
		{"zone", aZone(&zone), "", ""},
	} {
		err := tc.f.set(tc.text)
		empties := tc.text == "" && (tc.name == "list" || tc.name == "windows")
		switch {
		case tc.want == "" && !empties:
			if err == nil {
				t.Errorf("%s: %q was read as %q", tc.name, tc.text, tc.f.get())
			}
		case err != nil || tc.f.get() != tc.want:
			t.Errorf("%s: %q became %q, want %q; %v", tc.name, tc.text, tc.f.get(), tc.want, err)
		}
	}
}

// Each source is laid over the one before, and the configuration says whose word
// holds.
func TestPrecedence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "percached.conf")
	text := "# of the file\n\nk = 4 # four\nthreshold=0.9\n  max-tokens =  64\nstride = 7\ntensor-limit = 0\nhosts = a.example, b.example:8000\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"PERCACHED_THRESHOLD=0.8", "PERCACHED_MAX_TOKENS=128", "PERCACHED_QUIET_DOCUMENTS=5m", "HOME=/nowhere", "PERCACHED_TOKEN=a client's"}
	flags := []said{{"max-tokens", "32", origin{"flag", "--max-tokens"}}, {"max-tokens", "33", origin{"flag", "--max-tokens"}}}
	c, err := loadConfig(file, env, flags)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Change(map[string]string{"stride": "9"}); err != nil {
		t.Fatal(err)
	}
	type line struct{ Value, Default, Source string }
	got := map[string]line{}
	for _, s := range c.Config().Settings {
		if s.Source != "default" {
			got[s.Key] = line{s.Value, s.Default, s.Source}
		} else if s.Value != s.Default {
			t.Errorf("%s is %q by default, and %q", s.Key, s.Default, s.Value)
		}
	}
	want := map[string]line{
		"k": {"4", "3", "file"}, "threshold": {"0.8", "-1", "environment"}, "max-tokens": {"33", "256", "flag"},
		"stride": {"9", "5", "runtime"}, "tensor-limit": {"0", "1GiB", "file"}, "hosts": {"a.example, b.example:8000", "", "file"},
		"quiet-documents": {"5m", "2m", "environment"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if s := c.setup(); s.limit != 0 || s.idle.QuietDocuments != 5*time.Minute || !s.create {
		t.Errorf("%+v", s)
	}
}

// All that is wrong is told together, each with its place.
func TestConfigFaults(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.conf")
	text := "k = 70\nnosuch = 1\nthreads\n= 3\nk = 4\nlisten = nowhere\norder = \xff\nretry-attempts = 0\ntls-cert = a.pem\nfusion = none\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := loadConfig(file, []string{"PERCACHED_NO_SUCH=1", "PERCACHED_CONTEXT=many", "PERCACHED_FUSION=both"}, []said{{"guard", "maybe", origin{"flag", "--guard"}}})
	var wrong cmdline.Misuse
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	want := []string{
		file + ":3: it is no key = value",
		file + ":4: it is no key = value",
		file + ":5: k stands in line 1 already",
		file + ":7: it is not UTF-8",
		file + ":2: nosuch: there is no such setting",
		"PERCACHED_CONTEXT: it is no whole number",
		"PERCACHED_NO_SUCH: there is no such setting",
		"--guard: it is neither true nor false",
		file + ":1: k: 70 is not between 1 and 64",
		"PERCACHED_FUSION: \"both\" is neither rrf nor weighted",
		file + ":6: listen: \"nowhere\" is no address with a port, as 127.0.0.1:7337 is",
		file + ":9: tls-cert: tls-cert and tls-key are set together or not at all",
		"a job is parked after 0 attempts",
	}
	if d := cmp.Diff(want, strings.Split(err.Error(), "\n")); d != "" {
		t.Error(d)
	}
	if _, err := loadConfig(filepath.Join(t.TempDir(), "none.conf"), nil, nil); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

// Addresses that other machines can reach want TLS, or somebody who insists.
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
		if _, err := loadConfig("", env, nil); (err == nil) != tc.ok {
			t.Errorf("%+v: %v", tc, err)
		}
	}
}

// A change at run time happens whole or not at all.
func TestChange(t *testing.T) {
	refuse := false
	for _, tc := range []struct {
		name   string
		change map[string]string
		refuse bool
		want   map[string]string // that are not as they were
		kind   fault.Kind
		says   string
	}{
		{"some", map[string]string{"tensor-limit": "2GiB", "log-level": "debug", "windows": "@daily 1h"}, false, map[string]string{"tensor-limit": "2GiB", "log-level": "debug", "windows": "@daily 1h"}, 0, ""},
		{"none", nil, false, nil, 0, ""},
		{"fixed", map[string]string{"stride": "3", "model": "a.gguf", "listen": "x"}, false, nil, fault.Conflict, "a change needs a restart: listen, model"},
		{"unknown", map[string]string{"stride": "3", "a/b": "1", "model": "a"}, false, nil, fault.Invalid, "/a~1b there is no such setting"},
		{"no number", map[string]string{"stride": "three", "cutoff": "0.5"}, false, nil, fault.Invalid, "/stride it is no whole number"},
		{"out of bounds", map[string]string{"k": "0", "tensor-limit": "-1"}, false, nil, fault.Invalid, "/tensor-limit -1 is negative; /k 0 is not between 1 and 64"},
		{"wrong window", map[string]string{"windows": "never 1h"}, false, nil, fault.Invalid, "never"},
		{"together", map[string]string{"retry-first": "7h"}, false, nil, fault.Invalid, "longest"},
		{"together, right", map[string]string{"retry-first": "7h", "retry-longest": "8h"}, false, map[string]string{"retry-first": "7h", "retry-longest": "8h"}, 0, ""},
		{"a part refuses", map[string]string{"stride": "3"}, true, nil, fault.Unavailable, "no room"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := defaultConfig()
			before := texts(c)
			refuse = tc.refuse
			c.onChange(func(_, to setup) error {
				if refuse {
					return fault.New(fault.Unavailable, "test", "no room")
				}
				return nil
			})
			err := c.Change(tc.change)
			if fault.KindOf(err) != tc.kind || err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%v, want %v: %s", err, tc.kind, tc.says)
			}
			want := before
			for k, v := range tc.want {
				want[k] = api.Setting{Key: k, Value: v, Source: "runtime"}
			}
			if d := cmp.Diff(want, texts(c)); d != "" {
				t.Error(d)
			}
		})
	}
}

func texts(c *tuning) map[string]api.Setting {
	all := map[string]api.Setting{}
	for _, s := range c.Config().Settings {
		all[s.Key] = api.Setting{Key: s.Key, Value: s.Value, Source: s.Source}
	}
	return all
}

// Whatever a file holds, each of its lines is a comment, a setting or a fault.
func FuzzParseConfig(f *testing.F) {
	for _, s := range []string{"", "k = 3\n", "# a\n\nwindows = 0 1 * * * 4h; @daily 1h # night\r\n", "a=b=c\n=\n\xff\n", "k=1\nk=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		all, wrong := parseConfig("f", []byte(s))
		if lines := len(slices.Collect(strings.Lines(s))); len(all)+len(wrong) > lines {
			t.Errorf("%d settings and %d faults in %d lines", len(all), len(wrong), lines)
		}
		c := defaultConfig().now
		for _, one := range all {
			if one.key == "" || strings.TrimSpace(one.value) != one.value {
				t.Errorf("%+v", one)
			}
			k, ok := keyOf(one.key)
			if !ok {
				continue
			}
			field := k.of(&c)
			if field.set(one.value) != nil {
				continue
			}
			text := field.get()
			if err := field.set(text); err != nil || field.get() != text {
				t.Errorf("%s: %q is told as %q, which is read as %q, %v", one.key, one.value, text, field.get(), err)
			}
		}
		_ = c.Validate() // it panics at nothing
	})
}
