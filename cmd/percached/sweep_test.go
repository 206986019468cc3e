package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/kv/kvtest"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/knowledgebank"
)

// fullSweep is the environment variable that asks for every trial of TestSweep.
const fullSweep = "TEST_FULL_SWEEP"

// storedIn reads a data folder without the files that every opening process writes.
func storedIn(t *testing.T, dir string) kvtest.Files {
	t.Helper()
	s := kvtest.ReadFiles(t, dir)
	for _, name := range []string{"lock", "unclean", "address", "tokens.lock", "token", "schema"} {
		delete(s, name)
	}
	return s
}

// used is made by the first test that needs it, since making it takes a second.
var used struct {
	sync.Once
	killed, closed kvtest.Files
	titles         []string
}

// usedFolder returns a data folder with some history, both in use and closed, and the titles of
// its documents. Nobody may change them.
func usedFolder(t *testing.T) (killed, closed kvtest.Files, titles []string) {
	t.Helper()
	used.Do(func() { used.killed, used.closed, used.titles = makeUsedFolder(t, filepath.Join(t.TempDir(), "data")) })
	if used.closed == nil {
		t.Fatal("the folder could not be made")
	}
	return used.killed, used.closed, used.titles
}

func makeUsedFolder(t *testing.T, dir string) (killed, closed kvtest.Files, titles []string) {
	t.Helper()
	ctx := context.Background()
	c := node.Default()
	c.Data, c.Create, c.Threads, c.ChunkWords, c.MaxTokens, c.TensorLimit = dir, true, 1, 40, 8, 1<<30
	notes := func(from, to int) func(context.Context, func(*knowledgebank.Source) error, func(string, error)) error {
		return func(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
			for i := from; i < to; i++ {
				if err := emit(&knowledgebank.Source{
					Key: fmt.Sprint("note", i), Title: fmt.Sprint("Note ", i), Source: "note",
					Blocks: []knowledgebank.Block{{Text: strings.Repeat(fmt.Sprintf("Box %d of the archive holds the letters of year %d. ", i, 1900+i), 20)}},
				}); err != nil {
					return err
				}
			}
			return nil
		}
	}
	s := nodetest.Open(t, c)
	for round := range 3 {
		_, err := s.Library.Add(ctx, nodetest.Space, notes(20*round, 20*round+20), nil)
		if err == nil {
			_, err = s.Asker.Ask(ctx, answer.Question{Space: nodetest.Space, Text: fmt.Sprintf("What is the budget for %s?", nodetest.Names()[round])}, answer.Listener{})
		}
		if err == nil {
			_, err = s.Library.Delete(ctx, nodetest.Space, percached.NewDocumentID(fmt.Sprint("note", 20*round+3)))
		}
		if err == nil && round == 1 {
			err = s.Library.CleanUp(ctx, nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		if round == 2 {
			killed = kvtest.ReadFiles(t, dir)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, err = node.Open(ctx, c, round < 2, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Knowledge.Documents(nodetest.Space, percached.DocumentID{}, 1000)
	for _, d := range all {
		titles = append(titles, d.Title)
	}
	slices.Sort(titles)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	return killed, kvtest.ReadFiles(t, dir), titles
}

// After any damage of one file of a data folder, percached starts with all its documents and no
// deleted one, or refuses, names the file and changes nothing.
func TestSweep(t *testing.T) {
	base := t.TempDir()
	killed, closed, want := usedFolder(t)
	step, stepOfManifest := 11, 1
	switch {
	case os.Getenv(fullSweep) != "":
		step = 1
	case testing.Short():
		step, stepOfManifest = 83, 8
	}
	type row struct{ trials, whole, refused int }
	table := map[string]*row{}
	dir := filepath.Join(base, "trial")
	n := 0
	for state, all := range map[string]kvtest.Files{"closed": closed, "killed": killed} {
		all.Write(t, dir)
		if refused, err := sweepTrial(t, dir, "", want); refused || err != nil {
			t.Fatalf("unharmed: %v", err)
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if strings.HasPrefix(name, "models/") {
				continue // opened by a command with a model alone, and written anew where it is damaged: TestModelFile
			}
			for _, h := range kvtest.Harms(all[name]) {
				if n++; n%step != 0 && (name != "meta/MANIFEST" || n%stepOfManifest != 0) { // what names all the others
					continue
				}
				all.Write(t, dir)
				if err := h.Do(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
				kind := state + " " + filepath.Dir(name) + "/*" + filepath.Ext(name)
				if filepath.Ext(name) == "" {
					kind = state + " " + name
				}
				r := table[kind]
				if r == nil {
					r = &row{}
					table[kind] = r
				}
				r.trials++
				refused, err := sweepTrial(t, dir, name, want)
				if err != nil {
					t.Errorf("%s, %s: %s: %v", state, name, h.Name, err)
				}
				if refused {
					r.refused++
				} else {
					r.whole++
				}
			}
		}
	}
	total := row{}
	for _, kind := range slices.Sorted(maps.Keys(table)) {
		r := table[kind]
		t.Logf("%-40s %4d trials %4d start whole %4d refused", kind, r.trials, r.whole, r.refused)
		total.trials, total.whole, total.refused = total.trials+r.trials, total.whole+r.whole, total.refused+r.refused
	}
	t.Logf("%-40s %4d trials %4d start whole %4d refused", "all", total.trials, total.whole, total.refused)
}

func sweepTrial(t *testing.T, dir, name string, want []string) (refused bool, err error) {
	t.Helper()
	before := storedIn(t, dir)
	out, err := printed(t, "documents", "list", "--data", dir, "--space", nodetest.Space, "--json")
	if err != nil {
		if !strings.Contains(cmdline.Sentence(err), filepath.Base(name)) {
			return true, fmt.Errorf("the message does not name the file: %w", err)
		}
		for name, b := range storedIn(t, dir) {
			if !bytes.Equal(before[name], b) {
				return true, fmt.Errorf("%s was changed", name)
			}
		}
		return true, nil
	}
	var list struct{ Documents []struct{ Title string } }
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return false, err
	}
	var got []string
	for _, d := range list.Documents {
		got = append(got, d.Title)
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		return false, fmt.Errorf("other documents: %s", d)
	}
	return false, nil
}
