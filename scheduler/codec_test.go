package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

// samples returns a record of each type with its decoder, which encodes the result again.
func samples(key []byte) map[string]struct {
	value []byte
	again func(value []byte) ([]byte, error)
} {
	type codec = struct {
		value []byte
		again func(value []byte) ([]byte, error)
	}
	j := Job{Kind: Predict, Subject: "sub\x00ject", Added: noon(), From: noon().Add(1), Attempts: 3, Parked: true, Reason: "timeout"}
	p := &ledgerDay{}
	for i := range p {
		for k, x := range p[i].numbers() {
			*x = int64(i*100 + k)
		}
		p[i].joules = float64(i) / 3
	}
	u := usage{start: noon(), compute: time.Minute, questions: 3, written: 4, asked: map[kv.SpaceID][2]int{{1}: {2, 3}}}
	return map[string]codec{
		"space": {encodeBook(key, &spaceState{name: "mail", served: 7}), func(value []byte) ([]byte, error) {
			name, served, err := decodeBook(key, value)
			return encodeBook(key, &spaceState{name: name, served: served}), err
		}},
		"job": {encodeJob(key, j), func(value []byte) ([]byte, error) {
			j, err := decodeJob(key, value)
			return encodeJob(key, j), err
		}},
		"page": {encodePage(key, p), func(value []byte) ([]byte, error) {
			p, err := decodePage(key, value)
			if err != nil {
				return nil, err
			}
			return encodePage(key, p), err
		}},
		"credit": {encodeCredit(key, &credit{kind: Warm, saves: time.Second}), func(value []byte) ([]byte, error) {
			c, err := decodeCredit(key, value)
			if err != nil {
				return nil, err
			}
			return encodeCredit(key, c), err
		}},
		"usage": {encodeUsage(key, &u), func(value []byte) ([]byte, error) {
			u, err := decodeUsage(key, value)
			return encodeUsage(key, &u), err
		}},
	}
}

// Every record decodes to what was encoded. Every flipped or missing byte is detected,
// and so is a record under another key.
func TestCodec(t *testing.T) {
	key := []byte("Sx1")
	for name, r := range samples(key) {
		again, err := r.again(r.value)
		if d := cmp.Diff(r.value, again); d != "" || err != nil {
			t.Errorf("%s: %s, %v", name, d, err)
		}
		for i := range r.value {
			flipped := append([]byte{}, r.value...)
			flipped[i] ^= 0x41
			if _, err := r.again(flipped); err == nil {
				t.Errorf("%s: byte %d flipped, no error", name, i)
			}
			if _, err := r.again(r.value[:i]); err == nil {
				t.Errorf("%s: cut at %d, no error", name, i)
			}
		}
		if _, err := r.again(samples([]byte("Sx2"))[name].value); err == nil {
			t.Errorf("%s: under another key, no error", name)
		}
		later := sealedAs(key, r.value[1:len(r.value)-4], pageVersion+1)
		if _, err := r.again(later); fault.KindOf(err) != fault.Unsupported {
			t.Errorf("%s: a later version: %v", name, err)
		}
	}
}

// sealedAs adds a version and a valid checksum, so that the decoders read what is
// between.
func sealedAs(key, b []byte, version byte) []byte {
	w := sealed.NewWriter(version, key)
	w.Raw(b)
	return w.Seal()
}

// Decoders refuse a record or return a value that encodes and decodes again.
func FuzzDecode(f *testing.F) {
	key := []byte("Sx1")
	for _, r := range samples(key) {
		f.Add(r.value[1 : len(r.value)-4])
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		for name, r := range samples(key) {
			once, err := r.again(sealedAs(key, b, formatVersion))
			if err != nil {
				continue
			}
			if twice, err := r.again(once); err != nil || len(once) != len(twice) || name != "usage" && string(once) != string(twice) {
				t.Errorf("%s: %x is read back as %x, %v", name, once, twice, err)
			}
		}
	})
}

// A job's ID depends only on its kind, space and subject.
func TestID(t *testing.T) {
	seen := map[string]string{}
	for _, j := range []Job{
		{Kind: Answer, Space: "a", Subject: "b"},
		{Kind: Answer, Space: "ab"},
		{Kind: Answer, Subject: "ab"},
		{Kind: Refresh, Space: "a", Subject: "b"},
		{Kind: Answer, Space: "b", Subject: "a"},
	} {
		name := fmt.Sprintf("%+v", j)
		if other := seen[j.ID()]; other != "" {
			t.Errorf("%s and %s have the same ID", name, other)
		}
		seen[j.ID()] = name
		k := j
		k.Added, k.Attempts, k.Parked = noon(), 3, true
		if k.ID() != j.ID() {
			t.Errorf("%s: another ID when parked", name)
		}
	}
}

// Every kind has a rank; Predicts names the kinds whose costs must pay.
func TestKinds(t *testing.T) {
	var predicts []Kind
	for i, k := range Kinds() {
		if k.rank() != i {
			t.Errorf("%s has rank %d", k, k.rank())
		}
		if k.Predicts() {
			predicts = append(predicts, k)
		}
	}
	if d := cmp.Diff([]Kind{Abstract, Predict, History, Populate}, predicts); d != "" {
		t.Error(d)
	}
	if Kind("other").rank() >= 0 {
		t.Error("a place for what is no kind")
	}
}
