package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/kv/kvtest"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/daemon"
)

// onSmallDisk is a daemon process whose disk the test fills.
type onSmallDisk struct {
	*testing.T
	*child.Process
	data string
	errs lockedBuffer
}

func (o *onSmallDisk) start() {
	o.Helper()
	var err error
	if o.Process, err = child.Start(context.Background(), underTest(o.T), o.data, &o.errs, "--threads", "1"); err != nil {
		o.Fatalf("%v\n%s", err, o.errs.String())
	}
}

// send sends a request, which the daemon must answer in any way.
func (o *onSmallDisk) send(method, path, kind, body string) (status int, text []byte) {
	r, err := http.NewRequestWithContext(patiently(o.T), method, o.URL+path, strings.NewReader(body))
	if err != nil {
		o.Error(err)
		return 0, nil
	}
	r.Header.Set("Authorization", "Bearer "+o.Token)
	r.Header.Set("Content-Type", kind)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		o.Errorf("%s %s: %v", method, path, err)
		return 0, nil
	}
	defer resp.Body.Close()
	text, err = io.ReadAll(resp.Body)
	if err != nil {
		o.Errorf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, text
}

// add adds a note that does not mention gates.
func (o *onSmallDisk) add(name string) int {
	status, _ := o.send("POST", "/v1/spaces/notes/documents?name="+name+".txt", "text/plain", strings.Repeat("Bread wants flour, water and "+name+". ", 300))
	return status
}

func (o *onSmallDisk) addGate(name string) {
	o.Helper()
	text := fmt.Sprintf("The code for gate %s is %d.%s\n", name, 6000+len(name), strings.Repeat(" The code for the gate is known.", 8))
	if status, _ := o.send("POST", "/v1/spaces/notes/documents?name="+name+".txt", "text/plain", text); status != http.StatusAccepted {
		o.Fatalf("adding %s: %d", name, status)
	}
}

func (o *onSmallDisk) ask(gate string) (a api.Answer) {
	status, text := o.send("POST", "/v1/spaces/notes/ask", "application/json", fmt.Sprintf(`{"question":"What is the code for gate %s?"}`, gate))
	if status != http.StatusOK || json.Unmarshal(text, &a) != nil {
		o.Errorf("asking for gate %s: %d %s", gate, status, text)
	}
	return a
}

// documents returns the listed titles and IDs.
func (o *onSmallDisk) documents() map[string]string {
	status, text := o.send("GET", "/v1/spaces/notes/documents?limit=500", "", "")
	var all api.Documents
	if status != http.StatusOK || json.Unmarshal(text, &all) != nil {
		o.Errorf("the list of documents: %d %s", status, text)
	}
	found := map[string]string{}
	for _, d := range all.Documents {
		found[d.Title] = d.ID.String()
	}
	return found
}

// settled waits until all uploads have ended.
func (o *onSmallDisk) settled() {
	o.Helper()
	until(o.T, "no upload waits", func() bool {
		_, text := o.send("GET", "/metrics", "", "")
		return bytes.Contains(text, []byte("percached_uploads_waiting 0\n"))
	})
}

// A full disk, at any moment, stops no daemon. Stored data stays readable, confirmed writes are
// there when space is free again, and the daemon ends with an error of one line.
func TestFullDiskEndsNoDaemon(t *testing.T) {
	for _, kind := range kvtest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			for i, when := range []string{"in between", "while it adds", "while it asks", "before it starts"} {
				if testing.Short() && kvtest.Kinds()[i%len(kvtest.Kinds())] != kind {
					continue
				}
				for _, leave := range []int64{0, 5_000, 3 << 20} {
					if leave > 0 && (testing.Short() || kind != "tmpfs") {
						break
					}
					t.Run(fmt.Sprintf("%s %d", when, leave), func(t *testing.T) {
						disk := kvtest.NewDisk(t, kind, "450") // uploads leave 256 MiB free
						o := &onSmallDisk{T: t, data: filepath.Join(disk.Dir, "data")}
						o.fillDisk(disk, when, leave)
					})
				}
			}
		})
	}
}

func (o *onSmallDisk) fillDisk(disk *kvtest.Disk, when string, leave int64) {
	o.start()
	o.send("POST", "/v1/spaces", "application/json", `{"name":"notes"}`)
	stored := []string{"north", "south", "east"}
	for _, name := range stored {
		o.addGate(name)
	}
	o.settled()
	known := o.ask("south")
	fill := func() {
		if err := disk.Fill(leave); err != nil {
			o.Error(err)
		}
	}
	var maybe sync.Map // was acknowledged while the disk was filled
	switch when {
	case "in between":
		fill()
	case "while it adds":
		busy(func(n int) {
			if name := fmt.Sprint("salt", n); o.add(name) == http.StatusAccepted {
				maybe.Store(name, true)
			}
		}, fill)
	case "while it asks":
		busy(func(n int) { o.ask(fmt.Sprint("west", n)) }, fill)
	case "before it starts":
		if err := o.Stop(); err != nil {
			o.Errorf("%v\n%s", err, o.errs.String())
		}
		fill()
		d, err := child.Start(context.Background(), underTest(o.T), o.data, &o.errs, "--threads", "1")
		if err != nil { // it needs some room to start; so it must say
			if says := o.errs.String(); !strings.Contains(says, "percached: the disk is full") {
				o.Errorf("%v\n%s", err, says)
			}
			o.recovered(disk, stored, known, "")
			return
		}
		o.Process = d
	}
	deleted := o.whileFull(stored, known)
	o.ends()
	maybe.Range(func(name, _ any) bool {
		stored = append(stored, name.(string))
		return true
	})
	o.recovered(disk, stored, known, deleted)
}

// busy repeats an action, fills the disk meanwhile, and continues for a while.
func busy(do func(n int), fill func()) {
	begun, filled, ended := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for n, left := 0, 10; left > 0; n++ {
			do(n)
			if n == 3 {
				close(begun)
			}
			select {
			case <-filled:
				left--
			default:
			}
		}
	}()
	<-begun
	fill()
	close(filled)
	<-ended
}

// whileFull does what a client may do, and returns the deleted document.
func (o *onSmallDisk) whileFull(stored []string, known api.Answer) (deleted string) {
	if a := o.ask("south"); a.Outcome != "answer_hit" || a.Answer != known.Answer {
		o.Errorf("a stored answer on a full disk: %+v", a)
	}
	if a := o.ask("east"); a.Answer == "" || len(a.Citations) == 0 {
		o.Errorf("a new question on a full disk: %+v", a)
	}
	there := o.documents()
	for _, name := range stored {
		if there[name] == "" {
			o.Errorf("%s is not listed", name)
		}
	}
	if got := o.add("late"); got != http.StatusServiceUnavailable && got != http.StatusAccepted {
		o.Errorf("adding on a full disk: %d", got)
	}
	switch got, text := o.send("DELETE", "/v1/spaces/notes/documents/"+there["north"], "", ""); got {
	case http.StatusOK:
		return "north"
	case http.StatusServiceUnavailable:
	default:
		o.Errorf("deleting on a full disk: %d %s", got, text)
	}
	return ""
}

// ends checks how the daemon ends on a full disk.
func (o *onSmallDisk) ends() {
	err := o.Stop()
	if err == nil { // it found the room that it needed
		return
	}
	exit, ok := errors.AsType[*exec.ExitError](err)
	said := strings.Split(strings.TrimSpace(o.errs.String()), "\n")
	if last := said[len(said)-1]; !ok || exit.ExitCode() != commands.ExitNotNow || !strings.HasPrefix(last, "percached: the disk is full: ") || !strings.Contains(last, "128 MiB must be free") {
		o.Errorf("it ended with %v\n%s", err, o.errs.String())
	}
}

// recovered checks the data when space is free again.
func (o *onSmallDisk) recovered(disk *kvtest.Disk, stored []string, known api.Answer, deleted string) {
	if err := disk.Empty(0); err != nil {
		o.Fatal(err)
	}
	o.start()
	o.settled()
	there := o.documents()
	for _, name := range stored {
		if (there[name] != "") != (name != deleted) {
			o.Errorf("%s, of which %q was deleted: %v", name, deleted, there)
		}
	}
	if a := o.ask("south"); a.Outcome != "answer_hit" || a.Answer != known.Answer {
		o.Errorf("a stored answer when there is room again: %+v", a)
	}
	if got := o.add("again"); got != http.StatusAccepted {
		o.Errorf("adding when there is room again: %d", got)
	}
	if err := o.Stop(); err != nil {
		o.Errorf("%v\n%s", err, o.errs.String())
	}
}

// The daemon ends even if a database waits for disk space.
func TestStuckOnFullDisk(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	full := func() bool { return true }
	if err := daemon.AwaitEnd(ctx, 0, full, nil); commands.ExitOf(err) != commands.ExitNotNow {
		t.Errorf("it ended with %v", err)
	}
	ended := make(chan error, 1)
	waits := func() bool { // it takes a while, but not for want of room
		ended <- errors.New("all its own")
		return false
	}
	if err := daemon.AwaitEnd(ctx, 0, waits, ended); err == nil || commands.ExitOf(err) != commands.ExitFailed {
		t.Errorf("it ended with %v", err)
	}
}
