package inbox

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/sealed"
	"github.com/percached/percached/internal/ingest"
)

func queuedRecord() *record {
	files := []file{{"a.txt", 3, strings.Repeat("01", 32)}, {"../ü", 0, strings.Repeat("02", 32)}}
	return &record{
		ID: strings.Repeat("0a", 16), Seq: 7, Space: "mail", Key: "k", State: Queued, Accepted: time.Unix(9, 0).UTC(),
		Digest: digestOf(files), Files: files, Count: 2, Bytes: 3,
	}
}

func endedRecord() *record {
	r := queuedRecord()
	r.Files, r.State, r.Ended, r.Error = nil, Failed, time.Unix(10, 0).UTC(), "it is wrong"
	r.Report = ingest.Report{Added: 1, Failed: 1, Failures: []ingest.Failure{{Name: "a.txt", Reason: "no"}}}
	return r
}

func stored(t testing.TB, key []byte, v any) []byte {
	t.Helper()
	c, err := put(key, v)
	if err != nil {
		t.Fatal(err)
	}
	return c.value
}

func TestRecord(t *testing.T) {
	for _, want := range []*record{queuedRecord(), endedRecord()} {
		key := keyOf(want.ID)
		b := stored(t, key, want)
		got, err := decodeRecord(key, b)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
		for i := range b {
			if _, err := decodeRecord(key, b[:i]); !errors.Is(err, sealed.ErrDamaged) {
				t.Errorf("cut at %d: %v", i, err)
			}
		}
		if _, err := decodeRecord(keyOf(strings.Repeat("b", 32)), stored(t, keyOf(strings.Repeat("b", 32)), want)); !errors.Is(err, sealed.ErrDamaged) {
			t.Error("the key of another upload:", err)
		}
	}
}

func TestRecordRefuses(t *testing.T) {
	for name, change := range map[string]func(r *record){
		"an odd ID":           func(r *record) { r.ID = "../" + r.ID[3:] },
		"no space":            func(r *record) { r.Space = "" },
		"a long key":          func(r *record) { r.Key = strings.Repeat("k", maxKey+1) },
		"no state":            func(r *record) { r.State = "" },
		"running":             func(r *record) { r.State = Running },
		"ended with files":    func(r *record) { r.State, r.Ended = Done, r.Accepted },
		"ended at no time":    func(r *record) { r.State, r.Files = Done, nil },
		"queued and ended":    func(r *record) { r.Ended = r.Accepted },
		"no files":            func(r *record) { r.Files, r.Count, r.Bytes = nil, 0, 0 },
		"one more file":       func(r *record) { r.Count++ },
		"a file below zero":   func(r *record) { r.Files[1].Size = -1; r.Bytes = 2 },
		"more than all bytes": func(r *record) { r.Files[0].Size = 4 },
		"fewer bytes":         func(r *record) { r.Files[0].Size = 2 },
		"sizes run over":      func(r *record) { r.Files[0].Size, r.Files[1].Size = 1<<62+3, 1<<62 },
		"another digest":      func(r *record) { r.Digest = r.Digest[1:] },
		"another sum":         func(r *record) { r.Files[0].Sum = strings.Repeat("03", 32) },
		"begun below zero":    func(r *record) { r.Begun = -1 },
		"far below zero":      func(r *record) { r.Far = -1 },
		"an odd name":         func(r *record) { r.Files[0].Name = "a\x00b"; r.Digest = digestOf(r.Files) },
		"no name":             func(r *record) { r.Files[0].Name = ""; r.Digest = digestOf(r.Files) },
	} {
		r := queuedRecord()
		change(r)
		if _, err := decodeRecord(keyOf(r.ID), stored(t, keyOf(r.ID), r)); !errors.Is(err, sealed.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// decodeFormer reads records with the right checksum, and no others.
func TestFormerRecord(t *testing.T) {
	b, err := encodeFormer("upload", queuedRecord())
	if err != nil {
		t.Fatal(err)
	}
	got := &record{}
	if err := decodeFormer("upload", b, got); err != nil || cmp.Diff(queuedRecord(), got) != "" {
		t.Error(err, got)
	}
	if err := decodeFormer("withheld", b, &withheldList{}); !errors.Is(err, errDamaged) {
		t.Error("one kind of file stands for another:", err)
	}
	for i := range b {
		flipped := bytes.Clone(b)
		flipped[i] ^= 1
		if err := decodeFormer("upload", flipped, &record{}); !errors.Is(err, errDamaged) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
		if err := decodeFormer("upload", b[:i], &record{}); !errors.Is(err, errDamaged) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	for name, want := range map[string]error{"0": errDamaged, "-1": errDamaged, "1": nil, "3": errNewer, "1073741824": errNewer} {
		version, _ := strconv.Atoi(name)
		if err := decodeFormer("upload", Former(version, "{}"), &record{}); !errors.Is(err, want) {
			t.Errorf("version %s: %v", name, err)
		}
	}
}

// A record that check accepts is complete, and decodes to the same after put.
func FuzzRecord(f *testing.F) {
	for _, r := range []*record{queuedRecord(), endedRecord()} {
		b, err := encodeFormer("upload", r)
		if err != nil {
			f.Fatal(err)
		}
		_, body, _ := bytes.Cut(b, []byte("\n"))
		f.Add(b)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &record{}
		if decodeFormer("upload", b, r) != nil && decodeFormer("upload", Former(1, string(b)), r) != nil || r.check() != nil {
			return
		}
		var size int64
		for _, f := range r.Files {
			size += f.Size
		}
		if !idForm.MatchString(r.ID) || r.State == Queued && size != r.Bytes {
			t.Errorf("%+v", r)
		}
		key := keyOf(r.ID)
		if again, err := decodeRecord(key, stored(t, key, r)); err != nil || cmp.Diff(r, again) != "" {
			t.Error(cmp.Diff(r, again), err)
		}
	})
}
