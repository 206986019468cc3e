package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// scene is a block of the guide: a command and its output.
type scene struct {
	line        int
	script      string
	prints, how string // how it is written: json, text, or nothing
}

// scenes reads the shell blocks of a page, each with the output that follows it.
func scenes(t *testing.T, path string) (all []scene) {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kind, block, begun := "", "", 0
	fresh := false // a shell block has not been said anything of
	n := 0
	for line := range strings.Lines(string(page)) {
		n++
		fence, ok := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case !ok:
			block += line
			if kind == "" && strings.TrimSpace(line) != "" {
				fresh = false
			}
		case kind == "":
			kind, block, begun = fence, "", n
		default:
			switch last := len(all) - 1; {
			case kind == "sh":
				all, fresh = append(all, scene{line: begun, script: block}), true
			case fresh && (kind == "json" || kind == "text"):
				all[last].prints, all[last].how, fresh = block, kind, false
			}
			kind = ""
		}
	}
	return all
}

// TestGuide runs docs/guide.md: each shell block, in order and in one shell, prints the
// output of the guide.
func TestGuide(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("docs/guide.md is not tried: there is no curl")
	}
	w := newWorld(t)
	dir := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	inbox, err := filepath.Abs(mailbox)
	must(err)
	must(os.MkdirAll(filepath.Join(dir, "models", "demo"), 0o700))
	must(os.Symlink(inbox, filepath.Join(dir, "models", "demo", "inbox.mbox")))
	must(os.MkdirAll(filepath.Join(dir, "share"), 0o700))
	must(os.Symlink(w.data, filepath.Join(dir, "share", "percached")))
	must(os.MkdirAll(filepath.Join(dir, "bin"), 0o700))
	must(os.Symlink(underTest(t), filepath.Join(dir, "bin", "percached")))

	all := scenes(t, "../../docs/guide.md")
	if len(all) < 15 {
		t.Fatalf("%d shell blocks", len(all))
	}
	var script strings.Builder
	script.WriteString("set -eu\n")
	for i, s := range all {
		fmt.Fprintf(&script, "{\n%s} > %d.out\necho %d\n", strings.ReplaceAll(s.script, "http://127.0.0.1:7337", w.URL), i, i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script.String())
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+filepath.Join(dir, "share"), "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	var done, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &done, &errs
	failed := cmd.Run()
	ended := strings.Count(done.String(), "\n")
	for i, s := range all[:min(ended+1, len(all))] {
		printed, err := os.ReadFile(filepath.Join(dir, fmt.Sprint(i, ".out")))
		if i == ended || err != nil {
			t.Fatalf("docs/guide.md:%d: %v\n%s\n%s", s.line, failed, printed, errs.String())
		}
		for _, fault := range s.faults(printed) {
			t.Errorf("docs/guide.md:%d: %s\n%s", s.line, fault, printed)
		}
	}
	if failed != nil {
		t.Errorf("%v\n%s", failed, errs.String())
	}
}

// faults lists the expected output that a block does not print.
func (s scene) faults(printed []byte) []string {
	switch s.how {
	case "text":
		rest := string(printed)
		for line := range strings.Lines(s.prints) {
			parts := strings.Split(strings.TrimSpace(line), "…")
			for i := range parts {
				parts[i] = regexp.QuoteMeta(parts[i])
			}
			at := regexp.MustCompile("(?m)^" + strings.Join(parts, ".*")).FindStringIndex(rest)
			if at == nil {
				return []string{"it does not print " + strings.TrimSpace(line)}
			}
			rest = rest[at[1]:]
		}
	case "json":
		var want, got any
		if err := json.Unmarshal([]byte(s.prints), &want); err != nil {
			return []string{err.Error()}
		}
		if err := json.NewDecoder(bytes.NewReader(printed)).Decode(&got); err != nil {
			return []string{err.Error()}
		}
		return lacks("", want, got)
	}
	return nil
}

// lacks lists what a value lacks: members, words, and kinds of numbers. IDs and times are of
// one run, and … stands for the rest of a text. The first element stands for a list.
func lacks(at string, want, got any) (faults []string) {
	differs := []string{fmt.Sprintf("%s is said to be %v, and is %v", at, want, got)}
	switch want := want.(type) {
	case map[string]any:
		has, ok := got.(map[string]any)
		if !ok {
			return differs
		}
		for name, v := range want {
			if _, ok := has[name]; !ok {
				faults = append(faults, at+"/"+name+" is not there")
				continue
			}
			faults = append(faults, lacks(at+"/"+name, v, has[name])...)
		}
		return faults
	case []any:
		has, ok := got.([]any)
		if !ok || (len(want) == 0) != (len(has) == 0) {
			return differs
		}
		if len(want) > 0 {
			return lacks(at+"/0", want[0], has[0])
		}
		return nil
	case float64:
		if _, ok := got.(float64); !ok {
			return differs
		}
		return nil
	case string:
		has, ok := got.(string)
		begin, open := strings.CutSuffix(ofOneRun.ReplaceAllString(want, "*"), "…")
		has = ofOneRun.ReplaceAllString(has, "*")
		if !ok || open && !strings.HasPrefix(has, begin) || !open && has != begin {
			return differs
		}
		return nil
	}
	if want != got {
		return differs
	}
	return nil
}
