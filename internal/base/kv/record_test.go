package kv

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/kv/kvtest"
)

func TestRecord(t *testing.T) {
	for _, r := range []record{
		{State: stateOpen},
		{State: stateOpen, Commit: 812, Gap: true},
		{State: stateClosed, Commit: 812, Files: []fileRecord{{"MANIFEST", 86, 7}, {"000001.sst", 4096, 0}}},
	} {
		b, err := r.encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeRecord(b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(r, *got); d != "" {
			t.Error(d)
		}
		for at := range b {
			flipped := bytes.Clone(b)
			flipped[at] ^= 4
			if got, err := decodeRecord(flipped); err == nil && !cmp.Equal(r, *got) && r.State != stateOpen {
				t.Errorf("byte %d: %+v", at, got)
			}
		}
	}
}

// Of the two lines that are rewritten in turn, one that is torn does not count.
func TestRecordLines(t *testing.T) {
	dir := t.TempDir()
	j, err := startJournal(dir, 3, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []uint64{4, 6, 5, 9} {
		if err := j.committed(n); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.end(false); err != nil {
		t.Fatal(err)
	}
	b := kvtest.ReadFiles(t, dir)[recordName]
	for cut, want := range map[int]uint64{0: 9, 1: 9, slotSize + 1: 6} { // the newest line is the first: 4, 6, 9
		torn := bytes.Clone(b)
		if cut > 1 {
			copy(torn[len(torn)-2*slotSize:], "torn")
		} else if cut == 1 {
			copy(torn[len(torn)-slotSize:], "torn")
		}
		r, err := decodeRecord(torn)
		if err != nil || r.Commit != want || r.Gap {
			t.Errorf("%d: %+v, %v", cut, r, err)
		}
	}
}

func FuzzRecord(f *testing.F) {
	for _, r := range []record{{State: stateOpen, Commit: 5}, {State: stateClosed, Files: []fileRecord{{"MANIFEST", 86, 7}}}} {
		b, err := r.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err == nil && r.State != stateOpen && r.State != stateClosed {
			t.Errorf("%+v", r)
		}
	})
}

func FuzzLog(f *testing.F) {
	f.Add([]byte{0x40, 0, 12, 1, 0, 'k'})
	f.Fuzz(func(t *testing.T, b []byte) {
		n := 0
		_, err := readLog(append(make([]byte, logHeader), b...), nil, func(e *stored) error {
			e.pointer()
			n++
			return nil
		})
		if err != nil || n > len(b) {
			t.Errorf("%d entries, %v", n, err)
		}
	})
}
