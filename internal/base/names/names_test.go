package names

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIn(t *testing.T) {
	for text, want := range map[string][]string{
		"Who is Ana Ruiz?": {"Ana Ruiz"},
		"Heron costs 46 thousand.\nWe met Tom Okafor and Maria, in Leeds.":               {"Tom Okafor", "Maria", "Leeds"},
		"Dear Ana, please call Ina Rangel (Enron) or Bo-Peter O'Neil. Thanks! Bob's car": {"Ana", "Ina Rangel", "Enron", "Bo-Peter O'Neil"},
		"From: Scott Hendrickson\nTo: \"Geoff Storey\" <geoff@x.org>":                    {"Scott Hendrickson", "Geoff Storey"},
		"Die Besprechung mit Jürgen Öztürk war gut.":                                     {"Die Besprechung", "Jürgen Öztürk"},
		"What did A. do in ONE TWO THREE FOUR FIVE?":                                     nil,
		"The Heron budget, the Heron plan. Kite":                                         {"Heron"},
		"":                                                                               nil,
		"Do you think I'd go? I’m Ana Ruiz. It's We'll Smith":                            {"Ana Ruiz", "Smith"},
	} {
		if d := cmp.Diff(want, In(text, text[:min(len(text), 2)] == "Wh")); d != "" {
			t.Errorf("%q: %s", text, d)
		}
	}
}
