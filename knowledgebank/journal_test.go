package knowledgebank

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// huge is a document too large for a transaction of a small database, and whose chunks
// fill pages.
func huge(key string) *Source { return long(key, 1, 85_000) }

func TestHugeDocument(t *testing.T) {
	b, db := newBank(t)
	b.o.ChunkWords = 40
	stop, watched := make(chan struct{}), make(chan int)
	go func() { // nobody sees part of it
		looks := 0
		for ; ; looks++ {
			select {
			case <-stop:
				watched <- looks
				return
			default:
			}
			live := 0
			_, upto, err := b.Changes("home", 0, func(percached.Chunk) error { live++; return nil })
			if err != nil || (upto%2 == 1) != (live > 2*pageIDs) || upto%2 == 0 && live > 0 {
				t.Errorf("at %d there are %d chunks, %v", upto, live, err)
			}
		}
	}()
	s := huge("a")
	c := add(t, b, "home", s)
	if len(c.New) <= 2*pageIDs {
		t.Fatal(len(c.New), "chunks fill no pages")
	}
	if _, err := b.Delete(context.Background(), "home", c.Document); err != nil {
		t.Error(err)
	}
	verify(t, b, "home")
	add(t, b, "home", s)
	close(stop)
	if <-watched == 0 {
		t.Error("nobody looked")
	}
	verify(t, b, "home")
	b = openBank(t, db)
	b.o.ChunkWords = 40
	if c = add(t, b, "home", s); c.State != Unchanged {
		t.Error(c.State)
	}
	s.Blocks = s.Blocks[:len(s.Blocks)/3] // pages are deleted
	add(t, b, "home", s)
	verify(t, b, "home")
	b.o.ChunkWords = 20
	s.Blocks = blocks(prose(2, 20*maxChunks*11/10, 6))
	_, err := b.Add(context.Background(), "home", s)
	wantKind(t, fault.Invalid, err)
}

// planned returns the writes that would add a document.
func planned(t *testing.T, b *Bank, s *Source) (*space, []write) {
	t.Helper()
	it, err := b.prepare(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	sp, r, err := b.find("planned", "home")
	if err != nil {
		t.Fatal(err)
	}
	var writes []write
	if err := b.db.View(func(tx *kv.Tx) error {
		d := newDraft(sp.id, tx, r)
		_, err := d.put(t.Context(), it.document, it.chunks)
		writes = d.all()
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return sp, writes
}

func TestCrashInJournal(t *testing.T) {
	for _, c := range []struct {
		name    string
		mark    bool // it was complete
		applied float64
		damage  bool
	}{
		{name: "before the mark"},
		{name: "behind the mark", mark: true},
		{name: "half written", mark: true, applied: 0.5},
		{name: "before the mark goes", mark: true, applied: 1},
		{name: "damaged", mark: true, damage: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, db := newBank(t)
			create(t, b, "other")
			add(t, b, "home", note("kept", "This is kept."))
			sp, writes := planned(t, b, long("a", 1, 20_000))
			rows, err := b.writeJournal(t.Context(), sp, writes)
			if err != nil || rows < 3 {
				t.Fatal(rows, err)
			}
			bulk := db.Bulk()
			var errs []error
			if key := sp.id.key(markType); c.mark {
				errs = append(errs, bulk.Set(key, seal(key, binary.AppendUvarint(nil, uint64(rows)))))
			}
			for _, w := range writes[:int(c.applied*float64(len(writes)))] {
				errs = append(errs, apply(bulk, w))
			}
			if c.damage {
				errs = append(errs, bulk.Set(sp.id.journal(1), []byte("nonsense")))
			}
			if err := errors.Join(append(errs, bulk.Flush())...); err != nil {
				t.Fatal(err)
			}
			b = openBank(t, db)
			verify(t, b, "other")
			if c.damage {
				_, err := b.Document("home", percached.NewDocumentID("kept"))
				wantKind(t, fault.Internal, err)
				_, err = b.Add(context.Background(), "home", note("b", "Two."))
				wantKind(t, fault.Internal, err)
				if _, _, err := b.DeleteSpace("home"); err != nil {
					t.Error(err)
				}
				create(t, b, "home")
			}
			verify(t, b, "home")
			_, err = b.Document("home", percached.NewDocumentID("a"))
			if there := err == nil; there != (c.mark && !c.damage) {
				t.Error(err)
			}
			add(t, openBank(t, db), "home", long("a", 2, 30_000))
		})
	}
}

// Rows of a journal that could not be removed, as on a full disk, do not prevent
// reading. The next writer removes them.
func TestLitter(t *testing.T) {
	b, db := newBank(t)
	c := add(t, b, "home", note("kept", "This is kept."))
	sp, writes := planned(t, b, long("a", 1, 20_000))
	if _, err := b.writeJournal(t.Context(), sp, writes); err != nil {
		t.Fatal(err)
	}
	rows := func() (n int) {
		if err := db.View(func(tx *kv.Tx) error {
			return tx.Keys(sp.id.key(journalType), func([]byte, int64) error { n++; return nil })
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if rows() == 0 {
		t.Fatal("there is no journal")
	}
	sp.staleRows = true
	sp.writing.Lock() // anybody who wanted to remove them would wait for this
	if _, err := b.Document("home", c.Document); err != nil {
		t.Error(err)
	}
	sp.writing.Unlock()
	add(t, b, "home", note("next", "This is next."))
	if n := rows(); n > 0 || sp.staleRows {
		t.Errorf("%d rows are left behind the next writer", n)
	}
	verify(t, b, "home")
}

const (
	victimDir  = "KNOWLEDGEBANK_VICTIM"
	victimDocs = 40
)

// victimDoc is the i-th document that the process adds. Each replaces an earlier one,
// and some are long.
func victimDoc(i int) *Source {
	if i%4 == 3 {
		return long(fmt.Sprint("k", i%5), uint64(i), 40_000)
	}
	return long(fmt.Sprint("k", i%5), uint64(i), 300)
}

// TestVictim is the process that TestKill ends.
func TestVictim(t *testing.T) {
	dir := os.Getenv(victimDir)
	if dir == "" {
		t.Skip("it is for TestKill")
	}
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree, o.Sync = 4<<20, 1<<20, 0, true
	db, err := kv.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	b := openBank(t, db)
	create(t, b, "home")
	for i := range victimDocs {
		c := add(t, b, "home", victimDoc(i))
		fmt.Printf("\nacknowledged %d %d\n", i, c.Seq)
	}
}

func TestKill(t *testing.T) {
	for _, acknowledged := range []int{1, 3, 6, 7, 12, 19} {
		dir := t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$", "-test.v")
		cmd.Env = append(os.Environ(), victimDir+"="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		last := -1
		var seq uint64
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var i int
			var s uint64
			if n, _ := fmt.Sscanf(lines.Text(), "acknowledged %d %d", &i, &s); n == 2 {
				last, seq = i, s
			}
			if last+1 == acknowledged {
				cmd.Process.Kill() // it is adding the next one
			}
		}
		cmd.Wait()
		if last+1 < acknowledged {
			t.Fatal("the process ended by itself behind", last)
		}
		db := openDB(t, dir)
		b := openBank(t, db)
		verify(t, b, "home")
		got, err := b.Seq("home")
		if err != nil || got < seq {
			t.Errorf("%d changes were acknowledged, %d are there, %v", seq, got, err)
		}
		// The space holds whole documents: those of some number of additions.
		clean, _ := newBank(t)
		for i := range int(got) {
			add(t, clean, "home", victimDoc(i))
		}
		if want, have := contents(t, clean), contents(t, b); want != have {
			t.Errorf("behind %d changes the contents differ", got)
		}
		db.Close()
	}
}

// contents is all text of a space.
func contents(t *testing.T, b *Bank) string {
	t.Helper()
	var out strings.Builder
	if _, _, err := b.Changes("home", 0, func(c percached.Chunk) error {
		fmt.Fprintln(&out, c.Version, c.Rendered())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
