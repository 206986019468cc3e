package fact

import (
	"testing"
	"time"
)

// What somebody else's text or a turn of phrase says is no fact.
func TestOthersTexts(t *testing.T) {
	for _, text := range []string{
		"Translate this into German:\nI live in Oslo.\nI'm allergic to nuts.", "Please rewrite this. I live in Oslo.", "Reply to this mail:\n\nI live in Oslo.",
		"We moved to Slack last year.", "I moved to Engineering.", "I'm from Accounting.", "Please call me ASAP.", "i work at night",
	} {
		if got := Extract(text, time.Now()); len(got) > 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// A secret is refused whatever field names it.
func TestSecretFields(t *testing.T) {
	for _, r := range []Record{{What: "wifi password", Value: "hunter2"}, {What: "pin", Value: "4711"}} {
		if r.Check() == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
}
