package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/percached/percached/eval/selfcheck"
)

// The evaluation measures right on this machine, whatever the environment says, and
// leaves nothing behind.
func TestEvalCheck(t *testing.T) {
	temp := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	cmd := exec.Command(exe, "check", "--json")
	cmd.Args[0], cmd.Stdout, cmd.Stderr = "percached-eval", &out, &errs
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "PERCACHED_K=9", "PERCACHED_KV=q8_0", "PERCACHED_MODEL=/nowhere", "PERCACHED_CHUNK_WORDS=20")
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, errs.String(), out.String())
	}
	var r checkReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	wants := map[string]bool{"poisoned: wrong answers served": false, "ragcache: answers that are not the uncached ones": false}
	for _, f := range r.Findings {
		if _, ok := wants[f.What]; ok {
			wants[f.What] = true
		}
		if !f.OK || f.Got == "" {
			t.Errorf("%+v", f)
		}
	}
	for what, found := range wants {
		if !found {
			t.Errorf("%s: nobody looked", what)
		}
	}
	if !r.Well {
		t.Error("not well")
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// What is not as it must be is told last, with what it must be.
func TestEvalCheckTells(t *testing.T) {
	var out bytes.Buffer
	r := checkReport{Findings: []selfcheck.Finding{{What: "a", Want: "1", Got: "2"}, {What: "b", Want: "3", Got: "3", OK: true}}}
	if err := r.Table(&out); err != nil {
		t.Fatal(err)
	}
	want := "ok     b: 3\nWRONG  a: must be 1, is 2\n1 of 2 numbers are correct.\n"
	if got := out.String(); got != want {
		t.Errorf("%s", strings.TrimSpace(got))
	}
}
