package inbox_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/inbox"
)

// An upload that takes long does not delay another space's.
func TestLanes(t *testing.T) {
	dir := folder(t)
	synctest.Test(t, func(t *testing.T) {
		s := newBank("mail", "other")
		on := make(chan struct{})
		s.before = func(key string) {
			if key == "file:slow.txt" {
				<-on
			}
		}
		in := open(t, dir, options(t, s))
		run(t, in)
		slow := accept(t, in, "mail", "", sent{"slow.txt", "It takes for ever."})
		behind := accept(t, in, "mail", "", sent{"behind.txt", "It waits."})
		synctest.Wait()
		fast := accept(t, in, "other", "", notes(0, 1)...)
		synctest.Wait()
		for id, want := range map[string]inbox.State{slow.ID: inbox.Running, behind.ID: inbox.Queued, fast.ID: inbox.Done} {
			space := "mail"
			if id == fast.ID {
				space = "other"
			}
			if u, err := in.Get(space, id); u.State != want || err != nil {
				t.Errorf("%+v, want %s, %v", u, want, err)
			}
		}
		close(on)
		wait(t, in, behind.ID)
	})
}

// If more spaces have uploads than lanes, each yields when its turn is over and
// continues where it was: every document is stored once and in order, and an upload
// has one report.
func TestTurns(t *testing.T) {
	for _, form := range []string{"files", "one file"} {
		t.Run(form, func(t *testing.T) {
			dir := folder(t)
			synctest.Test(t, func(t *testing.T) {
				turns(t, dir, form == "files", func() { time.Sleep(100 * time.Millisecond) })
			})
		})
	}
}

// turns stores uploads of three spaces, with a wait at each document.
func turns(t *testing.T, dir string, files bool, while func()) {
	const each = 25
	spaces := []string{"a", "b", "c"}
	s := newBank(spaces...)
	var handed []string
	s.before = func(key string) {
		handed = append(handed, key)
		while()
	}
	o := options(t, s)
	o.Lanes, o.Turn = 1, time.Second
	moved := map[string][]inbox.State{}
	o.Observer.Moved = func(u inbox.Upload) { moved[u.Space] = append(moved[u.Space], u.State) }
	in := open(t, dir, o)
	ids, want := map[string]string{}, map[string][]string{}
	for _, space := range spaces {
		var all []sent
		var lines strings.Builder
		for i := range each {
			name := fmt.Sprintf("%s%02d.txt", space, i)
			text := "It is about the garden."
			if i == each/2 {
				text = "" // cannot be read
			} else if files {
				want[space] = append(want[space], "file:"+name)
			} else {
				want[space] = append(want[space], fmt.Sprintf("json:%s.jsonl#%d", space, i))
			}
			all = append(all, sent{name, text})
			fmt.Fprintf(&lines, `{"id": "%d", "text": "%s"}`+"\n", i, text)
		}
		if !files {
			all = []sent{{space + ".jsonl", lines.String()}}
		}
		ids[space] = accept(t, in, space, "", all...).ID
	}
	late := accept(t, in, "a", "", sent{"late.txt", "It is about the pond."})
	began := time.Now()
	run(t, in)
	for _, space := range spaces {
		u := wait(t, in, ids[space])
		if u.State != inbox.Done || u.Report.Added != each-1 || u.Report.Failed != 1 || len(u.Report.Failures) != 1 {
			t.Errorf("%+v", u)
		}
	}
	// Alone, the first two would take five seconds.
	first := map[string]int{}
	got := map[string][]string{}
	wait(t, in, late.ID)
	want["late"] = []string{"file:late.txt"}
	for i, key := range handed {
		if key == "file:late.txt" {
			got["late"] = []string{key}
			if len(got["a"]) < len(want["a"]) {
				t.Errorf("the later upload overtook: %q", got["a"])
			}
			continue
		}
		_, name, _ := strings.Cut(key, ":")
		space := name[:1]
		if _, seen := first[space]; !seen {
			first[space] = i
		}
		got[space] = append(got[space], key)
	}
	if first["c"] > 25 {
		t.Errorf("the third space has its first turn behind %d documents, %v", first["c"], time.Since(began))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, space := range spaces[1:] {
		if d := cmp.Diff([]inbox.State{inbox.Queued, inbox.Running, inbox.Done}, moved[space]); d != "" {
			t.Error(space, d)
		}
	}
}

// After Cancel the library catches up, so that stored documents are found.
func TestCancelCatchesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		gone := make(chan error)
		go func() { gone <- g.Cancel("mail", g.u.ID) }()
		synctest.Wait()
		close(g.on)
		if err := <-gone; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		g.bank.mu.Lock()
		defer g.bank.mu.Unlock()
		if d := cmp.Diff([]string{"mail"}, g.bank.caughtUp); d != "" {
			t.Error(d)
		}
	})
}

func zip(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// An upload over a limit fails there, names the limit, and reports what is stored by
// then.
func TestUploadLimits(t *testing.T) {
	var lines strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&lines, `{"id": "%d", "text": "It is about the garden."}`+"\n", i)
	}
	bad := strings.Repeat("none\n", 2000) // nothing in it can be read
	for _, tc := range []struct {
		name          string
		files         []sent
		added, failed int
		says          string
	}{
		{"documents", []sent{{"a.jsonl", lines.String()}}, 100, 0, "more than 100 documents"},
		{"documents of two files", append(notes(0, 60), sent{"a.jsonl.gz", zip(t, lines.String())}), 100, 0, "more than 100 documents"},
		{"what cannot be read", []sent{{"a.jsonl", `{"text": "Ducks."}` + "\n" + bad}}, 1, 99, "more than 100 documents"},
		{"as many as may be", notes(0, 100), 100, 0, ""},
		{"bytes", []sent{{"a.txt", "Ducks."}, {"b.txt.gz", zip(t, strings.Repeat("garden ", 100_000))}, {"c.txt", "Geese."}}, 1, 0, "more than 200000 bytes"},
		{"bytes of two files", []sent{{"a.txt.gz", zip(t, strings.Repeat("garden ", 20_000))}, {"b.txt.gz", zip(t, strings.Repeat("garden ", 20_000))}}, 1, 0, "more than 200000 bytes"},
		{"bytes that are not compressed", []sent{{"a.txt", strings.Repeat("garden ", 100_000)}}, 1, 0, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := options(t, newBank("mail"))
			o.MaxDocuments, o.MaxExpanded = 100, 200_000
			in := open(t, folder(t), o)
			run(t, in)
			u := wait(t, in, accept(t, in, "mail", "", tc.files...).ID)
			state := inbox.Done
			if tc.says != "" {
				state = inbox.Failed
			}
			if u.State != state || !strings.Contains(u.Error, tc.says) || (u.Error == "") != (tc.says == "") || u.Dropped {
				t.Errorf("%s: %q", u.State, u.Error)
			}
			if u.Report.Added != tc.added || u.Report.Failed != tc.failed {
				t.Errorf("%+v", u.Report)
			}
		})
	}
}
