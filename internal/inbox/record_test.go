package inbox

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/ingest"
)

func queuedRecord() *record {
	files := []file{{"a.txt", 3, digest{1}}, {"../ü", 0, digest{2}}}
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

func sealed(t testing.TB, what string, v any) []byte {
	t.Helper()
	b, err := seal(what, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRecord(t *testing.T) {
	for _, want := range []*record{queuedRecord(), endedRecord()} {
		b := sealed(t, "upload", want)
		got, err := decodeRecord(b)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Error(d, err)
		}
		for i := range b {
			flipped := bytes.Clone(b)
			flipped[i] ^= 1
			if _, err := decodeRecord(flipped); !errors.Is(err, errDamaged) {
				t.Errorf("byte %d flipped: %v", i, err)
			}
			if _, err := decodeRecord(b[:i]); !errors.Is(err, errDamaged) {
				t.Errorf("cut at %d: %v", i, err)
			}
		}
		if _, err := decodeWithheld(b); !errors.Is(err, errDamaged) {
			t.Error("one kind of file stands for another:", err)
		}
	}
	held := []withheld{{"mail", percached.NewDocumentID("x"), 9}}
	if got, err := decodeWithheld(sealed(t, "withheld", withheldFile{held})); err != nil || cmp.Diff(held, got) != "" {
		t.Error(got, err)
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
		"another digest":      func(r *record) { r.Digest[0]++ },
		"another sum":         func(r *record) { r.Files[0].Sum[0]++ },
		"begun below zero":    func(r *record) { r.Begun = -1 },
		"far below zero":      func(r *record) { r.Far = -1 },
		"an odd name":         func(r *record) { r.Files[0].Name = "a\x00b"; r.Digest = digestOf(r.Files) },
		"no name":             func(r *record) { r.Files[0].Name = ""; r.Digest = digestOf(r.Files) },
	} {
		r := queuedRecord()
		change(r)
		if _, err := decodeRecord(sealed(t, "upload", r)); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"newer": Sealed(version+1, "{}"), "much newer": Sealed(1<<30, ""),
	} {
		if _, err := decodeRecord(b); !errors.Is(err, errNewer) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, b := range map[string][]byte{
		"version 0": Sealed(0, "{}"), "below": Sealed(-1, "{}"), "empty": Sealed(1, ""), "null": Sealed(1, "null"), "a list": Sealed(1, "[]"),
		"two values": Sealed(1, "{}{}"), "another field": Sealed(1, `{"x": 1}`),
	} {
		if _, err := decodeRecord(b); !errors.Is(err, errDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Whatever is read breaks nothing; what is taken is whole and reads back the same.
func FuzzRecord(f *testing.F) {
	for _, r := range []*record{queuedRecord(), endedRecord()} {
		b := sealed(f, "upload", r)
		f.Add(b)
		_, body, _ := bytes.Cut(b, []byte("\n"))
		f.Add(body)
	}
	f.Add(Sealed(version+1, "{}"))
	f.Add(sealed(f, "withheld", withheldFile{[]withheld{{"mail", percached.NewDocumentID("x"), 9}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, b := range [][]byte{b, Sealed(1, string(b))} { // as it is, and with its checksum right
			if held, err := decodeWithheld(b); err == nil {
				if again, err := decodeWithheld(sealed(t, "withheld", withheldFile{held})); err != nil || cmp.Diff(held, again) != "" {
					t.Error(again, err)
				}
			}
			r, err := decodeRecord(b)
			if err != nil {
				continue
			}
			var size int64
			for _, f := range r.Files {
				size += f.Size
			}
			if !idForm.MatchString(r.ID) || r.State == Queued && size != r.Bytes {
				t.Errorf("%+v", r)
			}
			if again, err := decodeRecord(sealed(t, "upload", r)); err != nil || cmp.Diff(r, again) != "" {
				t.Error(cmp.Diff(r, again), err)
			}
		}
	})
}
