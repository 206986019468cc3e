package kv_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/kv/kvtest"
)

const fullEnv = "PERCACHED_KV_FULL"

// tight takes the last byte of the disk: nothing but the file system refuses.
func tight() kv.Options {
	o := options()
	o.MemTableSize, o.Sync = 1<<20, true
	return o
}

// numbered is the value of a key that the child below writes.
func numbered(n int) []byte {
	size := 100 + n*37%9000
	if n%3 == 0 {
		size = 40<<10 + n*4099%600_000
	}
	return large(byte(n), size)
}

// writeUntilTold writes keys until its input ends, says which are durable, and
// reads them again meanwhile. The last line is the error of Close.
func writeUntilTold(dir string, in io.Reader) error {
	db, err := kv.Open(dir, tight())
	if err != nil {
		return err
	}
	told, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		close(told)
	}()
	go func() { stopped <- writeAll(db, told) }()
	waits := time.NewTicker(time.Millisecond)
	defer waits.Stop()
	for {
		select {
		case err := <-stopped:
			if err == nil {
				fmt.Println("closed", db.Close())
			}
			return err
		case <-waits.C:
		}
		select {
		case <-told:
			if db.WaitsForDisk() { // so does the writer, it may be
				fmt.Println("closed", db.Close())
				return nil
			}
		default:
		}
	}
}

func writeAll(db *kv.DB, told <-chan struct{}) error {
	rnd := rand.New(rand.NewPCG(3, 4))
	var all writes
	for n := 1; ; n++ {
		select {
		case <-told:
			return nil
		default:
		}
		err := db.Update(func(tx *kv.Tx) error { return tx.Set(key(n%someKeys), numbered(n)) })
		switch {
		case err == nil:
			all.wrote(n)
			fmt.Println("wrote", n)
		case !errors.Is(err, syscall.ENOSPC) || fault.KindOf(err) != fault.Unavailable:
			return fmt.Errorf("writing %d: %w", n, err)
		default:
			all.refused(n)
			fmt.Println("full", n)
		}
		if n%50 == 0 { // which writes, too
			err = db.Reclaim(context.Background())
		} else if n%125 == 0 {
			err = db.Rewrite(context.Background(), nil)
		}
		if err != nil && !errors.Is(err, syscall.ENOSPC) {
			return fmt.Errorf("after %d: %w", n, err)
		}
		if err := all.hold(db, rnd.IntN(someKeys)); err != nil {
			return err
		}
	}
}

// someKeys are written over and over, so that there is garbage.
const someKeys = 150

// writes says what the keys may hold: what was acknowledged last, or what was
// refused since, whose outcome is unknown.
type writes struct{ may [someKeys][]int }

func (w *writes) wrote(n int) { w.may[n%someKeys] = []int{n} }

func (w *writes) refused(n int) {
	k := n % someKeys
	if w.may[k] == nil {
		w.may[k] = []int{0} // is not there
	}
	w.may[k] = append(w.may[k], n)
}

// hold reads a key.
func (w *writes) hold(db *kv.DB, k int) error {
	return db.View(func(tx *kv.Tx) error {
		v, err := tx.Get(key(k))
		gone := fault.KindOf(err) == fault.NotFound
		for _, n := range w.may[k] {
			if n == 0 && gone || n > 0 && err == nil && string(v) == string(numbered(n)) {
				return nil
			}
		}
		if w.may[k] == nil && gone {
			return nil
		}
		return fmt.Errorf("key %d holds %d bytes, error %v; it may hold what %v wrote", k, len(v), err, w.may[k])
	})
}

// Another program may take the last byte of the disk at any moment: nothing ends
// the process, what was acknowledged stays readable, and is there when the
// database is opened again with room.
func TestDiskFillsAtAnyWrite(t *testing.T) {
	for _, kind := range kvtest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			rounds := 6
			if testing.Short() {
				rounds = 2
			}
			for seed := range rounds {
				fillAtAnyWrite(t, kvtest.NewDisk(t, kind, "96"), uint64(seed))
				if t.Failed() {
					return
				}
			}
		})
	}
}

func fillAtAnyWrite(t *testing.T, disk *kvtest.Disk, seed uint64) {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 7))
	dir := filepath.Join(disk.Dir, "db")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fullEnv+"="+dir)
	var errs strings.Builder
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	hangs := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer hangs.Stop()
	var all writes
	durable, full, closed := 0, 0, ""
	lines := make(chan string, 1<<16)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	note := func(line string) {
		what, says, _ := strings.Cut(line, " ")
		n, _ := strconv.Atoi(says)
		switch what {
		case "wrote":
			durable++
			all.wrote(n)
		case "full":
			full++
			all.refused(n)
		case "closed":
			closed = says
		}
	}
	read := func(patience time.Duration, more func() bool) {
		for more() {
			select {
			case line, ok := <-lines:
				if !ok {
					return
				}
				note(line)
			case <-time.After(patience):
				return
			}
		}
	}
	// The disk is filled and emptied some times while it writes, and is full in the end.
	for range 6 {
		wrote := durable + 20 + rnd.IntN(60)
		read(time.Hour, func() bool { return durable < wrote })
		if err := disk.Fill(int64(rnd.IntN(3)) * int64(rnd.IntN(2<<20))); err != nil {
			t.Fatal(err)
		}
		refused, most := full+20, durable+100 // or it waits for room, or finds some of its own
		read(time.Second, func() bool { return full < refused && durable < most })
		if err := disk.Empty(0); err != nil {
			t.Fatal(err)
		}
	}
	wrote := durable + 1 // it goes on when there is room
	read(time.Hour, func() bool { return durable < wrote })
	if err := disk.Fill(0); err != nil {
		t.Fatal(err)
	}
	in.Close()
	for line := range lines {
		note(line)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("seed %d: %d durable, %d refused, %v\n%s", seed, durable, full, err, errs.String())
	}
	t.Logf("seed %d: %d durable, %d refused, closed with %s", seed, durable, full, closed)
	if err := disk.Empty(0); err != nil {
		t.Fatal(err)
	}
	db := open(t, dir, tight())
	for k := range someKeys {
		if err := all.hold(db, k); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// A file with garbage is not deleted while the copies of its values are in a
// memtable without a log: a crash would leave neither.
func TestReclaimCopiesDurably(t *testing.T) {
	disk := kvtest.NewDisk(t, "tmpfs", "96")
	dir := filepath.Join(disk.Dir, "db")
	db := open(t, dir, tight())
	for n := range 40 { // a file has values of both kinds
		value := large(byte(n), 300<<10)
		if err := db.Update(func(tx *kv.Tx) error {
			return errors.Join(tx.Set(key(n), value), tx.Set([]byte("garbage"), value))
		}); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := db.ReclaimStep(context.Background(), 0.99, kv.SettleAll); err != nil { // counts the garbage
		t.Fatal(err)
	}
	if err := disk.Fill(0); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ { // until a memtable gets no log
		if n == 1<<20 {
			t.Fatal("the full disk refused nothing")
		}
		err := db.Update(func(tx *kv.Tx) error { return tx.Set(fmt.Appendf(nil, "small %d", n), large(byte(n), 900)) })
		if errors.Is(err, syscall.ENOSPC) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := disk.Empty(0); err != nil {
		t.Fatal(err)
	}
	moved, more, err := db.ReclaimStep(context.Background(), 0.01, kv.SettleNone)
	if err != nil || !more || moved == 0 {
		t.Fatalf("moved %d bytes, more %t, error %v; want a file with garbage", moved, more, err)
	}
	crashed := filepath.Join(t.TempDir(), "db")
	kvtest.ReadFiles(t, dir).Write(t, crashed)
	db = open(t, crashed, tight())
	if err := db.View(func(tx *kv.Tx) error {
		for n := range 40 {
			v, err := tx.Get(key(n))
			if err != nil || string(v) != string(large(byte(n), 300<<10)) {
				t.Errorf("%s: %d bytes, error %v", key(n), len(v), err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}
