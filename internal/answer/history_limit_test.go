package answer_test

import (
	"fmt"
	"testing"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/kv"
)

// A lower limit holds from the next record on, or at once with Trim, even if more records
// are beyond it than one transaction removes. The latest stay.
func TestHistoryLimitFalls(t *testing.T) {
	const before, after = 40_000, 1000
	db := open(t, t.TempDir(), kv.Default())
	h, err := answer.OpenHistory(db, before)
	if err != nil {
		t.Fatal(err)
	}
	for space, n := range map[string]int{"a": before, "b": 3 * after} {
		for i := range n {
			if err := h.Add(space, answer.Record{Question: fmt.Sprint("q", i)}, i == n-1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if h, err = answer.OpenHistory(db, after); err != nil {
		t.Fatal(err)
	}
	if err := h.Add("a", answer.Record{Question: fmt.Sprint("q", before)}, true); err != nil {
		t.Fatal(err)
	}
	if err := h.Trim("b"); err != nil {
		t.Fatal(err)
	}
	if h, err = answer.OpenHistory(db, before); err != nil { // as after a crash
		t.Fatal(err)
	}
	for space, last := range map[string]int{"a": before, "b": 3*after - 1} {
		left, err := h.Recent(space, before)
		if err != nil || len(left) != after || left[0].Question != fmt.Sprint("q", last-after+1) || left[after-1].Question != fmt.Sprint("q", last) {
			t.Errorf("%s: %d records are left, %v", space, len(left), err)
		}
	}
}
