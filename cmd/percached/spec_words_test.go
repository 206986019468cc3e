package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/knowledgebank"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/qabank/gate"
	"github.com/percached/percached/scheduler"
)

// The enumerations in openapi.yaml are those of the packages.
func TestSpecKnowsTheWords(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromData(percached.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	var stages []string
	for _, s := range (&answer.Times{}).Stages() {
		stages = append(stages, s.Name+"_ms")
	}
	for at, want := range map[string][]string{
		"SpaceKind":        knowledgebank.Kinds(),
		"Outcome":          wordsOf(answer.AnswerHit, answer.VerifiedHit, answer.TensorHit, answer.Miss),
		"DraftUse.source":  wordsOf(percached.DraftStored, percached.DraftNear, percached.DraftPrompt),
		"GateTestName":     append(gateTests(t), "fresh", "likeness"), // which internal/answer adds
		"GateReport.state": wordsOf(gate.Proven, gate.Calibrated, gate.Learnt, gate.Shut),
		"JobKind":          wordsOf(scheduler.Kinds()...),
		"IdleState":        wordsOf(scheduler.Working, scheduler.Idle, scheduler.Waiting, scheduler.Paused),
		"Pace.speed":       wordsOf(scheduler.PaceFull, scheduler.PaceSlow, scheduler.PaceStopped),
		"Prediction.from":  wordsOf(predictor.Knowledge, predictor.History),
		"Ready.stage":      {daemon.StageOpening, daemon.StageLoading, daemon.StageReady, daemon.StageRestoring, daemon.StageClosing},
		"ReasonCode": {
			scheduler.ReasonForeground, scheduler.ReasonRecent, scheduler.ReasonWindow, scheduler.ReasonBudget, scheduler.ReasonBattery,
			scheduler.ReasonHot, scheduler.ReasonDeviceStale, scheduler.ReasonMemory, scheduler.ReasonPaused, scheduler.ReasonNothing, scheduler.ReasonNotYet, scheduler.ReasonNoPay,
			scheduler.ReasonBound,
		},
	} {
		name, member, _ := strings.Cut(at, ".")
		schema := doc.Components.Schemas[name].Value
		if member != "" {
			schema = schema.Properties[member].Value
		}
		var got []string
		for _, word := range schema.Enum {
			got = append(got, word.(string))
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-code +openapi.yaml):\n%s", at, diff)
		}
	}
	for _, s := range stages {
		if about := doc.Components.Schemas["Times"].Value.Description; !strings.Contains(about, "`"+s+"`") {
			t.Errorf("openapi.yaml says nothing of the stage %s", s)
		}
	}
}

func wordsOf[S ~string](words ...S) []string {
	var out []string
	for _, w := range words {
		out = append(out, string(w))
	}
	return out
}
