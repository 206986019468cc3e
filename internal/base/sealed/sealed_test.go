package sealed_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/sealed"
)

var key = []byte("under this")

// fields has one field of each type.
type fields struct {
	B byte
	U uint64
	I int64
	F float64
	S string
	T time.Time
	Z time.Time
}

func write(f fields) []byte {
	w := sealed.NewWriter(2, key)
	w.Byte(f.B)
	w.U64(f.U)
	w.Int(f.I)
	w.Float(f.F)
	w.Text(f.S)
	w.Time(f.T)
	w.Time(f.Z)
	return w.Seal()
}

func read(k, value []byte, first, latest byte) (f fields, err error) {
	r, err := sealed.NewReader(k, value, first, latest)
	if err != nil {
		return f, err
	}
	f = fields{B: r.Byte(), U: r.U64(), I: r.Int(), F: r.Float(), S: r.Text(100), T: r.Time(), Z: r.Time()}
	return f, r.End("fields")
}

func TestSealed(t *testing.T) {
	want := fields{7, 1 << 63, 9, 0.25, "ünder", time.Unix(3, 4).UTC(), time.Time{}}
	value := write(want)
	got, err := read(key, value, 1, 2)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for i := range value {
		flipped := append([]byte{}, value...)
		flipped[i] ^= 0x41
		if _, err := read(key, flipped, 1, 2); !errors.Is(err, sealed.ErrDamaged) {
			t.Errorf("byte %d flipped: %v", i, err)
		}
		if _, err := read(key, value[:i], 1, 2); !errors.Is(err, sealed.ErrDamaged) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	for name, err := range map[string]error{
		"another key": second(read([]byte("under that"), value, 1, 2)),
		"too old":     second(read(key, value, 3, 3)),
		"below zero":  second(read(key, write(fields{I: -1}), 1, 2)),
		"infinite":    second(read(key, write(fields{F: math.Inf(1)}), 1, 2)),
		"long text":   second(read(key, write(fields{S: string(make([]byte, 101))}), 1, 2)),
	} {
		if !errors.Is(err, sealed.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := read(key, value, 1, 1); fault.KindOf(err) != fault.Unsupported {
		t.Errorf("a later version: %v", err)
	}
}

func second(_ fields, err error) error { return err }

// No input makes the reader allocate more than its length.
func FuzzReader(f *testing.F) {
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, 16)
	f.Fuzz(func(t *testing.T, b []byte, size int) {
		w := sealed.NewWriter(1, nil)
		w.Raw(b)
		r, err := sealed.NewReader(nil, w.Seal(), 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		size = 1 + size&0xff
		if n := r.Count(1<<30, size); n*size > len(b) {
			t.Errorf("%d pieces of %d bytes in %d", n, size, len(b))
		}
		r.Flag()
		r.Text(len(b))
		if r.Take(len(b)+1) != nil || r.End("it") == nil {
			t.Error("it was read beyond its end")
		}
	})
}
