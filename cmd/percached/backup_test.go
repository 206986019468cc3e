package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/commands"
)

// titles returns the titles and IDs of the documents in the space notes.
func (a *atWork) titles() map[string]string {
	a.Helper()
	found := map[string]string{}
	for after := ""; ; {
		page := call[api.Documents](a, "GET", "/v1/spaces/notes/documents?limit=500"+after, "")
		for _, d := range page.Documents {
			found[d.Title] = d.ID.String()
		}
		if page.Next == "" {
			return found
		}
		after = "&after=" + page.Next
	}
}

// settled waits until all uploads have ended.
func (a *atWork) settled() {
	a.Helper()
	until(a.T, "no upload waits", func() bool { return a.metrics()["percached_uploads_waiting"] == "0" })
}

// send uploads or deletes a note, and says whether the daemon confirmed it.
func (a *atWork) send(method, path, text string) bool {
	a.Helper()
	r := a.request(method, "/v1/spaces/notes/documents"+path, strings.NewReader(text))
	r.Header.Set("Content-Type", "text/plain")
	if text == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	resp, err := a.client.Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body)
	return resp.StatusCode < 300
}

func (a *atWork) addNote(name string) bool {
	a.Helper()
	return a.send("POST", "?name="+name+".txt", fmt.Sprintf("The code for gate %s is %d. %s\n", name, 6000+len(name), strings.Repeat(name+" is painted green. ", 60)))
}

// backup returns the body of GET /v1/backup.
func (a *atWork) backup() []byte {
	a.Helper()
	resp, err := a.client.Do(a.request("GET", "/v1/backup", nil))
	if err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		a.Fatalf("%s %v", resp.Status, err)
	}
	return b
}

// restore sends an archive and returns the response.
func (a *atWork) restore(archive []byte, query string) (status int, text string) {
	a.Helper()
	r := a.request("POST", "/v1/restore"+query, bytes.NewReader(archive))
	r.Header.Set("Content-Type", "application/gzip")
	resp, err := a.client.Do(r)
	if err != nil {
		a.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		a.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// isReady waits until the daemon is ready again.
func (a *atWork) isReady() (stages []string) {
	a.Helper()
	until(a.T, "the daemon is ready", func() bool {
		resp, err := a.client.Do(a.request("GET", "/readyz", nil))
		if err != nil {
			return false // a daemon that restores drops the connections that it just accepted
		}
		defer resp.Body.Close()
		var now api.Ready
		if err := json.NewDecoder(resp.Body).Decode(&now); err != nil {
			a.Fatal(now, err)
		}
		if len(stages) == 0 || stages[len(stages)-1] != now.Stage {
			stages = append(stages, now.Stage)
		}
		return now.Ready
	})
	return stages
}

// restoreInto restores an archive in a data folder without a daemon.
func restoreInto(t *testing.T, data string, archive []byte, flags ...string) (errs string, status int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "backup.tar.gz")
	if err := os.WriteFile(file, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs, status = called(patiently(t), append([]string{"restore", file, "--data", data}, flags...)...)
	return errs, status
}

// A backup made while notes are added and deleted holds everything that was confirmed before
// it began, and nothing that was deleted before.
func TestBackupWhileItChanges(t *testing.T) {
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
	a := startServe(t, filepath.Join(t.TempDir(), "data"))
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	var mu sync.Mutex
	changed, over := sync.NewCond(&mu), false
	added, going, forgotten := map[string]bool{}, map[string]bool{}, map[string]bool{}
	ended := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return over
	}
	note := func(in map[string]bool, name string) {
		mu.Lock()
		defer mu.Unlock()
		in[name] = true
		changed.Broadcast()
	}
	var busy sync.WaitGroup
	busy.Go(func() {
		for n := 0; !ended(); n++ {
			mu.Lock()
			for len(added)-len(forgotten) > 30 && !over { // more would only wait in the queue
				changed.Wait()
			}
			mu.Unlock()
			if name := fmt.Sprint("gate", n); a.addNote(name) {
				note(added, name)
			}
		}
	})
	busy.Go(func() {
		for !ended() {
			for name, id := range a.titles() {
				note(going, name)
				if a.send("DELETE", "/"+id, "") {
					note(forgotten, name)
				}
				break
			}
		}
	})
	type made struct {
		archive       []byte
		must, mustNot []string
	}
	var all []made
	for len(all) < repeated(4, 2) {
		mu.Lock()
		kept := func() []string { return slicesDelete(slices.Collect(maps.Keys(added)), going) }
		for len(kept()) < 10 || len(forgotten) <= 3*(len(all)+1) {
			changed.Wait()
		}
		m := made{must: kept(), mustNot: slices.Collect(maps.Keys(forgotten))}
		mu.Unlock()
		m.archive = a.backup()
		mu.Lock()
		m.must = slicesDelete(m.must, going) // it may have been before or behind
		mu.Unlock()
		if len(m.must) > 3 {
			all = append(all, m)
		}
	}
	mu.Lock()
	over = true
	changed.Broadcast()
	mu.Unlock()
	busy.Wait()
	a.end()
	for i, m := range all {
		dir := filepath.Join(t.TempDir(), "restored")
		if errs, status := restoreInto(t, dir, m.archive); status != commands.ExitDone {
			t.Fatal(errs)
		}
		b := startServe(t, dir)
		b.ready()
		b.settled()
		have := b.titles()
		for _, name := range m.must {
			if have[name] == "" {
				t.Errorf("backup %d lacks %s", i, name)
			}
		}
		for _, name := range m.mustNot {
			if have[name] != "" {
				t.Errorf("backup %d holds %s, which was forgotten", i, name)
			}
		}
		t.Logf("backup %d: %d documents; %d must be there, %d must not", i, len(have), len(m.must), len(m.mustNot))
		b.end()
	}
}

func slicesDelete(names []string, gone map[string]bool) (left []string) {
	for _, name := range names {
		if !gone[name] {
			left = append(left, name)
		}
	}
	return left
}

// A running daemon restores and continues at the same address with the same token. Requests
// in progress end.
func TestRestoreInDaemon(t *testing.T) {
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
	a := startServe(t, filepath.Join(t.TempDir(), "data"))
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	for _, name := range []string{"north", "south"} {
		if !a.addNote(name) {
			t.Fatal(name)
		}
	}
	a.settled()
	want := a.titles()
	answer := call[api.Answer](a, "POST", "/v1/spaces/notes/ask", `{"question":"What is the code for gate south?"}`)
	archive := a.backup()
	for range repeated(3, 2) { // one behind the other
		a.send("DELETE", "/"+want["north"], "")
		a.addNote("east")
		a.settled()
		events, err := a.client.Do(a.request("GET", "/v1/events", nil))
		if err != nil {
			t.Fatal(err)
		}
		if status, text := a.restore(archive, ""); status != http.StatusConflict || !strings.Contains(text, "force=true") {
			t.Fatalf("%d %s", status, text)
		}
		status, text := a.restore(archive, "?force=true")
		if status != http.StatusOK || !strings.Contains(text, `"documents":2`) {
			t.Fatalf("%d %s", status, text)
		}
		if _, err := io.ReadAll(events.Body); err != nil {
			t.Errorf("the stream of events was cut: %v", err)
		}
		events.Body.Close()
		t.Logf("stages: %v", a.isReady())
		if d := cmp.Diff(want, a.titles()); d != "" {
			t.Error(d)
		}
		if got := call[api.Answer](a, "POST", "/v1/spaces/notes/ask", `{"question":"What is the code for gate south?"}`); got.Outcome != "answer_hit" || got.Answer != answer.Answer {
			t.Errorf("%+v", got)
		}
		if text := strings.TrimSpace(a.file("token")); text != a.token {
			t.Error("it has another token")
		}
		if text := strings.TrimSpace(a.file("address")); text != a.url {
			t.Errorf("it is at %s", text)
		}
	}
	call[api.Config](a, "PATCH", "/v1/config", `{"tensor-limit":"3MiB"}`)
	if c := call[api.Cache](a, "GET", "/v1/cache", ""); c.Limit != 3<<20 {
		t.Errorf("what serves now is not what is set: the limit is %d", c.Limit)
	}
	a.end()
	b := startServe(t, a.dir)
	b.ready()
	if d := cmp.Diff(want, b.titles()); d != "" {
		t.Error(d)
	}
	b.end()
}

// A write that is confirmed after a restore is not lost, even if it was sent before.
func TestRestoreAmongUploads(t *testing.T) {
	t.Setenv("PERCACHED_BUDGET_COMPUTE", "0")
	a := startServe(t, filepath.Join(t.TempDir(), "data"))
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	a.addNote("north")
	a.settled()
	archive := a.backup()
	for round := range repeated(4, 2) {
		var restored atomic.Bool
		var later sync.Map // sent after the restore was acknowledged
		over := make(chan struct{})
		var busy sync.WaitGroup
		for worker := range 3 {
			busy.Go(func() {
				for n := 0; ; n++ {
					select {
					case <-over:
						return
					default:
					}
					after := restored.Load()
					if name := fmt.Sprintf("r%dw%dn%d", round, worker, n); a.addNote(name) && after {
						later.Store(name, true)
					}
				}
			})
		}
		if status, text := a.restore(archive, "?force=true"); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		restored.Store(true)
		a.isReady()
		if name := fmt.Sprint("after", round); a.addNote(name) {
			later.Store(name, true)
		} else {
			t.Errorf("%s is refused", name)
		}
		close(over)
		busy.Wait()
		a.settled()
		have := a.titles()
		later.Range(func(name, _ any) bool {
			if have[name.(string)] == "" {
				t.Errorf("%s is lost", name)
			}
			return true
		})
	}
	a.end()
}
