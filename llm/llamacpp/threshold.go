package llamacpp

import (
	"context"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

// probes have nothing to do with each other. How alike an encoder finds them all the
// same shows its scale: 0.13 with all-MiniLM-L6-v2, 0.76 with e5-small-v2.
func probes() []string {
	return []string{
		"When does the train to Porto leave?",
		"Who pays for the new windows?",
		"What did the dentist say about the tooth?",
		"How many chairs were ordered for the hall?",
		"Where is the key to the garage?",
		"Why was the concert moved to May?",
		"Which recipe needs two eggs?",
		"What is the password of the printer?",
	}
}

// sameness is where between the likeness of unrelated questions and 1 that of equal
// ones begins. docs/measurements.md has what it is good for.
const sameness = 0.83

// measureThreshold places the threshold on the encoder's own scale. A large model takes
// seconds for that, so what was found is kept beside it. Where it fails there is no
// threshold, and what is embedded next tells why.
func (e *Embedder) measureThreshold(ctx context.Context, path string) error {
	file := path + ".percached-threshold"
	of := fingerprint(e.info.Fingerprint, probes(), sameness)
	if b, err := os.ReadFile(file); err == nil {
		kept, text, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
		if at, err := strconv.ParseFloat(text, 32); err == nil && kept == of && at > 0 && at <= 1 {
			e.threshold = float32(at)
			return nil
		}
	}
	vectors, err := llm.ForQuestions(e).Embed(ctx, percached.Foreground, probes())
	if err == nil {
		e.threshold = thresholdOf(vectors)
		keepBeside(path, file, fmt.Sprintf("%s %v\n", of, e.threshold))
	}
	return context.Cause(ctx)
}

// thresholdOf is rounded, as sums differ a little between machines.
func thresholdOf(unrelated [][]float32) float32 {
	sum, n := 0.0, 0
	for i, a := range unrelated {
		for _, b := range unrelated[:i] {
			for d := range a {
				sum += float64(a[d]) * float64(b[d])
			}
			n++
		}
	}
	mean := min(max(sum/float64(n), 0), 1)
	return float32(math.Round(1000*(mean+sameness*(1-mean))) / 1000)
}

// Threshold is the similarity from which on two questions may be taken for the same
// one, as measured when the model was opened; ok is false if that failed.
func (e *Embedder) Threshold() (value float32, ok bool) { return e.threshold, e.threshold > 0 }
