package main

import (
	"bytes"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/commands"
)

// Each curve has its values at each point.
func TestScale(t *testing.T) {
	out := filepath.Join(t.TempDir(), "scale.json")
	var table, errs bytes.Buffer
	o := &scaling{of: scaleNames(), points: []int{3, 20}, runs: 8, mails: 20, seconds: 0.2, out: out}
	r, err := o.run(t.Context(), &errs)
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	if err := r.Table(&table); err != nil {
		t.Fatal(err)
	}
	points, err := readScale(out)
	if err != nil || len(points) != 2*len(scaleNames()) {
		t.Fatalf("%d points, %v", len(points), err)
	}
	for i, p := range points {
		c := scaleCurves()[i/2]
		if p.Of != c.name || p.N != 3+17*(i%2) || p.Model == "" || p.Seconds <= 0 {
			t.Errorf("point %d: %+v", i, p)
		}
		for _, column := range c.columns {
			if strings.HasPrefix(column.value, "closed") && p.N <= scaleSpaces {
				continue // so few are all open
			}
			if _, ok := p.Values[column.value]; !ok {
				t.Errorf("%s %d has no %s", p.Of, p.N, column.value)
			}
			if column.series != "" && !strings.HasPrefix(column.value, "memory") && p.Values[column.value] <= 0 { // only Linux has the memory
				t.Errorf("%s %d: %s is %v", p.Of, p.N, column.value, p.Values[column.value])
			}
		}
		if p.Values["failed"] > 0 {
			t.Errorf("%+v", p)
		}
		if share, ok := p.Values["same_served_share"]; ok && share != 1 {
			t.Errorf("%.2f of the exact repeats were served", share)
		}
	}
	for _, c := range scaleCurves() {
		if !strings.Contains(table.String(), c.name) {
			t.Errorf("no table of %s:\n%s", c.name, table.String())
		}
	}
}

// A run goes on behind the last whole line of its file.
func TestScaleContinues(t *testing.T) {
	out := filepath.Join(t.TempDir(), "scale.json")
	const first = `{"of":"spaces","n":1,"model":"built-in","cpus":2,"seconds":1,"values":{"ready_ms":12345}}` + "\n"
	if err := os.WriteFile(out, []byte(first+`{"of":"spaces","n":2,"mod`), 0o600); err != nil {
		t.Fatal(err)
	}
	var stored string
	for range 2 { // the second time, nothing is left to do
		var shown, errs bytes.Buffer
		args := []string{"bench", "scale", "--of", "spaces", "--points", "1,2", "--runs", "2", "--out", out, "--json"}
		if err := run(t.Context(), args, strings.NewReader(""), &shown, &errs); err != nil {
			t.Fatalf("%v\n%s", err, errs.String())
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case !strings.HasPrefix(string(b), first) || strings.Count(string(b), "\n") != 2 || shown.String() != string(b):
			t.Fatalf("in the file:\n%s\nshown:\n%s", b, shown.String())
		case stored == "" && !strings.Contains(errs.String(), "spaces: 2"):
			t.Errorf("no progress: %s", errs.String())
		case stored != "" && (string(b) != stored || errs.Len() > 0):
			t.Errorf("measured again: %s", errs.String())
		}
		stored = string(b)
	}
}

func TestScaleMisused(t *testing.T) {
	for _, wrong := range [][]string{{"--of", "users"}, {"--of", ""}, {"--points", "0"}, {"--points", "390626"}, {"--runs", "0"}, {"--seconds", "0"}} {
		var out, errs bytes.Buffer
		if err := run(t.Context(), append([]string{"bench", "scale"}, wrong...), strings.NewReader(""), &out, &errs); !commands.Misused(err) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

// A failed request of a client makes the command fail.
func TestScaleVerdict(t *testing.T) {
	r := &scaleReport{[]scalePoint{{Of: "clients", N: 1, Values: scaleValues{"failed": 0}}}}
	if err := r.verdict(); err != nil {
		t.Error(err)
	}
	r.Points[0].Values["failed"] = 1
	if err := r.verdict(); err != (cmdline.Unwell{}) {
		t.Error(err)
	}
}

// The estimate of the time left gets what parts cost, and ends at nothing.
func TestScaleProgress(t *testing.T) {
	c := &scaleCurve{first: 10, fixed: 2, thousand: 3}
	if got := c.cost(0, []int{1000, 3000}); got != 10+2+3+2+6 {
		t.Error(got)
	}
	if got := c.cost(1000, []int{3000}); got != 2+6 {
		t.Error(got)
	}
	var out bytes.Buffer
	p := &scaleProgress{w: &out, began: time.Now(), total: 20}
	p.begin("chunks: 5", 20)
	p.at(0.1)
	p.at(0.5)
	p.end()
	p.begin("chunks: 6", 0)
	got := strings.Split(out.String(), "\n")
	if len(got) != 4 || got[0] != "  0 %: chunks: 5, about 20s left" || !strings.HasPrefix(got[1], " 50 %") || got[2] != "100 %: chunks: 6, about 0s left" {
		t.Errorf("%q", got)
	}
}

// All invented questions differ.
func TestHitNames(t *testing.T) {
	seen := make(map[string]bool, scaleMost)
	for i := range scaleMost {
		seen[hitQuestion(i)] = true
	}
	if len(seen) != scaleMost {
		t.Errorf("%d of %d questions differ", len(seen), scaleMost)
	}
}

func TestDrawScale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scale.json")
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"two curves", `{"of":"entries","n":10,"values":{"same_median_ms":1,"same_p99_ms":3,"disk_bytes":1048576}}
{"of":"chunks","n":1000,"values":{"search_median_ms":2,"search_p99_ms":9,"added_per_s":700,"ready_ms":0}}
{"of":"chunks","n":5,"values":{"search_median_ms":1,"memory_bytes":1048576}}
`, []string{"time by chunks</text>", "time by entries</text>", "memory and disk by chunks</text>", "rate by chunks</text>", "same words</text>", ">1000</text>", "fill:#16181D"}},
		{"no point", "\n", []string{"has no points"}},
		{"another report", "{\"points\": []}\n", []string{"line 1 of ", "is not a point that bench scale stores"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, errs bytes.Buffer
			if err := run(t.Context(), []string{"draw", "scale", path, "--dark"}, strings.NewReader(""), &out, &errs); err != nil {
				out.WriteString(err.Error())
			} else if err := xml.Unmarshal(out.Bytes(), new(struct{})); err != nil {
				t.Error(err)
			}
			for _, want := range tc.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("want %q in:\n%.300s", want, out.String())
				}
			}
		})
	}
}

// A series has one colour in all panels, and no two have the same.
func TestScaleColours(t *testing.T) {
	of := map[int]string{}
	for _, c := range scaleCurves() {
		for _, column := range c.columns {
			if column.series == "" {
				continue
			}
			n := scaleColour(column.series)
			if n < 1 || n > 10 || of[n] != "" && of[n] != column.series {
				t.Errorf("%s has colour %d, as %s", column.series, n, of[n])
			}
			of[n] = column.series
		}
	}
}
