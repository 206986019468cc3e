package api

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhole(t *testing.T) {
	type leaf struct {
		List []string `json:"list"`
	}
	type tree struct {
		Leaf   leaf            `json:"leaf"`
		Ptr    *leaf           `json:"ptr"`
		None   *leaf           `json:"none"`
		Leaves []leaf          `json:"leaves"`
		ByName map[string]leaf `json:"by_name"`
		Counts map[string]int  `json:"counts"`
		Raw    json.RawMessage `json:"raw"`
		Left   []string        `json:"left,omitempty"`
		hidden []string
	}
	const want = `{"leaf":{"list":[]},"ptr":{"list":[]},"none":null,"leaves":[{"list":[]}],"by_name":{"a":{"list":[]}},"counts":{},"raw":null}`
	in := tree{Ptr: &leaf{}, Leaves: []leaf{{}}, ByName: map[string]leaf{"a": {}}}
	before, _ := json.Marshal(in)
	got, err := json.Marshal(whole(in))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if after, _ := json.Marshal(in); string(after) != string(before) {
		t.Errorf("the value itself was changed: %s", after)
	}
	if whole(nil) != nil || in.hidden != nil {
		t.Error("nothing became something")
	}
}
