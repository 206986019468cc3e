package backend

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/scheduler"
)

// keepersIn are letters that name the keepers of lighthouses.
func keepersIn(_ context.Context, emit func(*knowledgebank.Source) error, _ func(string, error)) error {
	for i := range 40 {
		text := fmt.Sprintf("The lighthouse on island number%c%c has since last winter been kept by Keeper%c%c alone.", 'a'+i/26, 'a'+i%26, 'a'+i/26, 'a'+i%26)
		if err := emit(&knowledgebank.Source{Key: fmt.Sprint(i), Title: fmt.Sprint(i), Source: "mail", Format: "text", Blocks: []knowledgebank.Block{{Text: text}}}); err != nil {
			return err
		}
	}
	return nil
}

// The measurement of a model decides the placement, and the status shows it. A discarded
// measurement is repeated. A configured placement does not change.
func TestPlacements(t *testing.T) {
	for configured, from := range map[string]string{"": "measured", "sequential": "configuration"} {
		t.Run(from, func(t *testing.T) {
			c := node.Default()
			c.Data, c.Create, c.Volatile, c.Now, c.Model, c.Placement = t.TempDir(), true, true, time.Now, "a model.gguf", configured
			o := llmtest.DefaultOptions()
			o.Script = func(_ percached.Prompt, question string) (string, bool) {
				_, rest, _ := strings.Cut(question, "number")
				return "Keeper" + rest[:min(2, len(rest))], true
			}
			engine, embedder := llmtest.NewFake(o), llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
			c.Engine, c.Embedder = engine, embedder
			s := nodetest.Open(t, c)
			t.Cleanup(func() {
				if err := errors.Join(s.Close(), engine.Close(), embedder.Close()); err != nil {
					t.Error(err)
				}
			})
			if _, err := s.Library.Add(t.Context(), nodetest.Space, keepersIn, nil); err != nil {
				t.Fatal(err)
			}
			f := &Backend{Node: s}
			look := func() api.StatusPlacement {
				t.Helper()
				all, err := f.listPlacements()
				if err != nil || len(all) != 1 || all[0].Kind != "emails" || all[0].Why == "" {
					t.Fatalf("%+v, %v", all, err)
				}
				return all[0]
			}
			before := look()
			drained := given[api.Drained](t)(f.drain(t.Context(), api.DrainRequest{Kinds: api.Given(scheduler.Calibrate)}))
			after := look()
			if after.From != from {
				t.Errorf("from %s: %s", after.From, after.Why)
			}
			if configured != "" {
				if drained.Work.Done != 0 || !reflect.DeepEqual(after, before) || after.Placement != percached.Sequential {
					t.Errorf("%+v was done, and %+v became %+v", drained.Work, before, after)
				}
				return
			}
			if before.From != "default" || before.Placement != percached.Sequential || before.Questions != 0 {
				t.Errorf("before: %+v", before)
			}
			if after.Placement != percached.Parallel || after.Questions != 24 || after.F1Parallel < 0.7 || after.F1Sequential != after.F1Parallel || after.Decided.IsZero() {
				t.Errorf("after: %+v", after)
			}
			if _, err := f.forgetPlacements(t.Context(), api.Nothing{}); err != nil {
				t.Fatal(err)
			}
			if again := look(); !reflect.DeepEqual(again, before) {
				t.Errorf("what is forgotten is known: %+v", again)
			}
			if d := given[api.Drained](t)(f.drain(t.Context(), api.DrainRequest{Kinds: api.Given(scheduler.Calibrate)})); d.Work.Done != 24 {
				t.Errorf("%+v", d)
			}
			_, err := f.drain(t.Context(), api.DrainRequest{Kinds: "calibration"})
			wantFault(t, "a kind that there is not", err, fault.Invalid, "query:kind")
		})
	}
}
