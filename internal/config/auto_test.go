package config

import "testing"

// A number that percached chooses is written auto, and zero and negative numbers are not auto.
func TestAuto(t *testing.T) {
	c := DaemonDefault()
	k, _ := KeyOf("tensor-limit")
	v := k.Of(&c)
	if got := v.Get(); got != "auto" || c.TensorLimit != Auto {
		t.Fatalf("the default is %s", got)
	}
	for text, want := range map[string]int64{"0": 0, "-1": -1, "2GiB": 2 << 30, "auto": Auto} {
		if err := v.Set(text); err != nil || c.TensorLimit != want {
			t.Errorf("%s: %d, %v; want %d", text, c.TensorLimit, err, want)
		}
	}
	for text, wrong := range map[string]bool{"0": true, "-5": true, "512": false, "auto": false} {
		c := DaemonDefault()
		k, _ := KeyOf("context")
		if err := k.Of(&c).Set(text); err != nil {
			t.Fatal(err)
		}
		if got := c.Validate() != nil; got != wrong {
			t.Errorf("context %s: refused %v, want %v", text, got, wrong)
		}
	}
}
