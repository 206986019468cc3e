package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/percached/percached/internal/commands"
)

// Each round of eval load is what it is called, and every client gets answers.
func TestEvalLoad(t *testing.T) {
	var out, errs bytes.Buffer
	args := []string{"load", "--clients", "4", "--documents", "12", "--questions", "6", "--seconds", "1", "--json"}
	if err := run(context.Background(), args, strings.NewReader(""), &out, &errs); err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	var r loadReport
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Rounds) != 3 {
		t.Fatalf("%+v", r)
	}
	for i, outcome := range []string{"answer_hit", "answer_hit", "miss"} {
		l := r.Rounds[i]
		if l.Failed != 0 || l.Answers == 0 || l.Outcomes[outcome]*2 < l.Answers || l.P50 <= 0 || l.P99 < l.P50 {
			t.Errorf("%+v", l)
		}
	}
	for _, wrong := range [][]string{{"--clients", "0"}, {"--questions", "9", "--documents", "3"}, {"--seconds", "-1"}} {
		err := run(context.Background(), append([]string{"load"}, wrong...), strings.NewReader(""), &out, &errs)
		if !commands.Misused(err) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
