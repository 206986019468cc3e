package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/commands"
	"github.com/percached/percached/internal/link"
)

// The reader of the output may close it. The command then ends properly, with the status that
// shells expect.
func TestUnread(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if _, err := printed(t, "spaces", "create", "notes", "--data", data); err != nil {
		t.Fatal(err)
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	var said strings.Builder
	cmd := exec.CommandContext(patiently(t), underTest(t), "spaces", "list", "--data", data)
	cmd.Args[0], cmd.Stdout, cmd.Stderr = "percached", write, &said
	err = cmd.Run()
	write.Close()
	if e, ok := errors.AsType[*exec.ExitError](err); !ok || e.ExitCode() != commands.ExitUnread || said.Len() > 0 {
		t.Errorf("%v, and it says %q", err, said.String())
	}
	h, err := home.Open(data, encryption.Source{})
	if err != nil {
		t.Fatal(err)
	}
	if h.Unclean {
		t.Error("the data folder was not closed")
	}
	h.Close()
}

// A stopping daemon removes its address before another program can listen there.
func TestAddressGoesFirst(t *testing.T) {
	t.Setenv("PERCACHED_SHUTDOWN_GRACE", "1m")
	a := startServe(t, t.TempDir())
	a.ready()
	call[api.Space](a, "POST", "/v1/spaces", `{"name":"notes"}`)
	half := a.sendHalf("notes")
	a.stop()
	if err := a.log.await(patiently(t), "msg=closing"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(a.dir, link.AddressFile)); !os.IsNotExist(err) {
		t.Errorf("the address is still there: %v", err)
	}
	_, err := printed(t, "spaces", "list", "--data", a.dir)
	if _, busy := errors.AsType[*home.InUse](err); !busy {
		t.Error(err)
	}
	half.rest.Close()
	<-half.result
	a.end()
}

// A command without an engine deletes no tensors, whatever its limit.
func TestTensorsSpared(t *testing.T) {
	t.Setenv("PERCACHED_THREADS", "1")
	data, notes := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "gate.txt")
	if err := os.WriteFile(notes, []byte("The code for the gate at Wharf Road is 6190.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stored := func() int {
		out, err := printed(t, "cache", "stats", "--data", data, "--json")
		var c api.Cache
		if err = errors.Join(err, json.Unmarshal([]byte(out), &c)); err != nil {
			t.Fatal(err)
		}
		return c.Slices
	}
	for _, args := range [][]string{{"add", notes}, {"ask", "What is the code for the gate at Wharf Road?"}} {
		if _, err := printed(t, append(args, "--data", data)...); err != nil {
			t.Fatal(err)
		}
	}
	before := stored()
	t.Setenv("PERCACHED_TENSOR_LIMIT", "1")
	if after := stored(); before == 0 || after != before {
		t.Errorf("%d slices, then %d", before, after)
	}
	if _, err := printed(t, "ask", "Is there a pond?", "--data", data); err != nil {
		t.Fatal(err)
	}
	if after := stored(); after != 0 {
		t.Errorf("%d slices over the limit", after)
	}
}

// A document that is named twice is deleted once.
func TestDeleteNamedTwice(t *testing.T) {
	data, notes := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "gate.txt")
	if err := os.WriteFile(notes, []byte("The code for the gate at Wharf Road is 6190.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := printed(t, "add", notes, "--data", data); err != nil {
		t.Fatal(err)
	}
	list, err := printed(t, "documents", "list", "--data", data)
	id, _, _ := strings.Cut(list, " ")
	if err != nil || id == "" {
		t.Fatal(list, err)
	}
	out, err := printed(t, "documents", "delete", id, id, "--wait", "--data", data)
	if err != nil || !strings.Contains(out, "deleted: 1 document\n") && !strings.Contains(out, "deleted: 1 document,") || !strings.Contains(out, "No file of the data folder") {
		t.Error(out, err)
	}
	if _, err := printed(t, "documents", "delete", id, "--data", data); commands.ExitOf(err) != commands.ExitMissing {
		t.Error(err, fault.KindOf(err))
	}
}

// status --watch --json prints one object a line.
func TestWatchLines(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if _, err := printed(t, "spaces", "create", "notes", "--data", data); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(patiently(t))
	out, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, []string{"status", "--watch", "--every", "50ms", "--json", "--data", data}, strings.NewReader(""), w, newLogged())
		w.CloseWithError(err)
		ended <- err
	}()
	lines := bufio.NewScanner(out)
	for range 2 {
		var s api.Status
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		if err := json.Unmarshal(lines.Bytes(), &s); err != nil || s.Stored.Spaces != 1 {
			t.Errorf("%s: %v", lines.Text(), err)
		}
	}
	stop()
	for lines.Scan() { // one may be under way
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Several concurrent adds create a new space once, and each adds its documents.
func TestAddAtOnce(t *testing.T) {
	a := startServe(t, t.TempDir())
	a.ready()
	const many = 4
	var wg sync.WaitGroup
	for i := range many {
		note := filepath.Join(t.TempDir(), fmt.Sprintf("note%d.txt", i))
		if err := os.WriteFile(note, fmt.Appendf(nil, "The code for gate %d is 61%d0.\n", i, i), 0o600); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if out, err := printed(t, "add", note, "--space", "fresh", "--data", a.dir); err != nil {
				t.Error(out, err)
			}
		})
	}
	wg.Wait()
	out, err := printed(t, "documents", "list", "--json", "--space", "fresh", "--data", a.dir)
	if err != nil || !strings.Contains(out, `"total": 4`) {
		t.Error(out, err)
	}
	a.end()
}
