package llamacpp

import (
	"testing"
	"time"
)

func TestLoad(t *testing.T) {
	const stat = "cpu  100 2 30 5000 7 1 4 5 0 0\ncpu0 50 1 15 2500 3 0 2 2 0 0\ncpu1 50 1 15 2500 4 1 2 3 0 0\nintr 99 1 2\nctxt 5\n"
	for nice, want := range map[bool]load{false: {processors: 2, runnable: 3, busy: 140 * tick}, true: {processors: 2, runnable: 3, busy: 142 * tick}} {
		var l load
		if !l.read([]byte(stat), []byte("0.31 0.42 0.40 3/411 2077\n"), nice, nil) || l != want {
			t.Errorf("%+v, want %+v", l, want)
		}
	}
	var l load
	if !l.read([]byte(stat), []byte("0.31 0.42 0.40 3/411 2077\n"), false, []int{1}) || l != (load{processors: 1, runnable: 3, busy: 71 * tick}) {
		t.Errorf("one processor: %+v", l)
	}
	for _, bad := range [][2]string{{"", "1 1 1 1/2 3"}, {stat, ""}, {stat, "1 1 1 x/2 3"}, {"cpu a b c d e f g h\n", "1 1 1 1/2 3"}} {
		if (&load{}).read([]byte(bad[0]), []byte(bad[1]), false, nil) {
			t.Errorf("%q was read", bad)
		}
	}
	before, ok := lookAtLoad(nil)
	if !ok || before.processors < 1 { // sandboxes count nothing else
		t.Fatalf("%+v, %v", before, ok)
	}
	for own := before.own; own < before.own+2*time.Millisecond; { // until something was done
		l, _ := lookAtLoad(nil)
		own = l.own
	}
}
