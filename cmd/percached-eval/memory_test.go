package main

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/cmdline"
)

// The memory falls in steps that the margin holds, so that a process can give it back in time,
// and is plentiful long enough for all to come back.
func TestMemoryLimits(t *testing.T) {
	o := &scarcity{most: 1600, least: 400}
	at := o.limits()
	for i, mib := range at[1:] {
		if at[i]-mib > 128 {
			t.Errorf("reading %d: the memory falls by %d MiB", i+1, at[i]-mib)
		}
	}
	if slices.Min(at) != o.least || at[0] != o.most || at[len(at)-24] != o.most {
		t.Error(at)
	}
}

func TestMemoryMisused(t *testing.T) {
	for _, args := range [][]string{{"--most", "1", "--least", "2"}, {"--least", "0"}} {
		err := run(t.Context(), append([]string{"bench", "memory"}, args...), strings.NewReader(""), io.Discard, io.Discard)
		if _, ok := errors.AsType[cmdline.Misuse](err); !ok {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func TestMemoryTable(t *testing.T) {
	r := &memoryReport{Model: "Small", Readings: "made", Same: 2, Asked: 2, Points: []memoryPoint{{Minutes: 1, Slices: 5 << 20, Why: "memory is not scarce"}}}
	var out bytes.Buffer
	if err := r.Table(&out); err != nil || !strings.Contains(out.String(), "2 of 2 answers") || !strings.Contains(out.String(), "memory is not scarce") {
		t.Error(err, out.String())
	}
}
